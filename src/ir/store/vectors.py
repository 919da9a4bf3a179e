"""Vectors as rows of a matrix, of length one so that a dot product is the cosine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["stacked", "unit_rows"]


def stacked(vectors: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """The vectors as one matrix; ``(0, 0)`` of none."""
    return np.stack(vectors) if vectors else np.zeros((0, 0), dtype=np.float32)


def unit_rows(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """The rows, each scaled to length one; a row of zeros stays one.

    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32)).astype(float).round(3).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    # In double precision the squares of the largest and smallest floats neither overflow nor vanish.
    exact = matrix.astype(np.float64)
    lengths = np.sqrt(np.einsum("...i,...i->...", exact, exact))[..., None]
    np.divide(exact, lengths, out=exact, where=lengths > 0)
    return exact.astype(np.float32)
