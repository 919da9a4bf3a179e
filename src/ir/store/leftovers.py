"""What a store still keeps although nothing refers to it any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

__all__ = ["Cleanable", "Leftover"]


@dataclass(frozen=True)
class Leftover:
    """One thing that takes up space. ``kept`` says why it cannot go now; ``""`` if it can.

    ``compacting`` marks what only goes when the store is written anew.
    """

    what: str
    name: str
    bytes: int
    kept: str = ""
    compacting: bool = False


@runtime_checkable
class Cleanable(Protocol):
    """A store that can tell what it does not need, and be rid of it."""

    def leftovers(self) -> list[Leftover]:
        """What is there now, whoever is writing."""
        ...

    def clean(self, *, compact: bool = False) -> list[Leftover]:
        """Remove what nothing refers to; what that was, and what had to stay.

        ``compact`` also writes anew what still holds remains of deleted records: none of their text is left then.
        """
        ...
