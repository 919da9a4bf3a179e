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
#: So many times what is wanted is scored exactly, and at least so many rows.
_DEEPER, _FEWEST = 8, 400


def unit_rows(matrix: NDArray[Any]) -> Floats:
    """Each row at length one; a row of zeros stays."""
    rows = np.asarray(matrix, np.float32)
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    unit: Floats = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    return unit


class Nearest:
    """Rows of length one, by cosine."""

    def __init__(self, rows: NDArray[Any], codes: Any = None) -> None:
        self.rows = rows
        self._codes = codes

    @classmethod
    def of(cls, rows: NDArray[Any]) -> Nearest:
        """Codes are made where they are worth it: half a byte for two numbers."""
        if len(rows) < CODED_ROWS or rows.shape[1] % 2:
            return cls(rows)
        import faiss

        codes = faiss.IndexPQFastScan(rows.shape[1], rows.shape[1] // 2, 4, faiss.METRIC_INNER_PRODUCT)
        codes.pq.cp.niter = 8
        step = max(1, len(rows) // _TRAINING_ROWS)
        codes.train(np.ascontiguousarray(rows[::step][:_TRAINING_ROWS], np.float32))
        for first in range(0, len(rows), 65_536):
            codes.add(np.ascontiguousarray(rows[first : first + 65_536], np.float32))
        return cls(rows, codes)

    def best(self, queries: Floats, k: int) -> list[tuple[Numbers, Floats]]:
        """For each query the numbers of the ``k`` nearest rows, best first, and their cosines."""
        if self._codes is not None:
            depth = min(max(_DEEPER * k, _FEWEST), len(self.rows))
            near = self._codes.search(np.ascontiguousarray(queries, np.float32), depth)[1]
            return [
                _ordered(found, self.scores(query, found), k)
                for query, found in zip(queries, (row[row >= 0] for row in near), strict=True)
            ]
        rows = np.asarray(self.rows, np.float32)
        answers = []
        for query in queries:
            scores = rows @ query
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

    @classmethod
    def load(cls, folder: Path, name: str) -> Nearest:
        rows = np.load(folder / f"{name}.npy", mmap_mode="r")
        path = folder / f"{name}.codes"
        if not path.exists():
            return cls(rows)
        import faiss

        return cls(rows, faiss.read_index(str(path)))


def _ordered(numbers: Numbers, scores: Floats, k: int) -> tuple[Numbers, Floats]:
    order = np.lexsort((numbers, -scores))[:k]
    return numbers[order], scores[order]
