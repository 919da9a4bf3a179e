"""Sparse matrices as far as they are needed here: products with dense ones, and a truncated SVD. numpy alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Integers = NDArray[np.int64]

__all__ = ["Sparse", "truncated_svd"]

#: So many numbers are multiplied at once.
_AT_ONCE = 16_000_000


@dataclass(frozen=True)
class Sparse:
    """Rows one after the other: the columns and values of row ``i`` stand from ``starts[i]`` to ``starts[i + 1]``."""

    starts: Integers
    columns: Integers
    values: Floats
    width: int

    @classmethod
    def of(cls, rows: Integers, columns: Integers, values: Floats, shape: tuple[int, int]) -> Sparse:
        order = np.lexsort((columns, rows))
        starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))]).astype(np.int64)
        return cls(starts, columns[order], values[order], shape[1])

    def __len__(self) -> int:
        return len(self.starts) - 1

    def transposed(self) -> Sparse:
        rows = np.repeat(np.arange(len(self)), np.diff(self.starts))
        return Sparse.of(self.columns, rows, self.values, (self.width, len(self)))

    def rows(self, chosen: Integers) -> Sparse:
        """Some of the rows."""
        lengths = self.starts[chosen + 1] - self.starts[chosen]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        places = np.repeat(self.starts[chosen] - starts[:-1], lengths) + np.arange(int(starts[-1]))
        return Sparse(starts, self.columns[places], self.values[places], self.width)

    def dense(self) -> Floats:
        out = np.zeros((len(self), self.width), np.float32)
        out[np.repeat(np.arange(len(self)), np.diff(self.starts)), self.columns] = self.values
        return out

    def squared(self) -> Floats:
        """The product of every row with every row."""
        turned = self.transposed()
        sizes = np.diff(turned.starts)
        out = np.zeros((len(self), len(self)), np.float32)
        for size in np.unique(sizes[sizes > 0]).tolist():
            # Columns that are equally full are done together.
            places = turned.starts[:-1][sizes == size][:, None] + np.arange(size)
            rows, values = turned.columns[places], turned.values[places]
            np.add.at(out, (rows[:, :, None], rows[:, None, :]), values[:, :, None] * values[:, None, :])
        return out

    def __matmul__(self, dense: Floats) -> Floats:
        """The product with a matrix of ``width`` rows."""
        out = np.zeros((len(self), dense.shape[1]), np.float32)
        wide = max(1, dense.shape[1])
        first = 0
        while first < len(self):
            end = int(np.searchsorted(self.starts, self.starts[first] + _AT_ONCE // wide, "right")) - 1
            end = min(max(end, first + 1), len(self))
            begin, stop = int(self.starts[first]), int(self.starts[end])
            if stop > begin:
                part = dense[self.columns[begin:stop]] * self.values[begin:stop, None]
                full = np.flatnonzero(np.diff(self.starts[first : end + 1]))
                out[first + full] = np.add.reduceat(part, self.starts[first + full] - begin, axis=0)
            first = end
        return out


def truncated_svd(matrix: Sparse, rank: int, *, rounds: int = 3, seed: int = 0) -> Floats:
    """The ``rank`` main directions of the rows, as columns of a matrix of ``width`` rows; the same on every run."""
    rank = max(1, min(rank, len(matrix), matrix.width))
    turned = matrix.transposed()
    wide = min(rank + 10, min(len(matrix), matrix.width))
    sketch = np.random.default_rng(seed).standard_normal((matrix.width, wide)).astype(np.float32)
    for _ in range(rounds):
        left = np.linalg.qr(matrix @ sketch)[0].astype(np.float32)
        sketch = np.linalg.qr(turned @ left)[0].astype(np.float32)
    small = matrix @ sketch
    values, vectors = np.linalg.eigh((small.T @ small).astype(np.float64))
    best = np.argsort(-values)[:rank]
    directions: Floats = (sketch @ vectors[:, best].astype(np.float32)).astype(np.float32)
    # A direction and its opposite are the same; the largest number decides the sign, so that runs agree.
    largest = directions[np.abs(directions).argmax(axis=0), np.arange(directions.shape[1])]
    return directions * np.where(largest < 0, np.float32(-1), np.float32(1))
