"""BM25 over texts that are all in memory, for ``fusion="minmax_corpus"``: stores have another one, with stems."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Scores = NDArray[np.float64]

__all__ = ["Bm25", "words"]

_WORD = re.compile(r"[A-Za-z0-9]+")


def words(text: str) -> list[str]:
    """
    >>> words("Fireball (3rd level): 8d6!")
    ['fireball', '3rd', 'level', '8d6']
    """
    return [word.lower() for word in _WORD.findall(text)]


class Bm25:
    """BM25 with ``k1`` 1.5 and ``b`` 0.75 over texts that are all known.

    >>> whole = Bm25(["fireball deals fire damage", "general spell overview", "fireball fireball"])
    >>> round(whole.idf["fireball"], 10), [round(float(score), 10) for score in whole.scores("fireball")]
    (0.4700036292, [0.408698808, 0.0, 0.7520058068])
    """

    def __init__(
        self,
        texts: Sequence[str],
        *,
        k1: float = 1.5,
        b: float = 0.75,
        tokens: Callable[[str], Sequence[str]] = words,
    ) -> None:
        self._tokens = tokens
        self._k1 = k1
        counted = [Counter(tokens(text)) for text in texts]
        lengths = np.array([sum(one.values()) for one in counted], dtype=np.float64)
        average = float(lengths.mean()) if len(lengths) and lengths.sum() else 1.0
        self._norm = k1 * (1 - b + b * lengths / average)
        places: dict[str, list[tuple[int, int]]] = {}
        for place, one in enumerate(counted):
            for word, times in one.items():
                places.setdefault(word, []).append((place, times))
        self._postings: Mapping[str, tuple[NDArray[np.int64], Scores]] = {
            word: (np.array([place for place, _ in found]), np.array([float(times) for _, times in found]))
            for word, found in places.items()
        }
        total = len(texts)
        self.idf = {
            word: math.log((total - len(found) + 0.5) / (len(found) + 0.5) + 1) for word, found in places.items()
        }

    def scores(self, query: str) -> Scores:
        """The score of every text; a word that the query says twice counts twice."""
        scores = np.zeros(len(self._norm))
        for word in self._tokens(query):
            if word in self._postings:
                at, times = self._postings[word]
                scores[at] += self.idf[word] * times * (self._k1 + 1) / (times + self._norm[at])
        return scores
