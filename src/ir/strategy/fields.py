"""The fields of an artifact that a search can filter on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, time
from typing import Any

from ir.base import POINTER_KEYS
from ir.strategy.markdown import first_title
from ir.strategy.text import layout_of, text_key_of

__all__ = ["artifact_fields", "own_fields", "title_of"]

# A longer string is content, not something to filter on.
_LONGEST = 2000


def artifact_fields(
    artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None, *, text: str, text_key: str | None = None
) -> dict[str, Any]:
    """The filter fields of an artifact.

    Given ``metadata`` they are just that, and the pointer and title of a mapping. Without it a mapping's own
    scalar fields are used, so that filtering on them needs no setting up. ``title`` is the mapping's, else the one
    that a Markdown text gives itself.
    """
    mapping = raw if isinstance(raw, Mapping) else {}
    fields: dict[str, Any]
    if metadata is None:
        fields = own_fields(mapping, text_key)
    else:
        fields = {key: mapping[key] for key in POINTER_KEYS if mapping.get(key)}
        fields.update(metadata)
    if fields.get("title"):
        return fields
    title = mapping.get("title")
    if not (isinstance(title, str) and title.strip()) and layout_of(artifact_id, raw) == "markdown":
        known = "format" in mapping or artifact_id.lower().endswith((".md", ".markdown", ".mdx"))
        title = first_title(text, anywhere=known)
    if isinstance(title, str) and title.strip():
        fields["title"] = title.strip()
    return fields


def title_of(fields: Mapping[str, Any]) -> str:
    """The title among the fields: what an artifact without any text can still be found by; empty if there is none."""
    title = fields.get("title")
    return title.strip() if isinstance(title, str) else ""


def own_fields(raw: Mapping[str, Any], text_key: str | None = None) -> dict[str, Any]:
    """The scalars, and lists of scalars, of a mapping, without its text and without keys that start with ``_``.

    >>> own_fields({"text": "t", "owner": "me", "tags": ["a", "b"], "nested": {"x": 1}, "_id": 7})
    {'owner': 'me', 'tags': ['a', 'b']}
    """
    text = text_key_of(raw, text_key)
    fields = {}
    for key, value in raw.items():
        if not isinstance(key, str) or key == text or key.startswith("_"):
            continue
        plain = _scalar(value)
        if plain is None and isinstance(value, (list, tuple, set, frozenset)):
            members = [
                _scalar(member) for member in (sorted(value, key=str) if isinstance(value, (set, frozenset)) else value)
            ]
            plain = None if None in members else members
        if plain is not None:
            fields[key] = plain
    return fields


def _scalar(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else None
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (date, time)):
        return value.isoformat()
    # numpy's scalars: JSON, and therefore every store, knows only Python's.
    return value.item() if getattr(value, "ndim", None) == 0 and hasattr(value, "item") else None
