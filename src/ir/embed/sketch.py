"""What a model's vectors look like, in a hundred characters that can be compared.

A server's numbers differ in the last digits from day to day, so a hash of them says nothing, and one that is coarse
enough to allow for that would miss a model that changed a little. A sketch holds a few projections of the vectors of
known texts; the distance of two sketches is that of the vectors, give or take a sixth.
"""

from __future__ import annotations

import base64
import binascii
import hashlib

import numpy as np
from numpy.typing import NDArray

__all__ = ["alike", "sketched"]

#: Projections of each vector.
_WIDTH = 12
#: Steps to one: projections are stored as bytes, and hardly ever exceed four.
_STEPS = 32
#: The mean squared distance of vectors of length one whose cosine is 0.999.
_FARTHEST = 0.002


def sketched(rows: NDArray[np.float64]) -> str:
    """The sketch of some vectors; only their directions count."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    straight = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    projected = straight @ _signs(rows.shape[1])
    stored = np.clip(np.round(projected * _STEPS), -127, 127).astype(np.int8)
    return base64.b64encode(stored.tobytes(), b"._").decode()


def alike(one: str, other: str) -> bool:
    """Whether two sketches are of vectors with cosines of about 0.999 or more."""
    first, second = _read(one), _read(other)
    if first is None or second is None or first.shape != second.shape:
        return False
    return bool(np.mean(((first - second) / _STEPS) ** 2) <= _FARTHEST)


def _read(sketch: str) -> NDArray[np.float64] | None:
    try:
        found = np.frombuffer(base64.b64decode(sketch, b"._", validate=True), np.int8)
    except (ValueError, binascii.Error):
        return None
    return found.astype(np.float64) if len(found) and len(found) % _WIDTH == 0 else None


def _signs(dim: int) -> NDArray[np.float64]:
    """Random directions that are the same everywhere and for ever: no random generator of numpy promises that."""
    drawn = np.frombuffer(hashlib.shake_128(b"ir sketch 1").digest(-(-dim * _WIDTH // 8)), np.uint8)
    bits = np.unpackbits(drawn)[: dim * _WIDTH].reshape(dim, _WIDTH)
    return bits.astype(np.float64) * 2 - 1
