"""Cutting source code so that functions and classes stay whole: the seam for parsers, and packing what they find.

A cutter knows one language. It gives the units of a text, and nothing here depends on which language it was:
units are kept whole while they fit, small neighbours go together, and one that is too long is cut between its parts.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import NamedTuple

__all__ = [
    "CUTTERS",
    "CUTTING_VERSION",
    "CodeCutter",
    "CodeOutline",
    "Packer",
    "Unit",
    "Unparsable",
    "code_outline",
    "cutter_for",
]

#: To be raised whenever a text would be cut otherwise than before; every corpus is then cut anew by its next build.
CUTTING_VERSION = 2

#: The cutter for each suffix, as ``module:function``; it is imported when a file needs it.
CUTTERS: dict[str, str] = {"py": "ir.strategy.python:cut", "pyi": "ir.strategy.python:cut"}

_NOT_BLANK = re.compile(r"\S")


class Unparsable(Exception):
    """The text is not what its suffix says; the message is why, in a few words."""


class Unit(NamedTuple):
    """A piece of code that belongs together, with the comments and decorators above it: ``text[start:end]``.

    ``kind`` says what it is (``function``, ``class``, ``method``, ``code``); ``name`` is empty where nothing is
    defined, ``owner`` is the qualified name of what it is defined in. ``parts`` are where it may be cut if it is
    too long. Units and parts are in order and do not overlap; what lies between two of them goes with the first.
    """

    start: int
    end: int
    kind: str = "code"
    name: str = ""
    owner: str = ""
    parts: tuple[Unit, ...] = ()

    @property
    def qualified(self) -> str:
        """``Class.method``; empty where nothing is defined."""
        return f"{self.owner}.{self.name}" if self.owner and self.name else self.name


CodeCutter = Callable[[str], Sequence[Unit]]


def cutter_for(suffix: str) -> CodeCutter | None:
    """The cutter for files with that suffix; ``None`` if there is none."""
    place = CUTTERS.get(suffix)
    if place is None:
        return None
    module, _, name = place.partition(":")
    cutter: CodeCutter = getattr(import_module(module), name)
    return cutter


@dataclass
class CodeOutline:
    """Which definition each place of a text belongs to, as an outline of headings tells it for prose."""

    starts: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    def name_at(self, position: int) -> str:
        index = bisect_right(self.starts, position) - 1
        return self.names[index] if index >= 0 else ""

    def within(self, start: int, end: int) -> list[tuple[int, str]]:
        """The definitions that begin in ``(start, end)``, and where code goes on that is in none of them."""
        first, last = bisect_right(self.starts, start), bisect_right(self.starts, end - 1)
        return list(zip(self.starts[first:last], self.names[first:last], strict=True))

    def defined_in(self, start: int, end: int) -> list[str]:
        """The names of all definitions that have a place in ``[start, end)``."""
        names = [self.name_at(start), *(name for _, name in self.within(start, end))]
        return list(dict.fromkeys(filter(None, names)))


def code_outline(units: Sequence[Unit]) -> CodeOutline:
    """The outline of units and their parts."""
    outline = CodeOutline()
    _mark(outline, units, "")
    return outline


def _mark(outline: CodeOutline, units: Sequence[Unit], owner: str) -> None:
    for unit in units:
        name = unit.qualified or owner
        if (outline.names[-1] if outline.names else "") != name:
            _put(outline, unit.start, name)
        _mark(outline, unit.parts, name)


def _put(outline: CodeOutline, start: int, name: str) -> None:
    if outline.starts and outline.starts[-1] == start:
        outline.names[-1] = name
    else:
        outline.starts.append(start)
        outline.names.append(name)


@dataclass(frozen=True)
class Packer:
    """Puts units together to spans.

    A definition is whole up to twice ``size`` if it ``fits`` the embedder. Neighbours share a span while it is no
    longer than ``together``; statements of one definition, which were cut from each other only for its length, up
    to all of it. What has no parts and is too long is cut by ``otherwise``, as any text.
    """

    text: str
    size: int
    fits: Callable[[int, int], bool] | None
    otherwise: Callable[[int, int], Iterator[tuple[int, int]]]
    together: int

    def spans(self, units: Sequence[Unit]) -> Iterator[tuple[int, int]]:
        """The spans in order, without blank edges; together they hold every non-blank character."""
        yield from self._packed(units, 0, len(self.text), loose=False)

    def _packed(self, units: Sequence[Unit], start: int, end: int, *, loose: bool) -> Iterator[tuple[int, int]]:
        borders = [start, *(unit.start for unit in units[1:]), end]
        held: tuple[int, int] | None = None
        plain = True
        for unit, low, high in zip(units, borders, borders[1:], strict=False):
            together = self.size if loose or (plain and not unit.name) else self.together
            if held is not None and self._holds(held[0], high, together):
                held, plain = (held[0], high), plain and not unit.name
                continue
            if held is not None:
                yield from self._trimmed(*held)
            held, plain = None, True
            if self._holds(low, high, 2 * self.size if unit.name else self.size):
                held, plain = (low, high), not unit.name
            elif len(unit.parts) > 1:
                yield from self._packed(unit.parts, low, high, loose=unit.kind != "class")
            else:
                yield from self.otherwise(low, high)
        if held is not None:
            yield from self._trimmed(*held)

    def _holds(self, start: int, end: int, most: int) -> bool:
        low, high = self._edges(start, end)
        return high - low <= most and (self.fits is None or self.fits(low, high))

    def _trimmed(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        low, high = self._edges(start, end)
        if low < high:
            yield low, high

    def _edges(self, start: int, end: int) -> tuple[int, int]:
        """Without blank lines before and after; the indentation of the first line stays."""
        first = _NOT_BLANK.search(self.text, start, end)
        if first is None:
            return start, start
        low = max(start, self.text.rfind("\n", start, first.start()) + 1)
        return low, start + len(self.text[start:end].rstrip())
