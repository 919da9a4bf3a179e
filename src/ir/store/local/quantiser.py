"""Product-quantiser codes for fast scanning, and how far down their order the truth may lie."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.store.local.rows_file import RowsFile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

__all__ = ["CODED_ROWS", "load_codes", "write_codes"]

#: Below so many rows an exact scan is as fast.
CODED_ROWS = 4096
#: A quarter of the rows is learned from, within these bounds: more makes small corpora slow to build, not to search.
_FEWEST_TRAINING_ROWS, _MOST_TRAINING_ROWS = 2048, 8192
_TRAINING_ROUNDS = 6
_TRIALS = 32
_BEST = 10
#: Real queries came out a little above it, wherever it was measured.
_TARGET = 0.985
_DEPTHS = (50, 75, 100, 150, 200, 300, 400, 600, 800, 1200, 1600)


def load_codes(path: Path) -> Any:
    import faiss

    return faiss.read_index(str(path))


def write_codes(path: Path, exact: RowsFile) -> int | None:
    """Write codes for rows and return how many candidates must be rescored.

    Coarse codes are tried first: they scan twice as fast. ``None``, and no file, if the vectors' size suits no
    quantiser or no depth is enough.
    """
    import faiss

    trial: _Trial | None = None
    for size, deepest in ((4, 400), (2, _DEPTHS[-1])):
        if exact.dim % size or exact.dim // size < 8:
            continue
        codes = _trained(exact, exact.dim // size)
        blocks = exact.blocks()
        if trial is None:
            trial = _Trial(exact)
            blocks = trial.seeing(blocks)  # on the way: the rows are read once
        for block in blocks:
            codes.add(block)
        depth = trial.depth_needed(codes, deepest)
        if depth is not None:
            faiss.write_index(codes, str(path))
            return depth
    return None


def _trained(exact: RowsFile, parts: int) -> Any:
    import faiss

    codes = faiss.IndexPQFastScan(exact.dim, parts, 4, faiss.METRIC_INNER_PRODUCT)
    codes.pq.cp.niter = _TRAINING_ROUNDS
    rows = min(max(exact.count // 4, _FEWEST_TRAINING_ROWS), _MOST_TRAINING_ROWS)
    codes.train(exact.rows(np.sort(_spread(min(rows, exact.count), exact.count))))
    return codes


class _Trial:
    """Some queries with their true ten best: stored rows, which real queries resemble, and mixtures of two, which are
    harder than most."""

    def __init__(self, exact: RowsFile) -> None:
        rows = exact.rows(_spread(3 * _TRIALS, exact.count))
        queries = np.concatenate([rows[:_TRIALS], rows[_TRIALS : 2 * _TRIALS] + rows[2 * _TRIALS :]])
        queries /= np.maximum(np.linalg.norm(queries, axis=1, keepdims=True), 1e-12)
        self._queries: Floats = queries
        self._scores: Floats = np.empty((len(queries), 0), np.float32)
        self._truth = np.empty((len(queries), 0), np.int64)

    def seeing(self, blocks: Iterator[Floats]) -> Iterator[Floats]:
        """The same blocks, which hold every row in turn; the best of them are kept."""
        start = 0
        for block in blocks:
            near = self._queries @ block.T
            best = np.argpartition(-near, min(_BEST, len(block)) - 1, axis=1)[:, :_BEST]
            self._keep(np.take_along_axis(near, best, 1), best + start)
            start += len(block)
            yield block

    def _keep(self, scores: Floats, places: NDArray[np.int64]) -> None:
        scores = np.hstack([self._scores, scores])
        places = np.hstack([self._truth, places])
        order = np.argsort(-scores, axis=1, kind="stable")[:, :_BEST]
        self._scores = np.take_along_axis(scores, order, 1)
        self._truth = np.take_along_axis(places, order, 1)

    def depth_needed(self, codes: Any, deepest: int) -> int | None:
        """The smallest depth at which the codes' candidates hold the true ten best."""
        candidates = codes.search(self._queries, min(deepest, codes.ntotal))[1]
        # Where in the codes' order each of the true ones stands; past the end if nowhere.
        same = self._truth[:, :, None] == candidates[:, None, :]
        places = np.where(same.any(axis=2), same.argmax(axis=2), deepest)
        for depth in (depth for depth in _DEPTHS if depth <= deepest):
            if np.count_nonzero(places < depth) >= _TARGET * self._truth.size:
                return depth
        return None


def _spread(count: int, among: int) -> NDArray[np.int64]:
    """So many rows, all over the place and in no order, but the same each time; numpy's generators take long to load.

    Steps of the golden ratio come close to no earlier place for as long as can be.
    """
    places: NDArray[np.int64] = (np.arange(count) * 0.6180339887498949 % 1.0 * among).astype(np.int64)
    return places
