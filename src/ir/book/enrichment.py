"""What kind of thing a passage is, by rules that are written in a file and not in code; what is not known stays so."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ir.errors import InvalidInput
from ir.options import choice

__all__ = ["CONTENT_KINDS", "Enrichment", "Rule"]

CONTENT_KINDS = ("spell", "feat", "item", "rule", "narrative", "table")
_PARTS = ("section", "text", "title")
_FIELDS = ("kind", "tags", "traits", "is_rule_bearing", "when")


@dataclass(frozen=True)
class Rule:
    """What is said of a passage if all its patterns are found: in its ``section``, its ``text`` or its ``title``."""

    when: Mapping[str, re.Pattern[str]]
    kind: str | None = None
    tags: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()
    is_rule_bearing: bool | None = None

    def holds(self, parts: Mapping[str, str]) -> bool:
        return all(pattern.search(parts.get(name, "")) for name, pattern in self.when.items())


@dataclass(frozen=True)
class Enrichment:
    """Rules in their order: the first that gives a kind decides it, tags and traits add up.

    >>> rules = Enrichment.of([{"kind": "spell", "when": {"section": "^Spells"}, "tags": ["magic"]}])
    >>> rules.of_passage(section="Spells > Fireball", text="A bright streak")
    {'content_kind': 'spell', 'tags': ['magic']}
    """

    rules: Sequence[Rule] = field(default_factory=tuple)

    @classmethod
    def of(cls, rules: Sequence[Mapping[str, Any]], where: str = "the rules") -> Enrichment:
        """Rules from plain values; what is wrong with one is said with its number."""
        return cls(tuple(_rule(rule, f"Rule {number} of {where}") for number, rule in enumerate(rules, 1)))

    @classmethod
    def read(cls, path: str | Path) -> Enrichment:
        """Rules from a TOML file with a ``[[rule]]`` for each."""
        try:
            told = tomllib.loads(Path(path).read_text("utf-8"))
        except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
            raise InvalidInput(f"The rules in {path} cannot be read: {error}") from error
        return cls.of(told.get("rule", []), str(path))

    def of_passage(self, *, section: str = "", text: str = "", title: str = "") -> dict[str, Any]:
        """What the rules say of a passage; nothing of what none of them knows."""
        parts = {"section": section, "text": text, "title": title}
        said: dict[str, Any] = {}
        for rule in self.rules:
            if not rule.holds(parts):
                continue
            if rule.kind is not None:
                said.setdefault("content_kind", rule.kind)
            if rule.is_rule_bearing is not None:
                said.setdefault("is_rule_bearing", rule.is_rule_bearing)
            for name, values in (("tags", rule.tags), ("traits", rule.traits)):
                if values:
                    said[name] = list(dict.fromkeys([*said.get(name, []), *values]))
        return said


def _rule(told: Any, where: str) -> Rule:
    if not isinstance(told, Mapping):
        raise InvalidInput(f"{where} is not a table of fields.")
    for name in told:
        choice(f"field of {where}", name, _FIELDS)
    when = told.get("when")
    if not isinstance(when, Mapping) or not when:
        raise InvalidInput(f"{where} needs `when`, with a pattern for one of {', '.join(_PARTS)}.")
    patterns: dict[str, re.Pattern[str]] = {}
    for name, pattern in when.items():
        choice(f"part of a passage in {where}", name, _PARTS)
        try:
            patterns[name] = re.compile(str(pattern), re.IGNORECASE | re.MULTILINE)
        except re.error as error:
            raise InvalidInput(f"{where}: {pattern!r} is not a regular expression ({error}).") from error
    kind = told.get("kind")
    bearing = told.get("is_rule_bearing")
    if bearing is not None and not isinstance(bearing, bool):
        raise InvalidInput(f"{where}: is_rule_bearing is true or false, not {bearing!r}.")
    return Rule(
        patterns,
        None if kind is None else choice(f"kind in {where}", kind, CONTENT_KINDS),
        _texts(told.get("tags", ()), f"{where}: tags"),
        _texts(told.get("traits", ()), f"{where}: traits"),
        bearing,
    )


def _texts(given: Any, where: str) -> tuple[str, ...]:
    if isinstance(given, str) or not all(isinstance(one, str) for one in given):
        raise InvalidInput(f"{where} must be a list of texts, not {given!r}.")
    return tuple(given)
