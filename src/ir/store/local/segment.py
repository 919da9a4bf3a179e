"""Vectors of a run of records: rows of half-precision numbers in a file that never changes.

A small segment is a bare matrix that numpy multiplies. A larger one is a faiss scalar-quantiser file, mapped rather
than read, with product-quantiser codes beside it: the codes pick candidates, the rows score them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from ir.store.local.crash_points import reach
from ir.store.local.half_precision import dots, products, scanned, widened
from ir.store.local.quantiser import CODED_ROWS, load_codes, write_codes
from ir.store.local.rows_file import RowsFile, empty_index, write_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.protocols import Refs, Vector

    Positions = NDArray[np.int64]
    Scores = NDArray[np.float32]
    Mask = NDArray[np.bool_]

__all__ = ["Narrowed", "Segment", "SegmentInfo", "numbers_in", "write_segment"]

#: Up to so many numbers a segment is one matrix in memory.
_SMALL = 1_500_000
#: Up to so many, a matrix in memory serves for scoring given rows, which half-precision rows are slow at.
_HELD = 8_000_000
#: Up to so many, the rows that pass a filter are put side by side when it is asked again.
_NARROWED = 8_000_000
#: So many numbers are multiplied by numpy before faiss is imported, which takes as long.
_PATIENCE = 120_000_000


class SegmentInfo(TypedDict):
    """What the manifest keeps of a segment. ``rescored`` is how many candidates of the codes are scored exactly."""

    name: str
    rows: int
    dim: int
    rescored: int | None


class Segment:
    """One segment, opened for reading."""

    def __init__(self, folder: Path, info: SegmentInfo) -> None:
        self.info = info
        self.count = info["rows"]
        self.dim = info["dim"]
        self._path = folder / f"{info['name']}.vectors"
        self._codes_path = folder / f"{info['name']}.codes"
        # A plain array over the mapped memory: indexing a memmap costs several times as much.
        self.numbers = np.asarray(np.load(folder / f"{info['name']}.numbers.npy", mmap_mode="r"))
        header = self._path.stat().st_size - self.count * self.dim * 2
        if header < 0 or self.numbers.shape != (self.count,):
            raise ValueError(f"{self._path} is too short")
        self._raw: NDArray[np.uint8] | None = None
        if self.count * self.dim:
            mapped = np.memmap(self._path, dtype=np.uint8, mode="r", offset=header)
            self._raw = np.asarray(mapped).reshape(self.count, self.dim * 2)
        self._matrix: NDArray[np.float32] | None = None
        self._scanned = 0
        self._index: Any = None
        self._codes: Any = None
        self._refined: Any = None
        self._parameters: dict[tuple[int, int], Any] = {}

    def scores(self, vector: Vector, positions: Positions) -> Scores:
        """The exact score of each given row."""
        if self._matrix is None and self._index is not None and self.count * self.dim <= _HELD:
            self._matrix = widened(self._halves(slice(None)))
        if self._matrix is None:
            return dots(self._halves(positions), vector)
        return products(self._matrix.take(positions, 0), vector)

    def nearest(self, vector: Vector, limit: int, mask: Mask | None) -> tuple[Positions, Scores]:
        """The best ``limit`` rows that the mask lets pass, best first."""
        if not self.count or not self.dim:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        if self.count * self.dim <= _SMALL:
            return self._by_matrix(vector, limit, mask)
        if self._faiss_can_wait():
            return self._by_numpy(vector, limit, mask)
        passing = self.count if mask is None else int(np.count_nonzero(mask))
        if self._codes_pay(limit, passing):
            return self._by_codes(vector, limit, mask, passing)
        if passing * 64 < self.count and mask is not None:
            positions = np.flatnonzero(mask)
            return _best(positions, self.scores(vector, positions), limit)
        return self._by_scan(vector, limit, mask)

    def narrowed(self, positions: Positions) -> Narrowed | None:
        """Some of the rows by themselves, for a filter that is asked again; ``None`` if that is not worth while."""
        if self._raw is None or self._index is None or not 0 < len(positions) * self.dim <= _NARROWED:
            return None
        if len(positions) * 5 > self.count:
            return None
        return Narrowed(self.dim, positions, self._raw[positions])

    # -- three ways to scan ------------------------------------------------------------------------------------

    def _by_matrix(self, vector: Vector, limit: int, mask: Mask | None) -> tuple[Positions, Scores]:
        if self._matrix is None:
            self._matrix = widened(self._halves(slice(None)))
        scores = self._matrix @ vector
        if mask is None:
            return _best(None, scores, limit)
        positions = np.flatnonzero(mask)
        return _best(positions, scores[positions], limit)

    def _faiss_can_wait(self) -> bool:
        """The first searches of a process are answered sooner by numpy than by importing faiss."""
        if "faiss" in sys.modules:
            return False
        self._scanned += self.count * self.dim
        return self._scanned <= _PATIENCE

    def _by_numpy(self, vector: Vector, limit: int, mask: Mask | None) -> tuple[Positions, Scores]:
        scores = scanned(self._halves(slice(None)), vector)
        if mask is None:
            return _best(None, scores, limit)
        positions = np.flatnonzero(mask)
        return _best(positions, scores[positions], limit)

    def _by_scan(self, vector: Vector, limit: int, mask: Mask | None) -> tuple[Positions, Scores]:
        """Every row, exactly."""
        import faiss

        index = self._exact_index()
        parameters, bits = None, None
        if mask is not None:
            bits = np.packbits(mask, bitorder="little")
            selector = faiss.IDSelectorBitmap(self.count, faiss.swig_ptr(bits))
            parameters = faiss.SearchParameters(sel=selector)  # type: ignore[call-arg]
        positions, scores = _asked(index, vector, min(limit, self.count), parameters)
        found = positions >= 0
        return positions[found], scores[found]

    def _by_codes(self, vector: Vector, limit: int, mask: Mask | None, passing: int) -> tuple[Positions, Scores]:
        """The codes' best candidates, scored exactly; more of them where a mask will drop some."""
        import faiss

        if self._refined is None:
            self._codes = load_codes(self._codes_path)
            self._refined = faiss.IndexRefine(self._codes, self._exact_index())
        wanted = min(self._rescored(limit), self.count)
        kept = min(limit, self.count)
        if mask is not None:
            kept = wanted = min(int(wanted * self.count / passing * 1.2), self.count)
        parameters = self._parameters.get((wanted, kept))
        if parameters is None:
            parameters = faiss.IndexRefineSearchParameters(k_factor=wanted / kept)  # type: ignore[call-arg]
            self._parameters[wanted, kept] = parameters
        positions, scores = _asked(self._refined, vector, kept, parameters)
        if mask is None and positions[-1] >= 0:
            return positions, scores
        passes = positions >= 0
        if mask is not None:
            passes[passes] = mask[positions[passes]]
            if np.count_nonzero(passes) < min(limit, passing):
                return self._by_scan(vector, limit, mask)
        return positions[passes][:limit], scores[passes][:limit]

    def _codes_pay(self, limit: int, passing: int) -> bool:
        """Whether codes with rescoring cost less than an exact scan; costs in ns, measured."""
        if self.info["rescored"] is None or not passing:
            return False
        per_row = self.dim * 0.12
        wanted = self._rescored(limit) * self.count / passing
        by_codes = self.count * self.dim * 0.015 + wanted * (700 + 2 * self.dim)
        by_scan = passing * per_row + self.count * 2
        return by_codes < by_scan

    def _rescored(self, limit: int) -> int:
        return max(self.info["rescored"] or 0, 2 * limit)

    def _exact_index(self) -> Any:
        if self._index is None:
            import faiss

            index: Any = faiss.read_index(str(self._path), faiss.IO_FLAG_MMAP_IFC)
            # The rows where faiss has them: what is mapped twice counts twice in the memory of the process.
            codes = faiss.rev_swig_ptr(index.codes.data(), self.count * self.dim * 2)
            self._index, self._raw = index, codes.reshape(self.count, self.dim * 2)
        return self._index

    def _halves(self, which: slice | Positions) -> NDArray[np.int16]:
        """The bits of some rows."""
        if self._raw is None:
            return np.empty((0, self.dim), dtype=np.int16)
        rows = self._raw[which] if isinstance(which, slice) else self._raw.take(which, 0)
        return np.ascontiguousarray(rows).view(np.int16)


