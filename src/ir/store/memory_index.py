"""One version of a corpus in memory: exact, simple, and the measure of every other store."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.analysis import Analyzer, document_terms
from ir.base import Record, Row, json_clean, lead_of
from ir.filters import matches
from ir.links import Direction, Neighbour, Node
from ir.protocols import Ranking, TermStats, Where
from ir.store.bm25 import Postings
from ir.store.checks import fits, unknown_space
from ir.store.memory_graph import MemoryGraph
from ir.store.vectors import stacked, unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.protocols import Refs, Scores, Vector

__all__ = ["Lexicon", "MemorySnapshot", "Spaces"]

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
        heading = lead_of(record.metadata)
        known = self._known.get(record.id)
        if known is not None and known[0] == record.text and known[1] == heading:
            return known
        return record.text, heading, document_terms(self.analyzer, record.text, record.metadata)


class SpaceMatrix:
    """The vectors of one space as rows of length one; ``places`` says which records they are of, ascending."""

    def __init__(self, vectors: Mapping[int, Vector]) -> None:
        ordered = sorted(vectors)
        self.places = np.array(ordered, dtype=np.int64)
        self._rows = unit_rows(stacked([vectors[place] for place in ordered]))

    @property
    def dim(self) -> int | None:
        return int(self._rows.shape[1]) if len(self.places) else None

    def cosines(self, vector: Vector, refs: Refs) -> Scores:
        out: Scores = np.zeros(len(refs), dtype=np.float32)
        if not len(self.places):
            return out
        query = unit_rows(np.asarray(vector, dtype=np.float32))
        fits(query, self.dim)
        at, there = self._found(refs)
        # Row by row and not as one product: a score must not depend on which other records are asked about.
        out[there] = np.einsum("ij,j->i", self._rows[at[there]], query)
        return out

    def rows(self, refs: Refs) -> list[Vector | None]:
        at, there = self._found(refs)
        return [self._rows[row] if known else None for row, known in zip(at.tolist(), there.tolist(), strict=True)]

    def _found(self, refs: Refs) -> tuple[Refs, NDArray[np.bool_]]:
        at = np.minimum(np.searchsorted(self.places, refs), max(len(self.places) - 1, 0))
        if not len(self.places):
            return at, np.zeros(len(refs), dtype=np.bool_)
        return at, self.places[at] == refs


class Spaces:
    """The spaces of one version, each put in order when it is first asked."""

    def __init__(self, default: str, vectors: Mapping[str, Mapping[int, Vector]]) -> None:
        self.default = default
        self.names = list(vectors)
        self._vectors = vectors
        self._made: dict[str, SpaceMatrix] = {}

    def of(self, name: str | None) -> SpaceMatrix:
        name = self.default if name is None else name
        if name not in self._vectors:
            raise unknown_space(name, self.names)
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = SpaceMatrix(self._vectors[name])
        return made


class MemorySnapshot:
    """The records of one version; a ref is a record's place among them. Ties are broken by the lower ref."""

    def __init__(
        self,
        version: str,
        content_version: str,
        records: Sequence[Record],
        lexicon: Lexicon,
        config: Mapping[str, Any],
        graph: MemoryGraph,
        spaces: Spaces,
    ) -> None:
        self.version = version
        self.content_version = content_version
        self.lexicon = lexicon
        self._config = config
        self._records = records
        self._graph = graph
        self._spaces = spaces
        numbers: dict[str, int] = {}
        self._artifacts = np.array(
            [numbers.setdefault(record.artifact_id, len(numbers)) for record in records], dtype=np.int64
        )
        self._masks: dict[Where, NDArray[np.bool_]] = {}

    def renamed(self, version: str, content_version: str, graph: MemoryGraph | None) -> MemorySnapshot:
        """The same records as another version; ``graph`` if it was the links that changed."""
        twin = copy.copy(self)
        twin.version, twin.content_version = version, content_version
        twin._graph = graph or self._graph
        return twin

    def __len__(self) -> int:
        return len(self._records)

    @property
    def dim(self) -> int | None:
        """The size of the default space's vectors, ``None`` while there are none."""
        return self._spaces.of(None).dim

    @property
    def default_space(self) -> str:
        return self._spaces.default

    def spaces(self) -> Mapping[str, int | None]:
        """The dimension of each space of vectors."""
        return {name: self._spaces.of(name).dim for name in self._spaces.names}

    def unembedded(self, space: str | None = None) -> int:
        """How many records have no vector in a space."""
        return len(self._records) - len(self._spaces.of(space).places)

    def config(self) -> Mapping[str, Any]:
        """The corpus's settings in this version."""
        return self._config

    def kinds(self) -> frozenset[str]:
        """The surface kinds that some record has."""
        return frozenset(record.surface_kind for record in self._records)

    def dense(self, vector: Vector, limit: int, where: Where, space: str | None = None) -> Ranking:
        """The nearest records by cosine; all that have a vector in the space are candidates."""
        matrix = self._spaces.of(space)
        candidates = matrix.places[self._mask(where)[matrix.places]]
        return _best(candidates, self.dense_scores(vector, candidates, space), limit)

    def lexical(self, terms: Mapping[str, float], limit: int, where: Where) -> Ranking:
        """The best records by BM25 among those that hold a term."""
        scores = self.lexicon.postings.scores(terms).astype(np.float32)
        candidates = np.flatnonzero(self._mask(where) & (scores > 0))
        return _best(candidates, scores[candidates], limit)

    def dense_scores(self, vector: Vector, refs: Refs, space: str | None = None) -> Scores:
        """The cosine of each given record; 0 for one that has no vector in the space, or one of zeros."""
        return self._spaces.of(space).cosines(vector, refs)

    def vectors(self, refs: Refs, space: str | None = None) -> list[Vector | None]:
        """The vector of each given record, of length one; ``None`` where it has none in the space."""
        return self._spaces.of(space).rows(refs)

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

    @cached_property
    def _places(self) -> dict[str, int]:
        return {record.id: place for place, record in enumerate(self._records)}

    def refs_of(self, record_ids: Sequence[str]) -> dict[str, int]:
        return {record_id: self._places[record_id] for record_id in record_ids if record_id in self._places}

    def nodes(self, node_ids: Sequence[str]) -> dict[str, Node]:
        return self._graph.nodes(node_ids)

    def neighbours(
        self,
        node_ids: Sequence[str],
        *,
        types: Collection[str] | None = None,
        direction: Direction = "out",
        limit: int | None = None,
    ) -> list[list[Neighbour]]:
        return self._graph.neighbours(node_ids, types=types, direction=direction, limit=limit)

    def degrees(
        self, node_ids: Sequence[str], *, types: Collection[str] | None = None, direction: Direction = "out"
    ) -> list[int]:
        return self._graph.degrees(node_ids, types=types, direction=direction)

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
