"""Definitions, and what is related to them, as answers have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ir.app.operation import Value
from ir.secrets.texts import for_show

if TYPE_CHECKING:
    from ir.code.definitions import Definition
    from ir.code.relations import Related

__all__ = ["LONGEST_LINE", "Candidate", "RelatedPlace", "candidate", "place"]

#: A line, or a signature, is shown up to so many characters.
LONGEST_LINE = 200


@dataclass(frozen=True)
class Candidate(Value):
    """A definition: ``name`` is what it is called inside its file. ``change`` says what a diff did to it."""

    key: str
    kind: str
    name: str
    path: str
    line: int
    end_line: int
    signature: str = ""
    doc: str = ""
    change: str | None = None


@dataclass(frozen=True)
class RelatedPlace(Value):
    """The definition ``name``, and ``line`` of its file, where it shows: the call, or the definition itself.

    ``link`` is how it is related to ``of`` (calls, inherits, overrides, references, imports), ``resolution`` how that
    is known, ``depth`` how many steps away it is from what was asked for.
    """

    key: str
    kind: str
    name: str
    path: str
    line: int
    link: str
    resolution: str
    depth: int
    of: str
    test: bool = False


def candidate(one: Definition, change: str | None = None) -> Candidate:
    """A definition as answers have it, with stars for the keys in what it says."""
    shown = one.signature if len(one.signature) <= LONGEST_LINE else f"{one.signature[:LONGEST_LINE]}…"
    signature, doc = str(for_show(shown)), str(for_show(one.doc))
    return Candidate(one.key, one.kind, one.name, one.path, one.line, one.end_line, signature, doc, change)


def place(related: Related) -> RelatedPlace:
    """What is related, as answers have it."""
    one = related.definition
    return RelatedPlace(
        one.key,
        one.kind,
        one.name,
        one.path,
        related.line,
        related.type,
        related.resolution,
        related.depth,
        related.of,
        related.is_test,
    )
