"""The traversal configuration of a corpus: read from a file, kept with the corpus, older versions beside it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ir.book.traversal import TraversalConfig
from ir.errors import InvalidInput
from ir.options import choice

__all__ = ["KEPT", "OLDER", "kept_traversal", "read_traversal", "traversal_to_dict", "with_traversal"]

#: The settings of a corpus that hold the configuration, and those that it had before, the newest first.
KEPT, OLDER = "traversal", "traversal_versions"
#: What a document of the reference has beside the configuration itself.
_BESIDE = ("_id", "created_at", "updated_at")
_LISTS = ("_names", "_keywords")


def read_traversal(path: str | Path) -> TraversalConfig:
    """A configuration from a TOML or JSON file with the reference's fields; what it leaves out is as by default."""
    try:
        text = Path(path).expanduser().read_text("utf-8")
        told = json.loads(text) if str(path).lower().endswith(".json") else tomllib.loads(text)
    except (OSError, UnicodeError, ValueError) as error:
        raise InvalidInput(
            f"The traversal configuration in {path} cannot be read: {getattr(error, 'strerror', None) or error}.",
            remedy="Give a file in TOML or JSON; docs/books.md names its fields.",
        ) from error
    if not isinstance(told, Mapping):
        raise InvalidInput(f"The traversal configuration in {path} is not a table of fields.")
    known = [item.name for item in fields(TraversalConfig)]
    for name, value in told.items():
        if name in _BESIDE:
            continue
        choice(f"field of {path}", name, known)
        if name.endswith(_LISTS) and (not isinstance(value, list) or not all(isinstance(one, str) for one in value)):
            raise InvalidInput(f"{name} in {path} must be a list of texts, not {value!r}.")
        if name in ("intent_patterns", "policies") and not isinstance(value, Mapping):
            raise InvalidInput(f"{name} in {path} must be a table by intent, not {value!r}.")
    return TraversalConfig.of(told)


def traversal_to_dict(config: TraversalConfig) -> dict[str, Any]:
    """A configuration in JSON's types; ``TraversalConfig.of`` reads it back.

    >>> TraversalConfig.of(traversal_to_dict(TraversalConfig(spell_names=("Fireball",)))).spell_names
    ('Fireball',)
    """
    told: dict[str, Any] = json.loads(json.dumps(asdict(config)))
    for intent, patterns in told["intent_patterns"].items():
        told["intent_patterns"][intent] = [patterns] if isinstance(patterns, str) else patterns
    return told


def kept_traversal(settings: Mapping[str, Any]) -> TraversalConfig | None:
    """The configuration among the settings of a corpus; ``None`` if it has none."""
    told = settings.get(KEPT)
    return TraversalConfig.of(told) if told else None


def with_traversal(settings: Mapping[str, Any], config: TraversalConfig, ruleset: str | None = None) -> dict[str, Any]:
    """The settings that keep a configuration. One that changed is a new version, and the one before stays beside it."""
    if ruleset and not config.ruleset_id:
        config = replace(config, ruleset_id=ruleset)
    held, older = settings.get(KEPT), list(settings.get(OLDER, ()))
    fresh = traversal_to_dict(config)
    if held is not None and _said(held) in (_said(fresh), {**_said(fresh), "version": held.get("version")}):
        return {KEPT: held, OLDER: older} if older else {KEPT: held}
    if held is not None:
        taken = {str(one.get("version")) for one in (held, *older)}
        if fresh["version"] in taken:
            fresh["version"] = _next(str(held.get("version")), taken)
        older.insert(0, held)
    fresh["updated_at"] = datetime.now(UTC).isoformat(timespec="seconds")
    return {KEPT: fresh, OLDER: older} if older else {KEPT: fresh}


def _said(told: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in told.items() if key not in _BESIDE}


def _next(version: str, taken: Sequence[str] | set[str]) -> str:
    match = re.fullmatch(r"(.*?)(\d+)", version)
    stem, number = (match[1], int(match[2])) if match else (f"{version}.", 1)
    while f"{stem}{number}" in taken:
        number += 1
    return f"{stem}{number}"
