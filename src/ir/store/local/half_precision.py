"""Rows of half-precision numbers, made wide enough to be multiplied.

numpy widens them one at a time. Here their bits are moved, many at once, to where single precision has them: that
gives each number divided by 2¹¹², and is six times as fast. What is left is a factor, which the vector that the rows
are multiplied with takes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

__all__ = ["dots", "products", "scanned", "widened"]

_FACTOR = np.float32(2.0**112)
_SHIFT = 13
#: The sign, and below three bits that only an exponent of single precision has, all that a half has.
_BITS = np.int32(-0x70002000)
#: So many rows are scanned together: they stay in the cache of the processor.
_BLOCK = 256
#: A matrix library multiplies fewer numbers than this on one thread. It has more of them at work on up to the second
#: many in vain: waking them takes longer than multiplying.
_FEW, _MANY = 9_000, 200_000


def widened(rows: NDArray[np.int16]) -> Floats:
    """Halves, given by their bits, in single precision."""
    out = _moved(rows, np.empty(rows.shape, np.int32))
    out *= _FACTOR
    return out


def dots(rows: NDArray[np.int16], vector: Floats) -> Floats:
    """The product of each row with the vector."""
    return products(_moved(rows, np.empty(rows.shape, np.int32)), vector * _FACTOR)


def products(rows: Floats, vector: Floats) -> Floats:
    """The product of each row with the vector, in single precision already."""
    if _FEW < rows.size < _MANY:
        return np.einsum("ij,j->i", rows, vector)  # type: ignore[no-any-return]
    return rows.dot(vector)  # type: ignore[no-any-return]


def scanned(rows: NDArray[np.int16], vector: Floats) -> Floats:
    """:func:`dots` of very many rows."""
    scaled = vector * _FACTOR
    room = np.empty((_BLOCK, rows.shape[1]), np.int32)
    out = np.empty(len(rows), np.float32)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        np.dot(_moved(block, room[: len(block)]), scaled, out=out[start : start + len(block)])
    return out


def _moved(rows: NDArray[np.int16], room: NDArray[np.int32]) -> Floats:
    np.copyto(room, rows)
    np.left_shift(room, _SHIFT, out=room)
    np.bitwise_and(room, _BITS, out=room)
    return room.view(np.float32)
