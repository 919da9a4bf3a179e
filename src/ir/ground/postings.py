"""TF-IDF over hashed features, as an inverted index in a few arrays: numpy alone makes, maps and asks it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ir.ground.sparse import Sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Features = NDArray[np.uint32]
    Rows = NDArray[np.uint32]
    Floats = NDArray[np.float32]

__all__ = ["Postings", "Scan", "best_places", "feature_keys", "text_features"]

_FILES = ("features", "starts", "idf", "rows", "weights")
#: Weights lie between 0 and 1 and are kept in steps of this.
_STEP = np.float32(1 / 65535)
#: In a large index a feature that more than this share of the rows have tells them apart too little to be walked.
_COMMON, _LARGE = 0.04, 100_000
#: Where fewer rows than one in so many were touched, they are gathered instead of looked for.
_SPARSE = 30
#: So many keys, and texts, are worked on at once where a copy is made.
_BLOCK, _TEXTS_AT_ONCE = 4_000_000, 50_000
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
    def of(cls, keys: NDArray[np.uint64], size: int, *, shared_from: int | None = None) -> Postings:
        """The index of ``size`` rows. A key is a feature in its upper half and a row that has it in its lower; it comes
        as often as the row has the feature. The keys are sorted in place: there may be very many.

        Features from ``shared_from`` on are left out if only one row has them.
        """
        keys.sort()
        if shared_from is not None:
            keys = keys[~_lonely(keys, shared_from)]
        new = np.empty(len(keys), bool)
        new[:1] = True
        np.not_equal(keys[1:], keys[:-1], out=new[1:])
        again = np.flatnonzero(~new)
        groups = np.cumsum(new, dtype=np.int32)[again] - 1
        keys = keys[new]
        del new
        held = keys.astype(np.uint32)  # the lower half: the row
        keys >>= np.uint64(32)
        changes = np.empty(len(keys), bool)
        changes[:1] = True
        np.not_equal(keys[1:], keys[:-1], out=changes[1:])
        starts = np.flatnonzero(changes)
        distinct = keys[starts].astype(np.uint32)
        del keys, changes
        starts = np.append(starts, len(held)).astype(np.int64)
        df = np.diff(starts)
        idf = (np.log((1 + size) / (1 + df)) + 1).astype(np.float32)
        weights = np.repeat(idf, df)
        if len(again):
            repeated, times = np.unique(groups, return_counts=True)
            weights[repeated] *= (1 + np.log(1 + times)).astype(np.float32)
        _normalise(weights, held, size)
        if size > _LARGE:
            held, weights, starts = _without_common(held, weights, starts, df, size)
        steps = np.rint(weights / _STEP).astype(np.uint16)
        return cls(size, distinct, starts, idf, held, steps)

    def scan(self, features: Features, into: Floats, *, unseen: bool = True) -> Scan:
        """The cosine of a text with these features to every row, written to ``into``, which is all zeros before."""
        touched = []
        for place, weight in zip(*self.weighted(features, unseen=unseen), strict=True):
            first, end = self.starts[place], self.starts[place + 1]
            part = np.multiply(self.weights[first:end], np.float32(weight) * _STEP, dtype=np.float32)
            rows = self.rows[first:end]
            into[rows] += part
            touched.append(rows)
        if sum(map(len, touched)) * _SPARSE < self.size:
            found = np.unique(np.concatenate(touched)).astype(np.int64) if touched else np.zeros(0, np.int64)
            return Scan(into, found)
        return Scan(into, np.flatnonzero(into))

    def weighted(self, features: Features, *, unseen: bool = True) -> tuple[list[int], list[float]]:
        """The known ones of these features, by their place, and their weights in a text of length one; ``unseen`` ones
        are part of it, too."""
        wanted, times = np.unique(features, return_counts=True)
        if not len(self.features):
            return [], []
        places = np.searchsorted(self.features, wanted)
        places[places == len(self.features)] = 0
        known = self.features[places] == wanted
        rarest = float(np.log(1 + self.size) + 1) if unseen else 0.0
        weights = np.where(known, self.idf[places], rarest) * (1 + np.log(times))
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


def _lonely(keys: NDArray[np.uint64], shared_from: int) -> NDArray[np.bool_]:
    """Which of these sorted keys are of a feature from ``shared_from`` on that one row alone has."""
    features = keys >> np.uint64(32)
    same_row = np.empty(len(keys), bool)
    same_row[:1] = False
    np.equal(keys[1:], keys[:-1], out=same_row[1:])
    first = np.flatnonzero(np.diff(features, prepend=features[:1] + np.uint64(1)))
    rows = np.add.reduceat(~same_row, first, dtype=np.int64) if len(first) else np.zeros(0, np.int64)
    counts = np.diff(np.append(first, len(keys)))
    alone: NDArray[np.bool_] = np.repeat((rows < 2) & (features[first] >= np.uint64(shared_from)), counts)
    return alone


def _normalise(weights: Floats, rows: Rows, size: int) -> None:
    """Bring each row to length one; in blocks, since sums are made in double precision."""
    squares = np.zeros(size, np.float64)
    blocks = [slice(first, first + _BLOCK) for first in range(0, len(rows), _BLOCK)]
    for block in blocks:
        squares += np.bincount(rows[block], weights[block] ** 2, minlength=size)
    norms = np.sqrt(squares).astype(np.float32)
    for block in blocks:
        weights[block] /= norms[rows[block]]


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


def text_features(texts: Sequence[str], sizes: tuple[int, ...]) -> NDArray[np.uint64]:
    """The character n-grams of each text, with a space before and after it, as keys of :meth:`Postings.of`."""
    lengths = np.fromiter(map(len, texts), np.int64, len(texts)) + 2
    count = sum(int(np.maximum(lengths - size + 1, 0).sum()) for size in sizes)
    keys = np.empty(count, np.uint64)
    filled = 0
    for first in range(0, len(texts), _TEXTS_AT_ONCE):
        some = slice(first, first + _TEXTS_AT_ONCE)
        for grams, rows in _grams(texts[some], lengths[some], sizes):
            part = keys[filled : filled + len(grams)]
            part[:] = grams
            part <<= np.uint64(32)
            part |= rows + np.uint32(first)
            filled += len(grams)
    return keys


def _grams(texts: Sequence[str], lengths: NDArray[np.int64], sizes: tuple[int, ...]) -> Iterator[tuple[Features, Rows]]:
    letters = np.frombuffer((" " + "  ".join(texts) + " ").encode("utf-32-le", "replace"), np.uint32)
    rows = np.repeat(np.arange(len(texts), dtype=np.uint32), lengths)
    # How many characters there are from each to the end of its text.
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(letters))
    rolling = np.full(len(letters), 0x811C9DC5, np.uint32)
    for size in range(1, max(sizes) + 1):
        reach = max(0, len(letters) - size + 1)
        rolling = (rolling[:reach] ^ letters[size - 1 :]) * _FACTOR
        rolling ^= rolling >> np.uint32(15)
        if size in sizes:
            whole = left[:reach] >= size
            yield rolling[whole], rows[:reach][whole]


def feature_keys(features: Features, rows: Rows) -> NDArray[np.uint64]:
    """Features and the rows that have them as keys of :meth:`Postings.of`."""
    keys = features.astype(np.uint64)
    keys <<= np.uint64(32)
    keys |= rows
    return keys
