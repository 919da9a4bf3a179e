"""Vectors without a model: terms and their letters, hashed.

Each distinct term of the analyzer, a stem or an identifier, has a small sparse vector of its own: one signed entry for
itself and one for each of its character n-grams, so that spellings which share letters share a direction. A text is
the sum over its terms, damped for repetition and scaled to length one. All weights are multiples of a power of two,
so the sums are exact: a text has the same vector in every batch, process and machine.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ir.analysis import analyzer_for
from ir.analysis.counting import Column, counted, stretches

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.analysis.words import Vocabulary

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Hashes = NDArray[np.uint64]

__all__ = ["LightEmbedder"]

DIM = 512
VERSION = 1
_GRAM_SIZES = (3,)
_GRID = 1024.0
_BLOCK = 256  # small enough for its arrays to stay in the processor cache
_UNSTEMMED = "none"
#: A text longer than this is not a query, and is summed with arrays.
_MOST_SINGLE = 64
_MOST_LISTED = 5000


class LightEmbedder:
    """A hashing embedder: always there, quick, and about words rather than meaning.

    >>> light = LightEmbedder()
    >>> light(["parse a file", "parsing files", "bake bread"]).shape
    (3, 512)
    """

    id = f"light-{DIM}-v{VERSION}"
    dim = DIM
    cacheable = False  # looking up a vector takes longer than computing it
    #: The weight of these vectors in a hybrid search. Measured: they add little to what the words already tell.
    blend_alpha = 0.2

    def __init__(self) -> None:
        self._vectors: dict[str, _TermVectors] = {}
        self._lock = threading.Lock()

    @property
    def fingerprint(self) -> str:
        return f"{self.id}-{analyzer_for().id}"

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> NDArray[np.float32]:
        """One row of length one for each text; a text without words gives zeros. ``input_type`` makes no difference."""
        out = np.zeros((len(texts), DIM), dtype=np.float32)
        with self._lock:
            if len(texts) == 1:
                out[:] = _unit(self._one(texts[0]))
                return out
            for start in range(0, len(texts), _BLOCK):
                block = texts[start : start + _BLOCK]
                out[start : start + len(block)] = _unit(self._sums(block))
        return out

    def _one(self, text: str) -> Floats:
        """The row of one text, as of a query: what :meth:`_sums` gives, with fewer arrays."""
        vocabulary = analyzer_for().vocabulary()
        (numbers,) = vocabulary.of_texts([text])
        if not len(numbers) or len(numbers) > _MOST_SINGLE:
            return self._sums([text])
        counts: dict[int, int] = {}
        for number in numbers.tolist():
            counts[number] = counts.get(number, 0) + 1
        return self._vectors_of(vocabulary, "english").sum_of(counts)[None]

    def _sums(self, texts: Sequence[str], language: str = "english") -> Floats:
        vocabulary = analyzer_for(language).vocabulary()
        found = counted(vocabulary.of_texts(texts))
        factors = _DAMPED[np.minimum(found.counts, len(_DAMPED) - 1)]
        sums = self._vectors_of(vocabulary, language).summed(found.texts, found.terms, factors, len(texts))
        bare = np.flatnonzero(found.lengths == 0).tolist()
        if bare and language != _UNSTEMMED:  # perhaps nothing but stop words, which are better than nothing
            sums[bare] = self._sums([texts[at] for at in bare], _UNSTEMMED)
        return sums

    def _vectors_of(self, vocabulary: Vocabulary, language: str) -> _TermVectors:
        held = self._vectors.get(language)
        if held is None or held.vocabulary is not vocabulary:
            held = self._vectors[language] = _TermVectors(vocabulary)
        return held


class _TermVectors:
    """The sparse vectors of the terms of a vocabulary, as far as they were needed, in one ragged array."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._places = np.empty(0, np.int64)  # for each term number, the index of its vector, or -1
        self._starts = Column(np.int64, [0])
        self._buckets = Column(np.int64)
        self._weights = Column(np.float64)
        #: The vectors of terms that queries had, as lists.
        self._lists: dict[int, tuple[list[int], list[float]]] = {}

    def summed(self, rows: Integers, terms: Integers, factors: Floats, count: int) -> Floats:
        """The sum, in each of ``count`` rows, of the vectors of its terms, each times its factor."""
        places = self._places_of(terms)
        starts = self._starts.values[places]
        sizes = self._starts.values[places + 1] - starts
        entries = stretches(starts, sizes)
        places = np.repeat(rows * DIM, sizes)
        places += self._buckets.values[entries]
        weights = np.repeat(factors, sizes)
        weights *= self._weights.values[entries]
        sums = np.bincount(places, weights, minlength=count * DIM)
        return sums.astype(np.float64, copy=False).reshape(count, DIM)

    def sum_of(self, counts: Mapping[int, int]) -> Floats:
        """The sum of the vectors of a few terms, each as often as it comes."""
        held = self._lists
        new = [number for number in counts if number not in held]
        if new:
            if len(held) + len(new) > _MOST_LISTED:
                held.clear()
                new = list(counts)
            places = self._places_of(np.array(new)).tolist()
            starts = self._starts.values
            for number, place in zip(new, places, strict=True):
                entries = slice(starts[place], starts[place + 1])
                held[number] = (self._buckets.values[entries].tolist(), self._weights.values[entries].tolist())
        buckets: list[int] = []
        weights: list[float] = []
        for number, count in counts.items():
            its_buckets, its_weights = held[number]
            buckets += its_buckets
            factor = float(_DAMPED[count])
            weights += its_weights if factor == 1.0 else [factor * weight for weight in its_weights]
        return np.bincount(buckets, weights, minlength=DIM).astype(np.float64, copy=False)

    def _places_of(self, terms: Integers) -> Integers:
        """The index of each term's vector; vectors that do not exist yet are made."""
        more = int(terms.max(initial=-1)) + 1 - len(self._places)
        if more > 0:
            self._places = np.concatenate([self._places, np.full(more + len(self._places), -1)])
        places = self._places[terms]
        unknown = np.sort(terms[places < 0])
        if len(unknown):
            # What np.unique gives; that would load numpy's masked arrays first.
            new = unknown[np.flatnonzero(np.diff(unknown, prepend=-1))]
            first = len(self._starts.values) - 1
            self._places[new] = np.arange(first, first + len(new))
            self._learn([self.vocabulary.terms[number] for number in new])
            places = self._places[terms]
        return places

    def _learn(self, terms: list[str]) -> None:
        owners, hashes = _grams(terms)
        sizes = np.bincount(owners, minlength=len(terms))
        # All n-grams of a term together weigh as much as the term.
        gram_weights = _on_grid(1.0 / np.sqrt(np.maximum(sizes, 1)))[owners]
        order = np.argsort(np.concatenate([np.arange(len(terms)), owners]), kind="stable")
        every = np.concatenate([_whole(terms), hashes])[order]
        signs = np.where(every >> np.uint64(63), -1.0, 1.0)
        self._buckets.append((every % np.uint64(DIM)).astype(np.int64))
        self._weights.append(signs * np.concatenate([np.ones(len(terms)), gram_weights])[order])
        self._starts.append(self._starts.values[-1] + np.cumsum(sizes + 1))


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
    """Mix the bits: every bit of the result depends on every bit of the value (the finaliser of splitmix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _whole(terms: Sequence[str]) -> Hashes:
    """The hash of every term."""
    sums = [zlib.crc32(term.encode("utf-8", "surrogatepass")) for term in terms]
    return _mixed(np.array(sums, np.uint64) + np.uint64(1 << 40))


def _on_grid(values: Floats) -> Floats:
    rounded: Floats = np.rint(values * _GRID) / _GRID
    return rounded


def _unit(rows: Floats) -> Floats:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return rows / np.where(lengths > 0, lengths, 1.0)[:, None]


#: The weight of a term by how often it occurs; beyond the end of the list, the last entry holds.
_DAMPED = _on_grid(1.0 + np.log(np.maximum(np.arange(4096), 1)))
