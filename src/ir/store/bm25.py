"""BM25 as every store of this project scores it, here over postings in memory."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ir.protocols import TermStats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Counts = NDArray[np.float64]
    Refs = NDArray[np.int64]

__all__ = ["DFLT_B", "DFLT_K1", "LENGTHS", "Postings", "idf", "rounded_length", "rounded_lengths", "term_weights"]

DFLT_K1 = 1.2
DFLT_B = 0.75


def _representable_lengths() -> NDArray[np.int64]:
    """The 256 document lengths that one byte can name.

    The first 24 codes are the lengths themselves. Each later code, less 24, is a small float: three bits of
    mantissa below its exponent, where exponent 0 has no implied leading one.
    """
    exact = 24
    lengths = list(range(exact))
    for code in range(256 - exact):
        exponent, mantissa = divmod(code, 8)
        lengths.append(exact + (mantissa if exponent == 0 else (8 + mantissa) << (exponent - 1)))
    return np.array(lengths, dtype=np.int64)


#: Every length that survives being written in one byte, ascending. Search engines keep no other.
LENGTHS = _representable_lengths()
_LENGTHS: list[int] = LENGTHS.tolist()


def rounded_lengths(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Each length, rounded down to one that a byte can name.

    >>> rounded_lengths([7, 40, 41, 1000]).tolist()
    [7, 40, 40, 984]
    """
    at = np.searchsorted(LENGTHS, np.asarray(lengths, dtype=np.int64), side="right") - 1
    return LENGTHS[at]


def rounded_length(length: int) -> int:
    """:func:`rounded_lengths` of one."""
    return _LENGTHS[bisect_right(_LENGTHS, length) - 1]


def idf(documents: int, frequency: int) -> float:
    """How much a term tells that ``frequency`` of so many documents hold; never negative.

    >>> round(idf(10, 1), 4)
    1.9924
    """
    return math.log1p((documents - frequency + 0.5) / (frequency + 0.5))


def term_weights(
    counts: Counts, lengths: Counts, average_length: float, *, k1: float = DFLT_K1, b: float = DFLT_B
) -> Counts:
    """What a term adds to documents in which it occurs ``counts`` times, before its idf; at most ``k1 + 1``.

    ``lengths`` are those documents' lengths, rounded as :func:`rounded_lengths` does.
    """
    norm = 1.0 - b + b * lengths / average_length
    weights: Counts = (k1 + 1.0) * counts / (counts + k1 * norm)
    return weights


class Postings:
    """Which document holds which term how often, for documents numbered from 0.

    >>> postings = Postings([["red", "fox"], ["red", "red"], ["hen"]])
    >>> postings.scores({"red": 1.0}).round(3).tolist()
    [0.434, 0.612, 0.0]
    """

    def __init__(self, documents: Iterable[Sequence[str]]) -> None:
        found: dict[str, tuple[list[int], list[int]]] = {}
        lengths: list[int] = []
        for ref, terms in enumerate(documents):
            lengths.append(len(terms))
            for term, count in Counter(terms).items():
                refs, counts = found.setdefault(term, ([], []))
                refs.append(ref)
                counts.append(count)
        self._lengths: Counts = rounded_lengths(lengths).astype(np.float64)
        self._average = sum(lengths) / len(lengths) if lengths else 0.0
        self._lists: dict[str, tuple[Refs, Counts]] = {
            term: (np.array(refs, dtype=np.int64), np.array(counts, dtype=np.float64))
            for term, (refs, counts) in found.items()
        }

    def scores(self, terms: Mapping[str, float]) -> Counts:
        """The score of every document for weighted query terms; 0 where none of them occurs."""
        total: Counts = np.zeros(len(self._lengths))
        for term, weight in terms.items():
            if term in self._lists:
                refs, counts = self._lists[term]
                gain = term_weights(counts, self._lengths[refs], self._average)
                total[refs] += weight * idf(len(self._lengths), len(refs)) * gain
        return total

    def stats(self, terms: Iterable[str]) -> TermStats:
        """What a scorer elsewhere needs to know to give the same scores."""
        frequencies = {term: len(self._lists[term][0]) if term in self._lists else 0 for term in terms}
        return TermStats(len(self._lengths), self._average, frequencies)
