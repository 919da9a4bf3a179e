"""What a source left out, and why."""

from __future__ import annotations

from typing import NamedTuple, Protocol

__all__ = ["Skip", "Skipped"]


class Skipped(NamedTuple):
    """Something that was not read: its id within the source, and the reason in words.

    ``below`` is given for what may be there but could not be looked at: an index keeps what it holds of that id and of
    all ids that begin so. What a rule leaves out has none. ``refused`` is what a rule turned away only once it was
    read: an index drops what it holds of it.
    """

    id: str
    reason: str
    below: str | None = None
    refused: bool = False


class Skip(Protocol):
    """A function that is told what is left out."""

    def __call__(self, id: str, reason: str, below: str | None = None) -> None: ...
