"""One version of a corpus in memory: exact, simple, and the measure of every other store."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.analysis import Analyzer, document_terms
from ir.base import Record, Row, heading_of, json_clean
from ir.filters import matches
from ir.protocols import Ranking, TermStats, Where
from ir.store.bm25 import Postings
from ir.store.checks import fits
from ir.store.vectors import stacked, unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.protocols import Refs, Scores, Vector

__all__ = ["Lexicon", "MemorySnapshot"]

_MOST_MASKS = 32
#: A record's text and heading, and the terms they give.
_Terms = tuple[str, str, list[str]]


class Lexicon:
    """The postings of some records, made when first asked for.

    ``former``, the lexicon of an earlier version, lends the terms of those records that stayed as they were.
    """

    def __init__(self, records: Sequence[Record], analyzer: Analyzer, former: Lexicon | None = None) -> None:
        self.analyzer = analyzer
        self._records = records
        self._known: dict[str, _Terms] = {}
        if former is not None and former.analyzer is analyzer:
            self._known = former._known

    @cached_property
    def postings(self) -> Postings:
        terms = {record.id: self._terms(record) for record in self._records}
        self._known = terms
        return Postings(entry[2] for entry in terms.values())

    def _terms(self, record: Record) -> _Terms:
        heading = heading_of(record.metadata)
        known = self._known.get(record.id)
        if known is not None and known[0] == record.text and known[1] == heading:
            return known
        return record.text, heading, document_terms(self.analyzer, record.text, record.metadata)


class MemorySnapshot:
    """The records of one version; a ref is a record's place among them. Ties are broken by the lower ref."""

    def __init__(self, version: str, records: Sequence[Record], lexicon: Lexicon, config: Mapping[str, Any]) -> None:
        self.version = version
        self.lexicon = lexicon
        self._config = config
        self._records = records
        self._matrix = unit_rows(stacked([record.vector for record in records]))
        numbers: dict[str, int] = {}
        self._artifacts = np.array(
            [numbers.setdefault(record.artifact_id, len(numbers)) for record in records], dtype=np.int64
        )
        self._masks: dict[Where, NDArray[np.bool_]] = {}

    def renamed(self, version: str) -> MemorySnapshot:
        """The same records as another version: something was written that search does not read."""
        twin = copy.copy(self)
        twin.version = version
        return twin

    def __len__(self) -> int:
        return len(self._records)

    @property
    def dim(self) -> int | None:
        """The size of the stored vectors, ``None`` while there are none."""
        return int(self._matrix.shape[1]) if self._records else None

    def config(self) -> Mapping[str, Any]:
        """The corpus's settings in this version."""
        return self._config

    def kinds(self) -> frozenset[str]:
        """The surface kinds that some record has."""
        return frozenset(record.surface_kind for record in self._records)

    def dense(self, vector: Vector, limit: int, where: Where) -> Ranking:
        """The nearest records by cosine, all of them candidates."""
        candidates = np.flatnonzero(self._mask(where))
        return _best(candidates, self.dense_scores(vector, candidates), limit)

    def lexical(self, terms: Mapping[str, float], limit: int, where: Where) -> Ranking:
        """The best records by BM25 among those that hold a term."""
        scores = self.lexicon.postings.scores(terms).astype(np.float32)
        candidates = np.flatnonzero(self._mask(where) & (scores > 0))
        return _best(candidates, scores[candidates], limit)

    def dense_scores(self, vector: Vector, refs: Refs) -> Scores:
        """The cosine of each given record; 0 for a vector of zeros."""
        query = unit_rows(np.asarray(vector, dtype=np.float32))
        if not self._records:
            return np.zeros(len(refs), dtype=np.float32)
        fits(query, self.dim)
        # Row by row and not as one product: a score must not depend on which other records are asked about.
        cosines: Scores = np.einsum("ij,j->i", self._matrix[refs], query)
        return cosines

    def lexical_scores(self, terms: Mapping[str, float], refs: Refs) -> Scores:
        """The BM25 score of each given record; 0 where no term matches."""
        scores: Scores = self.lexicon.postings.scores(terms).astype(np.float32)[refs]
        return scores

    def grouping(self, refs: Refs) -> tuple[NDArray[np.int64], Sequence[str]]:
        """For each ref a number that is the same for records of one artifact, and its surface kind."""
        return self._artifacts[refs], [self._records[int(ref)].surface_kind for ref in refs]

    def rows(self, refs: Refs) -> list[Row]:
        """The records, with metadata that is the caller's to change."""
        return [_row(self._records[int(ref)]) for ref in refs]

    def term_stats(self, terms: Sequence[str]) -> TermStats:
        """What BM25 knows about the terms."""
        return self.lexicon.postings.stats(terms)

    def _mask(self, where: Where) -> NDArray[np.bool_]:
        mask = self._masks.get(where)
        if mask is None:
            mask = np.fromiter((_admits(where, record) for record in self._records), np.bool_, len(self._records))
            if len(self._masks) >= _MOST_MASKS:
                self._masks.clear()
            self._masks[where] = mask
        return mask


def _admits(where: Where, record: Record) -> bool:
    if where.kinds is not None and record.surface_kind not in where.kinds:
        return False
    return where.filter is None or matches(where.filter, record.metadata)


def _best(candidates: Refs, scores: Scores, limit: int) -> Ranking:
    order = np.argsort(-scores, kind="stable")[: max(limit, 0)]
    return Ranking(candidates[order], scores[order])


def _row(record: Record) -> Row:
    return Row(
        record.id,
        record.artifact_id,
        record.surface_kind,
        record.surface_index,
        record.text,
        json_clean(record.metadata),
    )
