"""Vectors without a model: words and their letters, hashed.

Each distinct term has a small sparse vector of its own: one signed entry for its stem and one for each of its
character n-grams, so that spellings which share letters share a direction. A text is the sum over its terms, damped
for repetition and scaled to length one. All weights are multiples of a power of two, so the sums are exact: a text
has the same vector in every batch, process and machine.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.analysis import Analyzer
from ir.analysis.analyzer import unstemmed
from ir.analysis.languages import stemmer_for

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Hashes = NDArray[np.uint64]

__all__ = ["LightEmbedder"]

DIM = 512
VERSION = 1
_GRAM_SIZES = (3,)
_STOP_WORD_WEIGHT = 0.1
_GRID = 1024.0
_BLOCK = 256  # small enough for its arrays to stay in the processor cache
_MOST_TERMS = 200_000
_LONGEST_REMEMBERED = 64


class LightEmbedder:
    """A hashing embedder: always there, quick, and about words rather than meaning.

    >>> light = LightEmbedder()
    >>> light(["parse a file", "parsing files", "bake bread"]).shape
    (3, 512)
    """

    id = f"light-{DIM}-v{VERSION}"
    dim = DIM
    cacheable = False  # looking a vector up takes longer than making it
    #: What a hybrid search weighs these vectors by, chosen by measurement: they know little that words do not.
    blend_alpha = 0.2

    def __init__(self) -> None:
        self._terms = _TermVectors()
        self._lock = threading.Lock()

    @property
    def fingerprint(self) -> str:
        return f"{self.id}-{Analyzer('none').id}"

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> NDArray[np.float32]:
        """One row of length one for each text; a text without words gives zeros. ``input_type`` makes no difference."""
        out = np.zeros((len(texts), DIM), dtype=np.float32)
        with self._lock:
            for start in range(0, len(texts), _BLOCK):
                block = texts[start : start + _BLOCK]
                out[start : start + len(block)] = _unit(self._sums(block))
        return out

    def _sums(self, texts: Sequence[str]) -> Floats:
        terms = self._terms.numbers(texts)
        lengths = np.fromiter(map(len, terms), np.int64, len(terms))
        flat = np.fromiter(chain.from_iterable(terms), np.int64, int(lengths.sum()))
        width = self._terms.count + 1
        pairs, counts = np.unique(np.repeat(np.arange(len(texts)), lengths) * width + flat, return_counts=True)
        rows, numbers = np.divmod(pairs, width)
        damped = _on_grid(1.0 + np.log(counts))
        sizes, buckets, weights = self._terms.gather(numbers)
        places = np.repeat(rows * DIM, sizes) + buckets
        sums = np.bincount(places, np.repeat(damped, sizes) * weights, minlength=len(texts) * DIM)
        return sums.astype(np.float64, copy=False).reshape(len(texts), DIM)


class _Numbering(dict[str, tuple[int, ...]]):
    """The numbers of the terms of each word met so far. A dict, so that a known word costs no Python call."""

    def __init__(self) -> None:
        super().__init__()
        self.terms: dict[str, int] = {}

    def __missing__(self, word: str) -> tuple[int, ...]:
        terms = self.terms
        numbers = tuple([terms.setdefault(term, len(terms)) for term in unstemmed(word)])
        if len(word) <= _LONGEST_REMEMBERED:
            self[word] = numbers
        return numbers


class _TermVectors:
    """The sparse vectors of all terms met so far, in one ragged array that grows until it is dropped."""

    def __init__(self) -> None:
        self._unless_stop_word = stemmer_for("english", stop_words=True)
        self._stem = stemmer_for("english", stop_words=False)
        self._forget()

    def _forget(self) -> None:
        self._numbering = _Numbering()
        self._starts = _Column(np.int64, [0])
        self._buckets = _Column(np.int64)
        self._weights = _Column(np.float64)

    @property
    def count(self) -> int:
        return len(self._numbering.terms)

    def numbers(self, texts: Sequence[str]) -> list[list[int]]:
        """Each text as the numbers of its terms; the vectors of new terms are made on the way."""
        if max(self.count, len(self._numbering) // 4) > _MOST_TERMS:
            self._forget()
        known = self.count
        out = [list(chain.from_iterable(map(self._numbering.__getitem__, text.split()))) for text in texts]
        if self.count > known:
            self._learn(list(islice(self._numbering.terms, known, None)))
        return out

    def gather(self, numbers: Integers) -> tuple[Integers, Integers, Floats]:
        """How many entries each of the terms has, and all their places and weights in that order."""
        starts = self._starts.values[numbers]
        sizes = self._starts.values[numbers + 1] - starts
        before = np.cumsum(sizes) - sizes
        entries = np.repeat(starts - before, sizes) + np.arange(int(sizes.sum()))
        return sizes, self._buckets.values[entries], self._weights.values[entries]

    def _learn(self, terms: list[str]) -> None:
        weights = np.array([1.0 if self._unless_stop_word(term) else _STOP_WORD_WEIGHT for term in terms])
        stems = np.array([_hash(self._stem(term)[0]) for term in terms], np.uint64)
        owners, hashes = _grams(terms)
        sizes = np.bincount(owners, minlength=len(terms))
        # All n-grams of a term together weigh as much as its stem.
        gram_weights = (weights / np.sqrt(np.maximum(sizes, 1)))[owners]
        order = np.argsort(np.concatenate([np.arange(len(terms)), owners]), kind="stable")
        every = np.concatenate([stems, hashes])[order]
        signs = np.where(every >> np.uint64(63), -1.0, 1.0)
        self._buckets.append((every % np.uint64(DIM)).astype(np.int64))
        self._weights.append(signs * _on_grid(np.concatenate([weights, gram_weights])[order]))
        self._starts.append(self._starts.values[-1] + np.cumsum(sizes + 1))


class _Column:
    """An array that can be appended to without being copied each time."""

    def __init__(self, kind: type[np.generic], values: Sequence[int] = ()) -> None:
        self._room = np.array(values, kind)
        self._used = len(values)

    @property
    def values(self) -> NDArray[Any]:
        return self._room[: self._used]

    def append(self, values: NDArray[Any]) -> None:
        used = self._used + len(values)
        if used > len(self._room):
            room = np.empty(max(used, 2 * len(self._room)), self._room.dtype)
            room[: self._used] = self.values
            self._room = room
        self._room[self._used : used] = values
        self._used = used


def _grams(terms: Sequence[str]) -> tuple[Integers, Hashes]:
    """The hash of every character n-gram of every term, with the number of its term."""
    padded = [f"<{term}>" for term in terms]
    codes = np.frombuffer("".join(padded).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    owner = np.repeat(np.arange(len(terms)), [len(term) for term in padded])
    owners, hashes = [], []
    for size in _GRAM_SIZES:
        last = len(codes) - size + 1
        if last < 1:
            continue
        inside = owner[:last] == owner[size - 1 :]
        rolled = np.full(last, size, np.uint64)
        for offset in range(size):
            rolled = rolled * np.uint64(0x100000001B3) + codes[offset : last + offset]
        owners.append(owner[:last][inside])
        hashes.append(_mixed(rolled[inside]))
    return np.concatenate(owners), np.concatenate(hashes)


def _mixed(values: Hashes) -> Hashes:
    """Every bit of the result depends on every bit of the value (the finaliser of splitmix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _on_grid(values: Floats) -> Floats:
    rounded: Floats = np.rint(values * _GRID) / _GRID
    return rounded


def _unit(rows: Floats) -> Floats:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return rows / np.where(lengths > 0, lengths, 1.0)[:, None]
