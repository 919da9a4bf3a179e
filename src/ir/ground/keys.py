"""From a word to the rows that have it, in two sorted arrays that can be mapped: a dictionary that needs no loading."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Keys", "key_of"]


def key_of(word: str) -> int:
    """A number of 64 bits; two words that share one have not been seen."""
    return int.from_bytes(blake2b(word.encode("utf-8", "replace"), digest_size=8).digest(), "little")


class Keys:
    """Which rows have a key; a key may have many.

    >>> keys = Keys.of([("tea", 0), ("bread", 1), ("tea", 2)])
    >>> keys["tea"].tolist(), keys["milk"].tolist()
    ([0, 2], [])
    """

    def __init__(self, hashes: NDArray[np.uint64], rows: NDArray[np.uint32]) -> None:
        self.hashes = hashes
        self.rows = rows

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, int]]) -> Keys:
        hashes, rows = array("Q"), array("I")
        for word, row in pairs:
            hashes.append(key_of(word))
            rows.append(row)
        return cls.sorted(np.frombuffer(hashes, np.uint64), np.frombuffer(rows, np.uint32))

    @classmethod
    def of_words(cls, words: Sequence[str]) -> Keys:
        """Each word at its own place."""
        hashes = np.fromiter(map(key_of, words), np.uint64, len(words))
        return cls.sorted(hashes, np.arange(len(words), dtype=np.uint32))

    @classmethod
    def sorted(cls, hashes: NDArray[np.uint64], rows: NDArray[np.uint32]) -> Keys:
        order = np.lexsort((rows, hashes))
        return cls(hashes[order], rows[order])

    def __getitem__(self, word: str) -> NDArray[np.uint32]:
        key = np.uint64(key_of(word))
        first, end = np.searchsorted(self.hashes, key, "left"), np.searchsorted(self.hashes, key, "right")
        return self.rows[first:end]

    def __len__(self) -> int:
        return len(self.rows)

    def save(self, folder: Path, name: str) -> None:
        np.save(folder / f"{name}-hashes.npy", self.hashes)
        np.save(folder / f"{name}-rows.npy", self.rows)

    @classmethod
    def load(cls, folder: Path, name: str) -> Keys:
        return cls(*(np.load(folder / file, mmap_mode="r") for file in (f"{name}-hashes.npy", f"{name}-rows.npy")))
