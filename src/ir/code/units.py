"""The units of a file for cutting, from what was read of it, and the definition that each span belongs to."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from ir.code.facts import Definition, Facts
from ir.strategy.code import Unit

__all__ = ["Units"]

_WORD = re.compile(r"\w")


class Units:
    """Definitions and the code between them, with the comments right above; places are in characters."""

    def __init__(self, facts: Facts, text: str) -> None:
        self._facts = facts
        self._text = text
        self._lines = None if text.isascii() else _Lines(text)
        self._inner: dict[int, list[int]] = {}
        for index, definition in enumerate(facts.definitions[1:], start=1):
            self._inner.setdefault(definition.owner, []).append(index)
        self._places: dict[int, tuple[int, int]] = {}
        self.units = self._inside(0)
        self._placed = {
            owner: sorted((self._places[one][0], one) for one in inner if one in self._places)
            for owner, inner in self._inner.items()
        }
        self._ordered = sorted((low, index) for index, (low, _) in self._places.items())

    def definition_of(self, start: int, end: int) -> int:
        """The innermost definition that a span is part of, by its index; 0 for the file itself."""
        found = 0
        while True:
            placed = self._placed.get(found, [])
            before = bisect_right(placed, (start, len(self._facts.definitions))) - 1
            if before < 0 or not self._holds(placed[before][1], start, end):
                return found
            found = placed[before][1]

    def starting_in(self, start: int, end: int) -> list[int]:
        """The definitions that begin in a span, by their indexes."""
        first, last = bisect_left(self._ordered, (start, 0)), bisect_left(self._ordered, (end, 0))
        return [index for _, index in self._ordered[first:last]]

    def _holds(self, index: int, start: int, end: int) -> bool:
        place = self._places.get(index)
        if place is None or not place[0] <= start < place[1]:
            return False
        # A brace that closes what is around it goes with the last definition in it.
        return end <= place[1] or not _WORD.search(self._text, place[1], end)

    def _inside(self, owner: int, start: int = 0, end: int | None = None) -> list[Unit]:
        """A unit for each definition right inside another, and one for what stands between two."""
        until = len(self._text) if end is None else end
        found: list[Unit] = []
        at = start
        for index in sorted(self._inner.get(owner, ()), key=lambda one: self._facts.definitions[one].start):
            definition = self._facts.definitions[index]
            low, high = self._place(definition.start), self._place(definition.end)
            low = max(at, self._with_comment(low))
            if high <= low or low < at or high > until:
                continue
            found += self._between(at, low, self._qualified(owner))
            self._places[index] = (low, high)
            found.append(self._unit(index, definition, low, high))
            at = high
        found += self._between(at, until, self._qualified(owner))
        return found

    def _unit(self, index: int, definition: Definition, low: int, high: int) -> Unit:
        parts: Sequence[Unit] = self._inside(index, low, high) if self._inner.get(index) else ()
        if len(parts) < 2:
            parts = self._statements(low, high, self._qualified(index))
        kind = {"type": "class"}.get(definition.kind, definition.kind)
        return Unit(low, high, kind, definition.name, self._qualified(definition.owner), tuple(parts))

    def _between(self, start: int, end: int, owner: str) -> list[Unit]:
        if not _WORD.search(self._text, start, end):
            return []  # no word: a closing brace goes with what it closes
        return [Unit(start, end, "code", "", owner, tuple(self._statements(start, end, owner)))]

    def _statements(self, start: int, end: int, owner: str) -> list[Unit]:
        """Where a long piece may be cut: before a line that is indented as little as the first of its body."""
        lines: list[tuple[int, int]] = []
        at = start
        while at < end:
            stop = self._text.find("\n", at, end)
            stop = end if stop < 0 else stop + 1
            line = self._text[at:stop]
            if line.strip():
                lines.append((at, len(line) - len(line.lstrip())))
            at = stop
        if len(lines) < 4:
            return []
        body = [depth for _, depth in lines[1:]]
        least = min(body[:-1]) if len(body) > 1 else 0
        cuts = [start] + [place for place, depth in lines[1:] if depth == least]
        if len(cuts) < 3:
            return []
        return [Unit(low, high, "code", "", owner) for low, high in zip(cuts, [*cuts[1:], end], strict=True)]

    def _qualified(self, index: int) -> str:
        names: list[str] = []
        while index > 0:
            names.append(self._facts.definitions[index].name)
            index = self._facts.definitions[index].owner
        return ".".join(reversed(names))

    def _place(self, byte: int) -> int:
        return min(byte, len(self._text)) if self._lines is None else self._lines.place(byte)

    def _with_comment(self, low: int) -> int:
        """Where the line begins, or the comment lines right above it."""
        at = self._text.rfind("\n", 0, low) + 1
        while at > 0:
            above = self._text.rfind("\n", 0, at - 1) + 1
            line = self._text[above : at - 1].strip()
            if not line.startswith(("//", "#", "/*", "*", "@", "///")) or line.startswith("#include"):
                break
            at = above
        return at


class _Lines:
    """Places in characters for places in bytes, of a text in which they differ."""

    def __init__(self, text: str) -> None:
        self._encoded = [line.encode("utf-8", "replace") for line in text.split("\n")]
        self._bytes = list(accumulate((len(line) + 1 for line in self._encoded), initial=0))
        self._characters = list(accumulate((len(line) + 1 for line in text.split("\n")), initial=0))

    def place(self, byte: int) -> int:
        line = min(bisect_right(self._bytes, byte) - 1, len(self._encoded) - 1)
        inside = self._encoded[line][: byte - self._bytes[line]]
        return self._characters[line] + len(inside.decode("utf-8", "replace"))
