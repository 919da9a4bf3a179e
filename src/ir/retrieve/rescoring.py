"""BM25 with constants of the caller's own: an exact rescoring of a deep list."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ir.analysis import Analyzer, document_terms
from ir.protocols import Ranking, Snapshot, Where

if TYPE_CHECKING:
    from ir.protocols import Refs, Scores

__all__ = ["Bm25Override"]

#: How many more records than asked for are rescored, since other constants change the order.
WIDENING = 4
LEAST = 200


@dataclass(frozen=True)
class Bm25Override:
    """k1 and b for one call; texts are analysed again, as an index keeps its own constants."""

    k1: float
    b: float
    analyzer: Analyzer

    @classmethod
    def of(cls, constants: Mapping[str, float], analyzer: Analyzer) -> Bm25Override:
        return cls(float(constants.get("k1", 1.2)), float(constants.get("b", 0.75)), analyzer)

    def rank(self, snapshot: Snapshot, terms: Mapping[str, float], depth: int, where: Where) -> Ranking:
        found = snapshot.lexical(terms, max(depth * WIDENING, LEAST), where)
        scores = self.scores(snapshot, terms, found.refs)
        order = np.lexsort((found.refs, -scores))[:depth]
        return Ranking(found.refs[order], scores[order])

    def scores(self, snapshot: Snapshot, terms: Mapping[str, float], refs: Refs) -> Scores:
        stats = snapshot.term_stats(list(terms))
        weights = {
            term: weight * _idf(stats.documents, stats.frequencies.get(term, 0)) for term, weight in terms.items()
        }
        average = stats.average_length or 1.0
        scores = [
            self._score(Counter(document_terms(self.analyzer, row.text, row.metadata)), weights, average)
            for row in snapshot.rows(refs)
        ]
        return np.asarray(scores, dtype=np.float32)

    def _score(self, counts: Counter[str], weights: Mapping[str, float], average: float) -> float:
        norm = self.k1 * (1 - self.b + self.b * counts.total() / average)
        return sum(
            weight * counts[term] * (self.k1 + 1) / (counts[term] + norm)
            for term, weight in weights.items()
            if counts[term]
        )


def _idf(documents: int, frequency: int) -> float:
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))
