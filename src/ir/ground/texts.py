"""Many texts side by side in one mapped file: they are there at once, and decoded when one is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Texts"]


class Texts(Sequence[str]):
    """A sequence of texts over bytes and where each begins.

    >>> texts = Texts.of(["tea", "café", ""])
    >>> texts[1], len(texts), list(texts[:2])
    ('café', 3, ['tea', 'café'])
    """

    def __init__(self, blob: NDArray[np.uint8], starts: NDArray[np.int64]) -> None:
        self.blob = blob
        self.starts = starts

    @classmethod
    def of(cls, texts: Sequence[str]) -> Texts:
        parts = [text.encode("utf-8", "replace") for text in texts]
        starts = np.zeros(len(parts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)), out=starts[1:])
        return cls(np.frombuffer(b"".join(parts), np.uint8), starts)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[number] for number in range(*at.indices(len(self)))]
        if not -len(self) <= at < len(self):
            raise IndexError(at)
        at = at % len(self)
        return self.blob[self.starts[at] : self.starts[at + 1]].tobytes().decode("utf-8")

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __iter__(self) -> Iterator[str]:
        whole, starts = self.blob.tobytes(), self.starts.tolist()
        for begin, end in pairwise(starts):
            yield whole[begin:end].decode("utf-8")

    def save(self, folder: Path, name: str) -> None:
        np.save(folder / f"{name}.npy", self.blob)
        np.save(folder / f"{name}-starts.npy", self.starts)

    @classmethod
    def load(cls, folder: Path, name: str) -> Texts:
        return cls(*(np.load(folder / file, mmap_mode="r") for file in (f"{name}.npy", f"{name}-starts.npy")))