class Narrowed:
    """Rows that pass a filter, side by side: scanned without asking of each row whether it passes."""

    def __init__(self, dim: int, positions: Positions, codes: NDArray[np.uint8]) -> None:
        self._positions = positions
        self._index = empty_index(dim)
        self._index.add_sa_codes(codes)

    def nearest(self, vector: Vector, limit: int) -> tuple[Positions, Scores]:
        places, scores = _asked(self._index, vector, min(limit, len(self._positions)))
        return self._positions[places], scores


def _asked(index: Any, vector: Vector, limit: int, parameters: Any = None) -> tuple[Positions, Scores]:
    """What ``index.search`` of faiss gives for one vector; its checks take a third of the time that 10,000 rows do."""
    import faiss

    vector = np.ascontiguousarray(vector, dtype=np.float32)
    scores, positions = np.empty(limit, np.float32), np.empty(limit, np.int64)
    index.search_c(1, faiss.swig_ptr(vector), limit, faiss.swig_ptr(scores), faiss.swig_ptr(positions), parameters)
    return positions, scores


def _best(positions: Positions | None, scores: Scores, limit: int) -> tuple[Positions, Scores]:
    """The ``limit`` best of the scores; ties by position."""
    if limit < len(scores):
        kept = np.argpartition(scores, len(scores) - limit)[len(scores) - limit :]
        # Which of several equal scores at the edge are kept must not depend on the partition.
        edge = scores[kept].min()
        above = np.flatnonzero(scores > edge)
        level = np.flatnonzero(scores == edge)[: limit - len(above)]
        kept = np.concatenate([above, level])
    else:
        kept = np.arange(len(scores))
    named = kept if positions is None else positions[kept]
    order = np.lexsort((named, -scores[kept]))
    return named[order], scores[kept][order]


