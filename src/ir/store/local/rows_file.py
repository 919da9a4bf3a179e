"""The file of a large segment: half-precision rows exactly as faiss writes them, made without holding them in memory.

faiss writes an index that it holds whole. Here the head of an empty index is written, with the number of rows put in,
and then row after row. What reads the rows to make something of them reads some at a time, too: mapped, they would
count as memory of the process.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.store.local.half_precision import widened

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Positions = NDArray[np.int64]

__all__ = ["RowsFile", "empty_index", "write_rows"]

#: Where the head has the number of rows; that of the bytes that follow is its end.
_ROWS_AT = 8
_BLOCK = 8192


def empty_index(dim: int) -> Any:
    """An index of faiss for half-precision rows, compared by their inner product."""
    import faiss

    index = faiss.IndexScalarQuantizer(dim, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
    index.train(np.zeros((1, dim), dtype=np.float32))
    return index


def write_rows(path: Path, batches: Iterator[Floats], dim: int, count: int) -> RowsFile:
    """Write ``count`` rows, which come in batches."""
    index = empty_index(dim)
    head = _head(index, count)
    with path.open("wb") as file:
        file.write(head)
        for batch in batches:
            file.write(index.sa_encode(batch))
        size = file.tell()
    if size != len(head) + count * dim * 2:
        raise ValueError(f"{path} should have {count} rows")
    return RowsFile(path, dim, count, len(head))


def _head(index: Any, count: int) -> bytes:
    import faiss

    head = bytearray(faiss.serialize_index(index).tobytes())
    struct.pack_into("<q", head, _ROWS_AT, count)
    struct.pack_into("<Q", head, len(head) - 8, count * index.d * 2)
    return bytes(head)


class RowsFile:
    """What was written, read again a few rows at a time."""

    def __init__(self, path: Path, dim: int, count: int, start: int) -> None:
        self.dim, self.count = dim, count
        self._path, self._start = path, start

    def blocks(self) -> Iterator[Floats]:
        """Every row, in single precision."""
        with self._path.open("rb") as file:
            file.seek(self._start)
            for at in range(0, self.count, _BLOCK):
                rows = min(_BLOCK, self.count - at)
                yield self._widened(file.read(rows * self.dim * 2))

    def rows(self, positions: Positions) -> Floats:
        """Some rows, in the order in which they are asked for."""
        size = self.dim * 2
        parts: list[bytes] = [b""] * len(positions)
        with self._path.open("rb", buffering=0) as file:
            for place in np.argsort(positions, kind="stable").tolist():
                file.seek(self._start + int(positions[place]) * size)
                parts[place] = file.read(size)
        return self._widened(b"".join(parts))

    def _widened(self, data: bytes) -> Floats:
        return widened(np.frombuffer(data, dtype=np.int16).reshape(-1, self.dim))
