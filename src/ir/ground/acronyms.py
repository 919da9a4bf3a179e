"""ML for machine learning, and machine learning for ML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ir.ground.channels import Answer, Lookup, given_scores
from ir.ground.keys import Keys
from ir.ground.surfaces import Surfaces
from ir.ground.terms import Terms

__all__ = ["Acronyms", "initials", "shortened"]

SHORTEST, LONGEST = 2, 6
_SMALL_WORDS = frozenset(
    ["a", "an", "and", "as", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"]
)
_CAPITALS = re.compile(r"[A-Z0-9]")
_IN_BRACKETS = re.compile(r"\(([A-Za-z][A-Za-z0-9]{1,5})s?\)")
_NUMERONYM = re.compile(r"[a-z]\d{1,2}[a-z]")
#: Words of fewer letters are not written with the number of those left out.
_LONG_WORD = 8


def initials(folded: str) -> list[str]:
    """The first letters of several words, with and without the small ones.

    >>> initials("internet of things"), initials("tea")
    (['iot', 'it'], [])
    """
    words = folded.split()
    if len(words) < SHORTEST:
        return []
    whole = "".join(word[0] for word in words)
    main = "".join(word[0] for word in words if word not in _SMALL_WORDS)
    return [key for key in dict.fromkeys((whole, main)) if SHORTEST <= len(key) <= LONGEST]


def shortened(folded: str) -> str | None:
    """A long word as its first and last letter with the number of those between.

    >>> shortened("kubernetes"), shortened("tea")
    ('k8s', None)
    """
    word = folded.replace(" ", "")
    return f"{word[0]}{len(word) - 2}{word[-1]}" if len(word) >= _LONG_WORD and word.isalpha() else None


class Acronyms:
    """A term is found by its initials, and by what its initials stand for. What many terms share counts less."""

    name = "acronyms"

    def __init__(self, surfaces: Surfaces, keys: Keys) -> None:
        self._surfaces = surfaces
        self._keys = keys

    @staticmethod
    def keys(terms: Terms, surfaces: Surfaces, texts: Sequence[str]) -> Keys:
        return Keys.of(_pairs(terms, surfaces, texts))

    def prepared(self, lookups: Sequence[Lookup]) -> Sequence[Any]:
        return [None] * len(lookups)

    def ask(self, lookup: Lookup, prepared: Any) -> Answer:
        surfaces = self._surfaces
        found: dict[int, tuple[float, str]] = {}
        tight = lookup.folded.replace(" ", "")
        if SHORTEST <= len(tight) <= LONGEST:
            self._add(found, [int(row) for row in self._keys[tight]], lookup)
        short = shortened(lookup.folded)
        for key in (*initials(lookup.folded), *((short,) if short else ())):
            self._add(found, surfaces.rows_of(key), lookup)
        return given_scores(found)

    def _add(self, found: dict[int, tuple[float, str]], rows: list[int], lookup: Lookup) -> None:
        rows = [row for row in rows if row != lookup.hidden]
        owners = self._surfaces.owners
        score = 1 / max(1.0, len({int(owners[row]) for row in rows})) ** 0.5
        for row in rows:
            term = int(owners[row])
            if score > found.get(term, (0.0, ""))[0]:
                found[term] = (score, self._surfaces.texts[row])


def _pairs(terms: Terms, surfaces: Surfaces, texts: Sequence[str]) -> Iterable[tuple[str, int]]:
    for row, text in enumerate(texts):
        if " " in text:
            for key in initials(text):
                yield key, row
        short = shortened(text)
        if short is not None:
            yield short, row
    starts = surfaces.starts.tolist()
    for at, (display, definition) in enumerate(zip(terms.displays, terms.definitions, strict=True)):
        own = set()
        if display:
            capitals = "".join(_CAPITALS.findall(display)).lower()
            if SHORTEST <= len(capitals) <= LONGEST and capitals != display.lower():
                own.add(capitals)
        if "(" in definition:
            own.update(found.lower() for found in _IN_BRACKETS.findall(definition))
        for key in own:
            yield key, starts[at]
