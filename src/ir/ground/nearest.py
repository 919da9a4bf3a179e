"""The rows of a matrix that are nearest to a vector: all are compared, or in a large one those that codes pick."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.ground.postings import best_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Numbers = NDArray[np.int64]

__all__ = ["CODED_ROWS", "Nearest", "unit_rows"]

#: Below so many rows a product with all of them is quick enough.
CODED_ROWS = 20_000
_TRAINING_ROWS = 16_384
#: How many of the codes' best are scored exactly: the first of these that holds the true best of trial queries. Where
#: none does, all rows are compared.
_DEPTHS = (200, 300, 400, 600, 800, 1200, 1600)
#: Numbers to a code, and how deep its order may be searched before finer codes are better.
_CODES = ((2, 800), (1, 1600))
_AT_ONCE = 32
_TRIALS, _BEST, _TARGET = 48, 50, 0.995


def unit_rows(matrix: NDArray[Any]) -> Floats:
    """Each row at length one; a row of zeros stays."""
    rows = np.asarray(matrix, np.float32)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    unit: Floats = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    return unit


class Nearest:
    """Rows of length one, by cosine."""

    def __init__(self, rows: NDArray[Any], codes: Any = None, depth: int = 0) -> None:
        self.rows = rows
        self._codes = codes
        self._depth = depth

    @classmethod
    def of(cls, rows: NDArray[Any]) -> Nearest:
        """Codes are made where they are worth it: half a byte for two numbers, or for one if that is too coarse."""
        if len(rows) < CODED_ROWS or rows.shape[1] % 2:
            return cls(rows)
        trial = _Trial(rows)
        for size, deepest in _CODES:
            codes = _coded(rows, rows.shape[1] // size)
            depth = trial.depth_needed(codes, deepest)
            if depth is not None:
                return cls(rows, codes, depth)
        return cls(rows)

    def best(self, queries: Floats, k: int) -> list[tuple[Numbers, Floats]]:
        """For each query the numbers of the ``k`` nearest rows, best first, and their cosines."""
        if self._codes is not None:
            depth = min(int(self._depth * max(1.0, k / 64)), len(self.rows))
            near = self._codes.search(np.ascontiguousarray(queries, np.float32), depth)[1]
            return [
                _ordered(found, self.scores(query, found), k)
                for query, found in zip(queries, (row[row >= 0] for row in near), strict=True)
            ]
        answers = []
        rows = np.asarray(self.rows, np.float32)
        for first in range(0, len(queries), _AT_ONCE):
            # One product for several queries: each row is read once for all of them.
            for scores in np.asarray(queries[first : first + _AT_ONCE], np.float32) @ rows.T:
                found = best_places(scores, k)
                answers.append(_ordered(found, scores[found], k))
        return answers

    def scores(self, query: Floats, numbers: Numbers) -> Floats:
        found: Floats = np.asarray(self.rows[numbers], np.float32) @ query
        return found

    def save(self, folder: Path, name: str) -> None:
        np.save(folder / f"{name}.npy", self.rows)
        if self._codes is not None:
            import faiss

            faiss.write_index(self._codes, str(folder / f"{name}.codes"))
            np.save(folder / f"{name}-depth.npy", np.array(self._depth))

    @classmethod
    def load(cls, folder: Path, name: str) -> Nearest:
        rows = np.load(folder / f"{name}.npy", mmap_mode="r")
        path = folder / f"{name}.codes"
        if not path.exists():
            return cls(rows)
        import faiss

        return cls(rows, faiss.read_index(str(path)), int(np.load(folder / f"{name}-depth.npy")))


def _coded(rows: NDArray[Any], parts: int) -> Any:
    import faiss

    codes = faiss.IndexPQFastScan(rows.shape[1], parts, 4, faiss.METRIC_INNER_PRODUCT)
    codes.pq.cp.niter = 8
    step = max(1, len(rows) // _TRAINING_ROWS)
    codes.train(np.ascontiguousarray(rows[::step][:_TRAINING_ROWS], np.float32))
    for first in range(0, len(rows), 65_536):
        codes.add(np.ascontiguousarray(rows[first : first + 65_536], np.float32))
    return codes


class _Trial:
    """Mixtures of rows that are far apart, with their true nearest."""

    def __init__(self, rows: NDArray[Any]) -> None:
        some = np.asarray(rows[:: max(1, len(rows) // (2 * _TRIALS))][: 2 * _TRIALS], np.float32)
        self._queries = unit_rows(some[:_TRIALS] + np.float32(0.3) * some[_TRIALS : 2 * _TRIALS])
        self._truth = [found for found, _ in Nearest(rows).best(self._queries, _BEST)]

    def depth_needed(self, codes: Any, deepest: int) -> int | None:
        """The smallest depth at which the codes' best hold the true ones."""
        order = codes.search(self._queries, min(deepest, codes.ntotal))[1]
        for depth in (depth for depth in _DEPTHS if depth <= deepest):
            pairs = zip(self._truth, order, strict=True)
            if sum(len(np.intersect1d(one, near[:depth])) for one, near in pairs) >= _TARGET * _BEST * _TRIALS:
                return depth
        return None


def _ordered(numbers: Numbers, scores: Floats, k: int) -> tuple[Numbers, Floats]:
    order = np.lexsort((numbers, -scores))[:k]
    return numbers[order], scores[order]
