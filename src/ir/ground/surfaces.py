"""Everything that a term is called: its name, its display name and its aliases, folded, one row for each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ir.ground.folding import Folding
from ir.ground.keys import Keys
from ir.ground.terms import Terms
from ir.ground.texts import Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Surfaces"]


class Surfaces:
    """Rows in the order of their terms; ``owners[row]`` is the term and ``starts`` is where the rows of each begin.

    The first ``own`` of a term's rows are its name and its display name, the rest are aliases.
    """

    def __init__(
        self, texts: Texts, owners: NDArray[np.uint32], starts: NDArray[np.int64], own: NDArray[np.uint8], keys: Keys
    ) -> None:
        self.texts = texts
        self.owners = owners
        self.starts = starts
        self.own = own
        self._keys = keys

    @classmethod
    def of(cls, terms: Terms, fold: Folding) -> tuple[Surfaces, list[str]]:
        """The surfaces, and their texts as they are in hand anyway."""
        texts: list[str] = []
        starts = np.zeros(len(terms) + 1, np.int64)
        named = np.ones(len(terms), np.uint8)
        aliases, first = iter(terms.aliases), terms.alias_starts.tolist()
        for at, (name, display) in enumerate(zip(terms.names, terms.displays, strict=True)):
            own = {fold(name): None}
            if display:
                own[fold(display)] = None
                named[at] = len(own)
            for _ in range(first[at + 1] - first[at]):
                own[fold(next(aliases))] = None
            texts += own
            starts[at + 1] = len(texts)
        owners = np.repeat(np.arange(len(terms), dtype=np.uint32), np.diff(starts))
        return cls(Texts.of(texts), owners, starts, named, Keys.of_words(texts)), texts

    def __len__(self) -> int:
        return len(self.owners)

    def rows_of(self, folded: str) -> list[int]:
        """The rows that are spelt exactly so."""
        return [int(row) for row in self._keys[folded] if self.texts[int(row)] == folded]

    def rows_of_terms(self, terms: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows of these terms one after the other, and where those of each begin."""
        first = self.starts[terms]
        lengths = self.starts[terms + 1] - first
        offsets = np.cumsum(lengths) - lengths
        return np.repeat(first - offsets, lengths) + np.arange(int(lengths.sum())), offsets

    def aliases(self) -> NDArray[np.int64]:
        """The rows that are neither names nor display names."""
        place = np.arange(len(self)) - self.starts[:-1][self.owners]
        return np.flatnonzero(place >= self.own[self.owners])

    def save(self, folder: Path) -> None:
        self.texts.save(folder, "surfaces")
        np.save(folder / "surface_owners.npy", self.owners)
        np.save(folder / "surface_starts.npy", self.starts)
        np.save(folder / "surface_own.npy", self.own)
        self._keys.save(folder, "surfaces")

    @classmethod
    def load(cls, folder: Path) -> Surfaces:
        parts = ("owners", "starts", "own")
        owners, starts, own = (np.load(folder / f"surface_{part}.npy", mmap_mode="r") for part in parts)
        return cls(Texts.load(folder, "surfaces"), owners, starts, own, Keys.load(folder, "surfaces"))