Batches = Iterator["tuple[Positions, NDArray[np.float32]]"]


def write_segment(folder: Path, name: str, count: int, batches: Batches, dim: int) -> Callable[[], SegmentInfo]:
    """Write a segment's vectors, and return what writes its codes, which takes longer, and tells of the whole.

    ``batches`` hold the numbers of ``count`` records, ascending, and their vectors.
    """
    numbers = np.empty(count, dtype=np.int64)
    units = map(_unit, _noting(batches, numbers))
    rows = _write_vectors(folder / f"{name}.vectors", units, dim, count)
    np.save(folder / f"{name}.numbers.npy", numbers)
    reach("vectors:written")

    def finish() -> SegmentInfo:
        rescored = None
        if rows is not None and count >= CODED_ROWS:
            rescored = write_codes(folder / f"{name}.codes", rows)
        reach("codes:written")
        return {"name": name, "rows": count, "dim": dim, "rescored": rescored}

    return finish


def _noting(batches: Batches, numbers: Positions) -> Iterator[NDArray[np.float32]]:
    """The vectors, their numbers put down on the way."""
    filled = 0
    for part, vectors in batches:
        numbers[filled : filled + len(part)] = part
        filled += len(part)
        yield vectors


def _write_vectors(path: Path, batches: Iterator[NDArray[np.float32]], dim: int, count: int) -> RowsFile | None:
    """Write the vectors; for a large segment as faiss does, and as what codes are made of."""
    if count * dim > _SMALL:
        return write_rows(path, batches, dim, count)
    with path.open("wb") as file:
        for batch in batches:
            file.write(batch.astype(np.float16).tobytes())
    return None


def _unit(batch: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.sqrt(np.einsum("ij,ij->i", batch, batch, dtype=np.float64)).astype(np.float32)
    lengths[lengths == 0] = 1.0
    unit: NDArray[np.float32] = np.divide(batch, lengths[:, None], dtype=np.float32)
    return unit


def numbers_in(segment: Segment, refs: Refs) -> tuple[Positions, Mask]:
    """Where each ref stands in the segment, and whether it does."""
    positions = np.searchsorted(segment.numbers, refs)
    inside = positions < segment.count
    inside[inside] = segment.numbers[positions[inside]] == refs[inside]
    return positions, inside
