"""What ranks in a book beside meaning and words: sections that the question calls by their name."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from ir.analysis import Analyzer, analyzer_for
from ir.book.names import Names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.base import Row
    from ir.retrieve import Pool

__all__ = ["BookRanking"]


@dataclass(frozen=True)
class BookRanking:
    """``named`` is what a candidate gains whose title is all that the question says.

    A question about one spell of many says its name, and uses words that the chapter about all spells has more of. So
    a title counts by its share of what the question says, of which rare words say more; the root of that, for one
    name among many words is still a name. Of titles inside each other the longest is meant.
    """

    named: float = 0.3

    @property
    def __name__(self) -> str:
        return "named"

    def __call__(self, pool: Pool) -> NDArray[np.float64]:
        names = Names((_title(row), row.artifact_id) for row in pool.rows)
        mentions = list(names.in_text(pool.query))
        if not mentions:
            return np.zeros(len(pool))
        analyzer = analyzer_for(pool.snapshot.config().get("language") or "english")
        shares: dict[str, float] = {}
        weights = _weights(pool, analyzer)
        total = sum(weights.values())
        for mention in mentions:
            said = sum(weights.get(term, 0.0) for term in set(analyzer.terms(mention.said)))
            for entry in mention.entries:
                shares[entry] = max(shares.get(entry, 0.0), said / total if total else 0.0)
        return np.array([self.named * sqrt(shares.get(row.artifact_id, 0.0)) for row in pool.rows])


def _title(row: Row) -> str:
    path = row.metadata.get("section_path")
    return str(path[-1]) if isinstance(path, (list, tuple)) and path else str(row.metadata.get("title") or "")


def _weights(pool: Pool, analyzer: Analyzer) -> dict[str, float]:
    """How much each term of the question says: the rarer, the more."""
    terms = list(pool.question.terms) or list(dict.fromkeys(analyzer.terms(pool.query)))
    stats = pool.snapshot.term_stats(terms)
    return {
        term: log(1 + (stats.documents - held + 0.5) / (held + 0.5))
        for term in terms
        for held in [min(stats.frequencies.get(term, 0), stats.documents)]
    }
