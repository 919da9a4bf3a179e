"""TF-IDF over hashed features, as an inverted index in a few arrays: numpy alone makes, maps and asks it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ir.ground.sparse import Sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Features = NDArray[np.uint32]
    Rows = NDArray[np.uint32]
    Floats = NDArray[np.float32]

__all__ = ["Postings", "Scan", "best_places", "text_features"]

_FILES = ("features", "starts", "idf", "rows", "weights")
#: Weights lie between 0 and 1 and are kept in steps of this.
_STEP = np.float32(1 / 65535)
#: In a large index a feature that more than this share of the rows have tells them apart too little to be walked.
_COMMON, _LARGE = 0.04, 100_000
#: The steps of a rolling hash of characters.
_FACTOR = np.uint32(0x01000193)


class Scan(NamedTuple):
    """What each row scored, and which did at all."""

    scores: Floats
    rows: NDArray[np.int64]


class Postings:
    """The rows that have each feature, with cosine weights.

    A text is a row of unit length in a space of features; its weight there is ``(1 + log tf) · idf``.
    """

    def __init__(
        self,
        size: int,
        features: Features,
        starts: NDArray[np.int64],
        idf: Floats,
        rows: Rows,
        weights: NDArray[np.uint16],
    ) -> None:
        self.size = size
        self.features = features
        self.starts = starts
        self.idf = idf
        self.rows = rows
        self.weights = weights

    @classmethod
    def of(cls, features: Features, rows: Rows, size: int) -> Postings:
        """The index of ``size`` rows; ``features[i]`` occurs in ``rows[i]``, as often as it is said."""
        keys = features.astype(np.uint64)
        keys <<= np.uint64(32)
        keys |= rows
        keys.sort()
        new = np.empty(len(keys), bool)
        new[:1] = True
        np.not_equal(keys[1:], keys[:-1], out=new[1:])
        places = np.flatnonzero(new)
        times = np.diff(places, append=len(keys))
        keys = keys[places]
        del new, places
        held = keys.astype(np.uint32)  # the lower half: the row
        keys >>= np.uint64(32)
        starts = np.flatnonzero(np.diff(keys, prepend=keys[:1] + np.uint64(1)))
        distinct = keys[starts].astype(np.uint32)
        del keys
        starts = np.append(starts, len(held)).astype(np.int64)
        df = np.diff(starts)
        idf = (np.log((1 + size) / (1 + df)) + 1).astype(np.float32)
        weights = np.repeat(idf, df)
        weights *= 1 + np.log(times, dtype=np.float32)
        norms = np.sqrt(np.bincount(held, weights * weights, minlength=size)).astype(np.float32)
        weights /= norms[held]
        if size > _LARGE:
            held, weights, starts = _without_common(held, weights, starts, df, size)
        steps = np.rint(weights / _STEP).astype(np.uint16)
        return cls(size, distinct, starts, idf, held, steps)

    def scan(self, features: Features, into: Floats) -> Scan:
        """The cosine of a text with these features to every row, written to ``into``, which is all zeros before."""
        for place, weight in zip(*self.weighted(features), strict=True):
            first, end = self.starts[place], self.starts[place + 1]
            part = np.multiply(self.weights[first:end], np.float32(weight) * _STEP, dtype=np.float32)
            into[self.rows[first:end]] += part
        return Scan(into, np.flatnonzero(into))

    def weighted(self, features: Features) -> tuple[list[int], list[float]]:
        """The known ones of these features, by their place, and their weights in a text of length one."""
        wanted, times = np.unique(features, return_counts=True)
        if not len(self.features):
            return [], []
        places = np.searchsorted(self.features, wanted)
        places[places == len(self.features)] = 0
        known = self.features[places] == wanted
        unseen = float(np.log(1 + self.size) + 1)
        weights = np.where(known, self.idf[places], unseen) * (1 + np.log(times))
        weights /= float(np.sqrt(np.square(weights).sum())) or 1.0
        return places[known].tolist(), weights[known].tolist()

    def turned(self) -> Sparse:
        """The same as a matrix: a row for each feature, a column for each text."""
        values = np.asarray(self.weights, np.float32) * _STEP
        return Sparse(np.asarray(self.starts), np.asarray(self.rows, np.int64), values, self.size)

    def save(self, folder: Path, name: str) -> None:
        for part in _FILES:
            np.save(folder / f"{name}-{part}.npy", getattr(self, part))

    @classmethod
    def load(cls, folder: Path, name: str, size: int) -> Postings:
        return cls(size, *(np.load(folder / f"{name}-{part}.npy", mmap_mode="r") for part in _FILES))


def _without_common(
    rows: Rows, weights: Floats, starts: NDArray[np.int64], df: NDArray[np.int64], size: int
) -> tuple[Rows, Floats, NDArray[np.int64]]:
    kept = df <= _COMMON * size
    walked = np.repeat(kept, df)
    starts = np.concatenate([[0], np.cumsum(np.where(kept, df, 0))]).astype(np.int64)
    return rows[walked], weights[walked], starts


def best_places(values: Floats, k: int) -> NDArray[np.int64]:
    """Where the ``k`` largest values stand, in no order."""
    if len(values) <= k:
        return np.arange(len(values))
    if len(values) > 16 * k and len(values) > 4096:
        # Most values are far from the best: a sample tells from where on it is worth looking.
        stride = max(1, len(values) // 4096)
        sample = values[::stride]
        rank = min(len(sample) - 1, 4 + 2 * k // stride)
        floor = np.partition(sample, len(sample) - 1 - rank)[len(sample) - 1 - rank]
        above = np.flatnonzero(values >= floor)
        if len(above) >= k:
            values = values[above]
            return above[np.argpartition(values, len(values) - k)[len(values) - k :]] if len(above) > k else above
    return np.argpartition(values, len(values) - k)[len(values) - k :]


def text_features(texts: list[str], sizes: tuple[int, ...]) -> tuple[Features, Rows]:
    """The character n-grams of each text, with a space before and after it, as hashes."""
    joined = " " + "  ".join(texts) + " "
    letters = np.frombuffer(joined.encode("utf-32-le", "replace"), np.uint32)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts)) + 2
    rows = np.repeat(np.arange(len(texts), dtype=np.uint32), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(
        len(letters)
    )  # characters from here to the end of its text
    left = left.astype(np.int32)
    features, owners = [], []
    rolling = np.full(len(letters), 0x811C9DC5, np.uint32)
    for size in range(1, max(sizes) + 1):
        reach = len(letters) - size + 1
        rolling = (rolling[:reach] ^ letters[size - 1 :]) * _FACTOR
        rolling ^= rolling >> np.uint32(15)
        if size in sizes:
            whole = left[:reach] >= size
            features.append(rolling[whole])
            owners.append(rows[:reach][whole])
    return np.concatenate(features), np.concatenate(owners)
