"""Product-quantiser codes for fast scanning, and how far down their order the truth may lie."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CODED_ROWS", "load_codes", "write_codes"]

#: Below so many rows an exact scan is as fast.
CODED_ROWS = 4096
#: A quarter of the rows is learned from, within these bounds: more makes small corpora slow to build, not to search.
_FEWEST_TRAINING_ROWS, _MOST_TRAINING_ROWS = 2048, 8192
_TRAINING_ROUNDS = 6
_BATCH = 32_768
_TRIALS = 32
#: Real queries came out a little above it, wherever it was measured.
_TARGET = 0.985
_DEPTHS = (50, 75, 100, 150, 200, 300, 400, 600, 800, 1200, 1600)


def load_codes(path: Path) -> Any:
    import faiss

    return faiss.read_index(str(path))


def write_codes(path: Path, exact: Any) -> int | None:
    """Write codes for the rows of a faiss index and return how many candidates must be rescored.

    Coarse codes are tried first: they scan twice as fast. ``None``, and no file, if the vectors' size suits no
    quantiser or no depth is enough.
    """
    import faiss

    for size, deepest in ((4, 400), (2, _DEPTHS[-1])):
        if exact.d % size or exact.d // size < 8:
            continue
        codes = _trained(exact, exact.d // size)
        depth = _depth_needed(exact, codes, deepest)
        if depth is not None:
            faiss.write_index(codes, str(path))
            return depth
    return None


def _trained(exact: Any, parts: int) -> Any:
    import faiss

    codes = faiss.IndexPQFastScan(exact.d, parts, 4, faiss.METRIC_INNER_PRODUCT)
    codes.pq.cp.niter = _TRAINING_ROUNDS
    rows = min(max(exact.ntotal // 4, _FEWEST_TRAINING_ROWS), _MOST_TRAINING_ROWS)
    codes.train(exact.reconstruct_batch(np.sort(_spread(min(rows, exact.ntotal), exact.ntotal))))
    for start in range(0, exact.ntotal, _BATCH):
        codes.add(exact.reconstruct_n(start, min(_BATCH, exact.ntotal - start)))
    return codes


def _depth_needed(exact: Any, codes: Any, deepest: int) -> int | None:
    """The smallest depth at which the codes' candidates hold the true ten best.

    Tried with stored rows, which real queries resemble, and with mixtures of two, which are harder than most.
    """
    rows: NDArray[np.float32] = exact.reconstruct_batch(_spread(3 * _TRIALS, exact.ntotal))
    queries = np.concatenate([rows[:_TRIALS], rows[_TRIALS : 2 * _TRIALS] + rows[2 * _TRIALS :]])
    queries /= np.maximum(np.linalg.norm(queries, axis=1, keepdims=True), 1e-12)
    truth = exact.search(queries, 10)[1]
    candidates = codes.search(queries, min(deepest, exact.ntotal))[1]
    # Where in the codes' order each of the true ones stands; past the end if nowhere.
    same = truth[:, :, None] == candidates[:, None, :]
    places = np.where(same.any(axis=2), same.argmax(axis=2), deepest)
    for depth in (depth for depth in _DEPTHS if depth <= deepest):
        if np.count_nonzero(places < depth) >= _TARGET * truth.size:
            return depth
    return None


def _spread(count: int, among: int) -> NDArray[np.int64]:
    """So many rows, all over the place and in no order, but the same each time; numpy's generators take long to load.

    Steps of the golden ratio come close to no earlier place for as long as can be.
    """
    places: NDArray[np.int64] = (np.arange(count) * 0.6180339887498949 % 1.0 * among).astype(np.int64)
    return places
