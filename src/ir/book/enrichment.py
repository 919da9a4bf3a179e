"""What is known of a passage by rules that are written in a file and not in code; what is not known stays so.

The file is TOML: a ``[[rule]]`` says what kind of thing a passage is and which tags and traits it has, a
``[[relation]]`` what it is related to, and ``[aliases]`` has short names with what they stand for.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from ir.errors import InvalidInput
from ir.options import choice

__all__ = ["CONTENT_KINDS", "Enrichment", "Related", "Relation", "Rule"]

CONTENT_KINDS = ("spell", "feat", "item", "rule", "narrative", "table")
_PARTS = ("section", "text", "title")
_FIELDS = ("kind", "tags", "traits", "is_rule_bearing", "when")
_RELATION_FIELDS = ("relation", "pattern", "entity")
_TABLES = ("rule", "relation", "aliases")
#: The rules that come with the package.
_OWN = "rules.toml"


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


class Related(NamedTuple):
    """What a passage says of something: ``entity`` is what kind of thing ``target`` is if no section is called so."""

    relation: str
    target: str
    entity: str


@dataclass(frozen=True)
class Relation:
    """A pattern whose group ``target`` is what a passage is related to, as a level that it requires."""

    relation: str
    pattern: re.Pattern[str]
    entity: str = "entity"


@dataclass(frozen=True)
class Enrichment:
    """Rules in their order: the first that gives a kind decides it, tags and traits add up.

    >>> rules = Enrichment.of([{"kind": "spell", "when": {"section": "^Spells"}, "tags": ["magic"]}])
    >>> rules.of_passage(section="Spells > Fireball", text="A bright streak")
    {'content_kind': 'spell', 'tags': ['magic']}
    """

    rules: Sequence[Rule] = field(default_factory=tuple)
    relations: Sequence[Relation] = field(default_factory=tuple)
    aliases: Mapping[str, str] = field(default_factory=dict)
    #: Tells rules apart: other rules make other passages.
    id: str | None = None

    @classmethod
    def of(
        cls,
        rules: Sequence[Mapping[str, Any]] = (),
        where: str = "the rules",
        *,
        relations: Sequence[Mapping[str, Any]] = (),
        aliases: Mapping[str, str] | None = None,
    ) -> Enrichment:
        """Rules from plain values; what is wrong with one is said with its number."""
        told = repr((rules, relations, aliases))
        return cls(
            tuple(_rule(rule, f"Rule {number} of {where}") for number, rule in enumerate(rules, 1)),
            tuple(_relation(one, f"Relation {number} of {where}") for number, one in enumerate(relations, 1)),
            _aliases(aliases or {}, where),
            blake2b(told.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest(),
        )

    @classmethod
    def read(cls, path: str | Path) -> Enrichment:
        """Rules from a TOML file with a ``[[rule]]`` for each."""
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, UnicodeError) as error:
            raise InvalidInput(f"The rules in {path} cannot be read: {error}") from error
        return cls._parsed(text, str(path))

    @classmethod
    def default(cls) -> Enrichment:
        """The rules that come with the package: what is said in many rule books, manuals and regulations."""
        return cls._parsed(files("ir.book").joinpath(_OWN).read_text("utf-8"), _OWN)

    @classmethod
    def _parsed(cls, text: str, where: str) -> Enrichment:
        try:
            told = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InvalidInput(f"The rules in {where} cannot be read: {error}") from error
        for name in told:
            choice(f"table of {where}", name, _TABLES)
        for name in ("rule", "relation"):
            if not isinstance(told.get(name, []), list):
                raise InvalidInput(f"{where}: write [[{name}]], once for each, not [{name}].")
        return cls.of(told.get("rule", []), where, relations=told.get("relation", []), aliases=told.get("aliases"))

    def related(self, text: str) -> Iterator[Related]:
        """What the relations find in a text, each once.

        >>> level = {"relation": "requires_level", "pattern": r"requires level (?P<target>\\d+)", "entity": "level"}
        >>> list(Enrichment.of(relations=[level]).related("It requires level 5."))
        [Related(relation='requires_level', target='5', entity='level')]
        """
        found = {
            Related(one.relation, " ".join(match["target"].split()), one.entity): None
            for one in self.relations
            for match in one.pattern.finditer(text)
            if match["target"] and match["target"].strip()
        }
        yield from found

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


def _relation(told: Any, where: str) -> Relation:
    if not isinstance(told, Mapping):
        raise InvalidInput(f"{where} is not a table of fields.")
    for name in told:
        choice(f"field of {where}", name, _RELATION_FIELDS)
    relation, pattern, entity = (told.get(name) for name in _RELATION_FIELDS)
    if not isinstance(relation, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", relation):
        raise InvalidInput(f"{where}: relation is a name such as requires_level, not {relation!r}.")
    try:
        made = re.compile(str(pattern), re.IGNORECASE | re.MULTILINE)
    except re.error as error:
        raise InvalidInput(f"{where}: {pattern!r} is not a regular expression ({error}).") from error
    if "target" not in made.groupindex:
        raise InvalidInput(f"{where}: the pattern needs a group (?P<target>…) for what is related.")
    if entity is not None and not (isinstance(entity, str) and entity.strip()):
        raise InvalidInput(f"{where}: entity is a word such as level, not {entity!r}.")
    return Relation(relation, made, entity or "entity")


def _aliases(told: Any, where: str) -> dict[str, str]:
    if not isinstance(told, Mapping) or not all(isinstance(one, str) and one.strip() for one in told.values()):
        raise InvalidInput(f'The aliases of {where} are lines like AC = "Armor Class".')
    return {str(short): full for short, full in told.items()}


def _texts(given: Any, where: str) -> tuple[str, ...]:
    if isinstance(given, str) or not all(isinstance(one, str) for one in given):
        raise InvalidInput(f"{where} must be a list of texts, not {given!r}.")
    return tuple(given)
