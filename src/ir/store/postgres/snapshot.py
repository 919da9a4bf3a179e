"""What a search sees of a corpus in PostgreSQL: one version, for as long as its transaction is open."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.base import Row
from ir.errors import InvalidInput
from ir.links import Direction, Neighbour, Node
from ir.protocols import Ranking, TermStats, Where
from ir.store.checks import fits
from ir.store.postgres import codec, graph
from ir.store.postgres.connections import Connection
from ir.store.postgres.filtered import Passing, Passings
from ir.store.postgres.filters import Condition
from ir.store.postgres.nearest import Written, nearest, similarity
from ir.store.postgres.scoring import Scoring, scoring_for
from ir.store.postgres.state import State
from ir.store.postgres.tables import decoded, numbers_of
from ir.store.vectors import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.protocols import Refs, Scores, Vector

__all__ = ["PostgresSnapshot"]

#: How many more records than needed are ranked when a filter is applied afterwards.
_SLACK = 1.5
_KINDS = """
WITH RECURSIVE step (kind) AS (
    (SELECT kind FROM records ORDER BY kind LIMIT 1)
    UNION ALL
    SELECT (SELECT kind FROM records WHERE kind > step.kind ORDER BY kind LIMIT 1) FROM step WHERE step.kind IS NOT NULL
) SELECT kind FROM step WHERE kind IS NOT NULL
"""


class PostgresSnapshot:
    """A connection whose transaction sees one version."""

    def __init__(self, connection: Connection, state: State, passings: Passings) -> None:
        self._connection = connection
        self._state = state
        self._passings = passings
        self._scoring: Scoring | None = scoring_for(connection, state)
        self._config = state.settings()
        if self._scoring is not None:
            self._config = {**self._scoring.settings(), **self._config}
        self._kinds: frozenset[str] | None = None
        self._artifacts: dict[str, int] = {}
        self._known: dict[int, tuple[int, str]] = {}
        self._written: tuple[Vector, Written] | None = None

    @property
    def version(self) -> str:
        return self._state.name

    @property
    def content_version(self) -> str:
        return self._state.content_version

    @property
    def analyzer_id(self) -> str | None:
        return self._state.analyzer

    @property
    def dim(self) -> int | None:
        return self._state.space().size

    @property
    def default_space(self) -> str:
        return self._state.default_space

    def spaces(self) -> Mapping[str, int | None]:
        return {name: space.size for name, space in self._state.spaces.items()}

    def unembedded(self, space: str | None = None) -> int:
        return self._state.records - self._state.space(space).held

    def __len__(self) -> int:
        return self._state.records

    def config(self) -> Mapping[str, Any]:
        return self._config

    def kinds(self) -> frozenset[str]:
        if self._kinds is None:
            self._kinds = frozenset(codec.unpacked(kind) for (kind,) in self._connection.execute(_KINDS))
        return self._kinds

    # -- dense -------------------------------------------------------------------------------------------------

    def dense(self, vector: Vector, limit: int, where: Where, space: str | None = None) -> Ranking:
        asked = self._state.space(space)
        fits(vector, asked.size)
        if not asked.held or limit < 1:
            return _nothing()
        written = self._as_written(vector)
        passing = self._passings.of(where, self._state, self._connection, asked)
        found = nearest(self._connection, self._state, asked, written, limit, passing)
        if found is None:
            passing = self._passings.anew(where, self._state, self._connection, asked)
            found = nearest(self._connection, self._state, asked, written, limit, passing) or []
        return _ranking(self._noted(found))

    def dense_scores(self, vector: Vector, refs: Refs, space: str | None = None) -> Scores:
        asked = self._state.space(space)
        fits(vector, asked.size)
        if not len(refs) or not asked.held:
            return np.zeros(len(refs), dtype=np.float32)
        score, parameters = similarity(self._state, asked, self._as_written(vector))
        query = f"SELECT number, {score}, artifact_id, kind FROM {asked.with_records} WHERE number = ANY(%s::bigint[])"
        found = dict(self._noted(self._fetch(query, (*parameters, codec.as_array(refs.tolist())))))
        return np.array([found.get(ref, 0.0) for ref in refs.tolist()], dtype=np.float32)

    def vectors(self, refs: Refs, space: str | None = None) -> list[Vector | None]:
        asked = self._state.space(space)
        if not len(refs) or not asked.held:
            return [None] * len(refs)
        query = (
            f"SELECT number, {asked.column} FROM {asked.table} "
            f"WHERE number = ANY(%s::bigint[]) AND {asked.column} IS NOT NULL"
        )
        with self._connection.cursor(binary=True) as cursor:
            cursor.execute(query.encode(), (codec.as_array(refs.tolist()),))
            found = {number: unit_rows(decoded(raw)) for number, raw in cursor}
        return [found.get(ref) for ref in refs.tolist()]

    def _as_written(self, vector: Vector) -> Written:
        if self._written is None or self._written[0] is not vector:
            self._written = (vector, Written(vector))
        return self._written[1]

    def _noted(self, rows: Sequence[tuple[Any, ...]]) -> list[tuple[int, float]]:
        """Numbers and scores; the artifacts and kinds that came with them need not be asked for again."""
        numbers = self._artifacts
        for number, _, artifact, kind in rows:
            self._known[number] = (numbers.setdefault(artifact, len(numbers)), kind)
        return [(number, score) for number, score, _, _ in rows]

    # -- lexical -----------------------------------------------------------------------------------------------

    def lexical(self, terms: Mapping[str, float], limit: int, where: Where) -> Ranking:
        scores = self._scorer().scores(terms) if terms and self._state.records and limit > 0 else None
        if scores is None:
            return _nothing()
        if where.everything:
            return self._ranked(scores.text, scores.parameters, limit)
        passing = self._passing(where)
        if passing.listed is not None:
            text = f"SELECT s.* FROM ({scores.text}) AS s WHERE {passing.listed.test.text}"
            return self._ranked(text, (*scores.parameters, *passing.listed.test.parameters), limit)
        return self._ranked_then_filtered(scores, limit, passing)

    def _ranked_then_filtered(self, scores: Condition, limit: int, passing: Passing) -> Ranking:
        """For filters that most records pass: rank deeper until enough of them do."""
        depth = int(limit * _SLACK * self._state.records / passing.count) + 1
        text = (
            f"SELECT s.* FROM ({scores.text} ORDER BY score DESC, number LIMIT %s) AS s "
            f"JOIN records USING (number) WHERE {passing.condition.text}"
        )
        while True:
            parameters = (*scores.parameters, depth, *passing.condition.parameters)
            found = self._ranked(text, parameters, limit)
            if len(found.refs) >= limit or depth >= self._state.records:
                return found
            depth *= 8

    def _ranked(self, text: str, parameters: tuple[Any, ...], limit: int) -> Ranking:
        query = f"SELECT number, score FROM ({text}) AS r WHERE score > 0 ORDER BY score DESC, number LIMIT %s"
        return _ranking(self._fetch(query, (*parameters, limit)))

    def lexical_scores(self, terms: Mapping[str, float], refs: Refs) -> Scores:
        scores = self._scorer().scores(terms, refs.tolist()) if terms and len(refs) else None
        return np.zeros(len(refs), dtype=np.float32) if scores is None else self._scores(scores, refs)

    def term_stats(self, terms: Sequence[str]) -> TermStats:
        return self._scorer().stats(terms)

    def _scorer(self) -> Scoring:
        if self._scoring is None:
            if not self._state.records:
                return Scoring(self._connection, self._state)
            raise InvalidInput(
                "This corpus is kept without a lexical index.",
                remedy="Search it with mode='dense', or open it with ?lexical=bm25 once.",
            )
        return self._scoring

    # -- rows --------------------------------------------------------------------------------------------------

    def grouping(self, refs: Refs) -> tuple[NDArray[np.int64], Sequence[str]]:
        asked = refs.tolist()
        missing = [ref for ref in asked if ref not in self._known]
        if missing:
            query = "SELECT number, 0, artifact_id, kind FROM records WHERE number = ANY(%s::bigint[])"
            self._noted(self._fetch(query, (codec.as_array(missing),)))
        known = [self._known[ref] for ref in asked]
        return np.array([group for group, _ in known], dtype=np.int64), [codec.unpacked(kind) for _, kind in known]

    def rows(self, refs: Refs) -> list[Row]:
        query = (
            "SELECT number, id, artifact_id, kind, surface_index, text, coalesce(written, metadata::text) FROM records "
            "WHERE number = ANY(%s::bigint[])"
        )
        asked = refs.tolist()
        found = {
            number: Row(
                codec.unpacked(record_id),
                codec.unpacked(artifact),
                codec.unpacked(kind),
                index,
                codec.unpacked(text),
                codec.loads(metadata),
            )
            for number, record_id, artifact, kind, index, text, metadata in self._fetch(query, (codec.as_array(asked),))
        }
        return [found[ref] for ref in asked]

    def refs_of(self, record_ids: Sequence[str]) -> dict[str, int]:
        return numbers_of(self._connection, record_ids)

    # -- nodes and edges ---------------------------------------------------------------------------------------

    def nodes(self, node_ids: Sequence[str]) -> dict[str, Node]:
        return graph.nodes(self._connection, node_ids) if node_ids else {}

    def neighbours(
        self,
        node_ids: Sequence[str],
        *,
        types: Collection[str] | None = None,
        direction: Direction = "out",
        limit: int | None = None,
    ) -> list[list[Neighbour]]:
        return graph.neighbours(self._connection, self._state, node_ids, types, direction, limit)

    def degrees(
        self, node_ids: Sequence[str], *, types: Collection[str] | None = None, direction: Direction = "out"
    ) -> list[int]:
        return graph.degrees(self._connection, self._state, node_ids, types, direction)

    def _passing(self, where: Where) -> Passing:
        return self._passings.of(where, self._state, self._connection)

    def _scores(self, query: Condition, refs: Refs) -> Scores:
        found = dict(self._fetch(query.text, query.parameters))
        return np.array([found.get(ref, 0.0) for ref in refs.tolist()], dtype=np.float32)

    def _fetch(self, query: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        return self._connection.execute(query.encode(), parameters).fetchall()


def _nothing() -> Ranking:
    return Ranking(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))


def _ranking(rows: Sequence[tuple[Any, ...]]) -> Ranking:
    if not rows:
        return _nothing()
    refs, scores = zip(*rows, strict=True)
    return Ranking(np.array(refs, dtype=np.int64), np.array(scores, dtype=np.float32))
