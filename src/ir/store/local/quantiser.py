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
_TRAINING_ROWS = 8192
_TRAINING_ROUNDS = 8
_BATCH = 32_768
_TRIALS = 48
_TARGET = 0.995
_DEPTHS = (50, 75, 100, 150, 200, 300, 400, 600, 800, 1200, 1600)


def load_codes(path: Path) -> Any:
    import faiss

    return faiss.read_index(str(path))


def write_codes(path: Path, exact: Any) -> int | None:
    """Write codes for the rows of a faiss index and return how many candidates must be rescored.

    ``None``, and no file, if the vectors' size suits no quantiser or no depth tried is enough.
    """
    import faiss

    parts = _parts(exact.d)
    if parts is None:
        return None
    codes = faiss.IndexPQFastScan(exact.d, parts, 4, faiss.METRIC_INNER_PRODUCT)
    codes.pq.cp.niter = _TRAINING_ROUNDS
    chosen = np.random.default_rng(0)
    sample = np.sort(chosen.choice(exact.ntotal, min(_TRAINING_ROWS, exact.ntotal), replace=False))
    codes.train(exact.reconstruct_batch(sample))
    for start in range(0, exact.ntotal, _BATCH):
        codes.add(exact.reconstruct_n(start, min(_BATCH, exact.ntotal - start)))
    depth = _depth_needed(exact, codes, chosen)
    if depth is not None:
        faiss.write_index(codes, str(path))
    return depth


def _parts(dim: int) -> int | None:
    """Into how many pieces a vector is cut: pieces of two numbers, or of the next size that divides it."""
    for size in (2, 3, 4, 5, 6, 8):
        if dim % size == 0 and dim // size >= 8:
            return dim // size
    return None


def _depth_needed(exact: Any, codes: Any, chosen: np.random.Generator) -> int | None:
    """The smallest depth at which the codes' candidates hold the true ten best, tried on mixtures of stored rows.

    A mixture lies away from any row, as a real query does.
    """
    pairs = exact.reconstruct_batch(chosen.integers(0, exact.ntotal, 2 * _TRIALS))
    queries: NDArray[np.float32] = pairs[:_TRIALS] + pairs[_TRIALS:]
    queries /= np.maximum(np.linalg.norm(queries, axis=1, keepdims=True), 1e-12)
    truth = exact.search(queries, 10)[1]
    deepest = min(_DEPTHS[-1], exact.ntotal)
    candidates = codes.search(queries, deepest)[1]
    for depth in _DEPTHS:
        found = [len(np.intersect1d(best, near[:depth])) for best, near in zip(truth, candidates, strict=True)]
        if sum(found) >= _TARGET * truth.size:
            return depth
    return None
