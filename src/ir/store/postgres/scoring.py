"""What the lexical index says of a query, as a query of the server: ``number`` and ``score`` of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ir.protocols import TermStats
from ir.store.bm25 import DFLT_B, DFLT_K1
from ir.store.postgres.codec import as_array, packed
from ir.store.postgres.connections import Connection
from ir.store.postgres.filters import Condition
from ir.store.postgres.state import State

__all__ = ["Scoring", "TextSearch", "scoring_for"]

#: The weights of the query's terms are worked out where the terms are counted, which saves a question before this one.
_BM25 = """
WITH q AS MATERIALIZED (
    SELECT t.number AS term,
           w.weight * {gain}::float8 * ln(1 + ({records}::float8 - t.documents + 0.5) / (t.documents + 0.5)) AS weight
    FROM unnest(%s::text[], %s::float8[]) AS w (term, weight) JOIN terms t USING (term) WHERE t.documents > 0
)
SELECT p.number, sum(q.weight * p.count / (p.count + {fixed}::float8 + {slope}::float8 * p.length)) AS score
FROM q JOIN postings p ON p.term = q.term {which}
GROUP BY p.number
"""
_RANK = "SELECT number, ts_rank_cd(lexemes, q)::float8 AS score FROM documents, (SELECT %s::tsquery AS q) AS query"


class Scoring:
    """BM25 over the postings."""

    def __init__(self, connection: Connection, state: State) -> None:
        self._connection = connection
        self._state = state
        self._terms: dict[str, tuple[int, int]] = {}

    def scores(self, terms: Mapping[str, float], numbers: Sequence[int] | None = None) -> Condition | None:
        """The query that scores every record with one of the terms, or those given; ``None`` if there are none."""
        if not terms:
            return None
        text = _BM25.format(
            gain=repr(DFLT_K1 + 1),
            records=self._state.records,
            fixed=repr(DFLT_K1 * (1 - DFLT_B)),
            slope=repr(DFLT_K1 * DFLT_B / (self._state.average_length or 1.0)),
            which="" if numbers is None else "AND p.number = ANY(%s::bigint[])",
        )
        weights = as_array(terms.values())
        parameters: tuple[Any, ...] = ([packed(term) for term in terms], weights)
        return Condition(text, parameters if numbers is None else (*parameters, as_array(numbers)))

    def stats(self, terms: Sequence[str]) -> TermStats:
        self._look_up(terms)
        frequencies = {term: self._terms[term][1] for term in terms}
        return TermStats(self._state.records, self._state.average_length, frequencies)

    def settings(self) -> Mapping[str, Any]:
        """What a search should know about this kind of score."""
        return {}

    def _look_up(self, terms: Sequence[str] | Mapping[str, float]) -> None:
        unknown = {packed(term): term for term in terms if term not in self._terms}
        if unknown:
            query = "SELECT term, number, documents FROM terms WHERE term = ANY(%s)"
            self._terms.update(dict.fromkeys(unknown.values(), (0, 0)))
            for term, number, documents in self._connection.execute(query, (list(unknown),)):
                self._terms[unknown[term]] = (number, documents)


class TextSearch(Scoring):
    """``ts_rank_cd``, the server's own ranking: closeness of terms, but nothing about how rare they are."""

    #: Where half of a blended score's room is used up; this ranking gives tenths where BM25 gives tens.
    SATURATION = 1.0

    def scores(self, terms: Mapping[str, float], numbers: Sequence[int] | None = None) -> Condition | None:
        words = [term for term, weight in terms.items() if weight > 0]
        if not words:
            return None
        which = " WHERE lexemes @@ q" + ("" if numbers is None else " AND number = ANY(%s::bigint[])")
        return Condition(_RANK + which, (_any_of(words),) if numbers is None else (_any_of(words), as_array(numbers)))

    def settings(self) -> Mapping[str, Any]:
        return {"bm25_sat_k": self.SATURATION}

    def _look_up(self, terms: Sequence[str] | Mapping[str, float]) -> None:
        for term in terms:
            if term not in self._terms:
                query = "SELECT count(*) FROM documents WHERE lexemes @@ %s::tsquery"
                row = self._connection.execute(query, (_any_of([term]),)).fetchone()
                self._terms[term] = (0, int(row[0]) if row else 0)


def _any_of(terms: Sequence[str]) -> str:
    quoted = (packed(term).replace("\\", "\\\\").replace("'", "''") for term in terms)
    return " | ".join(f"'{term}'" for term in quoted)


def scoring_for(connection: Connection, state: State) -> Scoring | None:
    """The scoring of the index that is there."""
    if state.lexical == "none":
        return None
    return TextSearch(connection, state) if state.lexical == "tsvector" else Scoring(connection, state)
