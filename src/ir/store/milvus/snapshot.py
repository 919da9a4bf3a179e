"""What a search sees of a corpus in Milvus: the work is done there, what it cannot do exactly is done here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.base import Row
from ir.links import Direction, Neighbour, Node
from ir.protocols import Ranking, TermStats, Where
from ir.store.checks import fits
from ir.store.milvus.state import Space
from ir.store.milvus.view import View
from ir.store.vectors import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.protocols import Refs, Scores, Vector

__all__ = ["MilvusSnapshot"]

#: Milvus returns no more than this from one search.
_MOST = 16_384
_ABOUT = ("artifact", "kind")


class MilvusSnapshot:
    """A version, held: later writers leave its rows where they are for a while."""

    def __init__(self, view: View) -> None:
        self._view = view

    @property
    def version(self) -> str:
        return str(self._view.state.version)

    @property
    def analyzer_id(self) -> str:
        return self._view.state.analyzer

    @property
    def content_version(self) -> str:
        return self._view.content_version

    @property
    def dim(self) -> int | None:
        return self._view.state.dimension(self.default_space)

    @property
    def default_space(self) -> str:
        return self._view.state.default_space

    def spaces(self) -> Mapping[str, int | None]:
        return {name: self._view.state.dimension(name) for name in self._view.state.spaces}

    def unembedded(self, space: str | None = None) -> int:
        return len(self) - self._view.state.space(space)["count"]

    def __len__(self) -> int:
        return self._view.state.records

    def config(self) -> Mapping[str, Any]:
        return self._view.config

    def kinds(self) -> frozenset[str]:
        return frozenset(name for name, (_, count) in self._view.state.kinds.items() if count)

    # -- dense -------------------------------------------------------------------------------------------------

    def dense(self, vector: Vector, limit: int, where: Where, space: str | None = None) -> Ranking:
        held = self._view.state.space(space)
        if not held["count"] or limit < 1:
            return _ranking([], limit)
        fits(vector, held["dim"])
        query = self._padded(vector)
        found: dict[int, float] = {}
        with self._view.reading():
            for expr in self._pieces(where, limit):
                found.update(self._nearest(held, query, limit, expr))
        return _ranking(list(found.items()), limit)

    def _nearest(self, space: Space, query: Vector, limit: int, expr: str) -> dict[int, float]:
        """At least the best ``limit`` records that an expression lets through."""
        table, depth = space["table"], min(limit + 8, _MOST)
        while True:
            hits = self._search(table, "dense", query, depth, expr, ())
            if len(hits) < min(depth, space["count"]) and self._view.collections.search_params:
                # Too few may only mean that an approximate index did not look everywhere.
                hits = self._search(table, "dense", query, depth, expr, (), thorough=True)
            scores = {int(hit["id"]): float(hit["distance"]) for hit in hits}
            # Equal scores at the end may go on behind it: only all of them can be put in an order.
            if len(hits) < depth or depth == _MOST or _nth(scores, limit) > min(scores.values()):
                return scores
            depth = min(depth * 4, _MOST)

    def dense_scores(self, vector: Vector, refs: Refs, space: str | None = None) -> Scores:
        held = self._view.state.space(space)
        scores: Scores = np.zeros(len(refs), dtype=np.float32)
        if not held["count"] or not len(refs):
            return scores
        fits(vector, held["dim"])
        # A handful of vectors is exact and quicker to fetch than to rank through an index.
        found = self._unit_vectors(refs, held)
        there = [at for at, one in enumerate(found) if one is not None]
        if there:
            matrix = np.array([found[at] for at in there], dtype=np.float32)
            scores[there] = np.einsum("ij,j->i", matrix, unit_rows(np.asarray(vector, dtype=np.float32)))
        return scores

    def vectors(self, refs: Refs, space: str | None = None) -> list[Vector | None]:
        return self._unit_vectors(refs, self._view.state.space(space))

    def _unit_vectors(self, refs: Refs, space: Space) -> list[Vector | None]:
        with self._view.reading():
            found = self._view.vectors(space, refs)
        # As kept they are scaled by powers of two, which no direction depends on.
        return [unit_rows(found[ref]) if ref in found else None for ref in refs.tolist()]

    # -- lexical -----------------------------------------------------------------------------------------------

    def lexical(self, terms: Mapping[str, float], limit: int, where: Where) -> Ranking:
        found: dict[int, float] = {}
        with self._view.reading():
            weights = self._view.weights(terms) if len(self) and limit > 0 else {}
            for expr in self._pieces(where, limit) if weights else ():
                found.update(self._best_by_words(weights, limit, expr))
        return _ranking([(ref, score) for ref, score in found.items() if score > 0], limit)

    def _best_by_words(self, weights: Mapping[int, float], limit: int, expr: str) -> dict[int, float]:
        """At least the best ``limit`` records, scored exactly.

        Milvus ranks by weights that were made with an average length of long ago (the pivot). A true score is at
        most ``stretch`` times the one it ranks by, so the search is deep enough once the last record found, so
        stretched, falls behind the one at ``limit``.
        """
        stretch = max(1.0, self._view.state.average / self._view.state.pivot)
        depth = min(limit * 2 + 8, _MOST)
        while True:
            hits = self._search(self._view.collection, "sparse", dict(weights), depth, expr, ("sparse", "length"))
            rows = [hit["entity"] for hit in hits]
            scores = self._view.bm25(weights, rows)
            found = {int(hit["id"]): float(score) for hit, score in zip(hits, scores, strict=True)}
            if len(hits) < depth or depth == _MOST:
                return found
            behind = min(float(hit["distance"]) for hit in hits) * stretch * (1 + 1e-5)
            if _nth(found, limit) > behind:
                return found
            depth = min(depth * 4, _MOST)

    def lexical_scores(self, terms: Mapping[str, float], refs: Refs) -> Scores:
        with self._view.reading():
            weights = self._view.weights(terms) if len(self) and len(refs) else {}
            if not weights:
                return np.zeros(len(refs), dtype=np.float32)
            return self._view.bm25(weights, self._view.fetch(refs, ["sparse", "length"]))

    def term_stats(self, terms: Sequence[str]) -> TermStats:
        state = self._view.state
        with self._view.reading():
            frequencies = self._view.frequencies(list(terms)) if state.records else dict.fromkeys(terms, 0)
        return TermStats(state.records, state.average, frequencies)

    # -- rows --------------------------------------------------------------------------------------------------

    def grouping(self, refs: Refs) -> tuple[NDArray[np.int64], Sequence[str]]:
        return self._view.grouping(refs) if len(refs) else (np.empty(0, dtype=np.int64), [])

    def rows(self, refs: Refs) -> list[Row]:
        return self._view.rows(refs) if len(refs) else []

    def refs_of(self, record_ids: Sequence[str]) -> dict[str, int]:
        with self._view.reading():
            return self._view.refs_of(record_ids) if len(self) and record_ids else {}

    # -- nodes and edges ---------------------------------------------------------------------------------------

    def nodes(self, node_ids: Sequence[str]) -> dict[str, Node]:
        with self._view.reading():
            return self._view.graph.nodes(node_ids)

    def neighbours(
        self,
        node_ids: Sequence[str],
        *,
        types: Collection[str] | None = None,
        direction: Direction = "out",
        limit: int | None = None,
    ) -> list[list[Neighbour]]:
        with self._view.reading():
            return self._view.graph.neighbours(node_ids, types=types, direction=direction, limit=limit)

    def degrees(
        self, node_ids: Sequence[str], *, types: Collection[str] | None = None, direction: Direction = "out"
    ) -> list[int]:
        with self._view.reading():
            return self._view.graph.degrees(node_ids, types=types, direction=direction)

    # -- asking Milvus -----------------------------------------------------------------------------------------

    def _pieces(self, where: Where, limit: int) -> list[str]:
        """Expressions to search one by one; more results than one search gives come from ranges of refs."""
        expressions = self._view.passing(where)
        if limit <= _MOST - 8:
            return expressions
        starts = range(0, self._view.state.next_ref, _MOST)
        return [f"ref >= {start} and ref < {start + _MOST} and {expr}" for expr in expressions for start in starts]

    def _search(
        self,
        collection: str,
        field: str,
        query: Any,
        limit: int,
        expr: str,
        fields: Sequence[str],
        *,
        thorough: bool = False,
    ) -> list[Any]:
        view = self._view
        params: dict[str, Any] = {"metric_type": "IP" if field == "sparse" else "COSINE"}
        if field == "dense":
            params["params"] = view.collections.looking(limit, thorough=thorough)
        hits = view.connection.search(collection, field, query, limit, expr, (*_ABOUT, *fields), **params)
        for hit in hits:
            view.note(int(hit["id"]), hit["entity"]["artifact"], int(hit["entity"]["kind"]))
        return hits

    def _padded(self, vector: Vector) -> Vector:
        padded = np.zeros(max(len(vector), 2), dtype=np.float32)
        padded[: len(vector)] = vector
        return padded


def _nth(scores: Mapping[int, float], limit: int) -> float:
    ranked = sorted(scores.values(), reverse=True)
    return ranked[limit - 1] if len(ranked) >= limit else float("-inf")


def _ranking(found: Sequence[tuple[int, float]], limit: int) -> Ranking:
    """Best first; equal scores in the order in which the records were written."""
    refs = np.array([ref for ref, _ in found], dtype=np.int64)
    scores = np.array([score for _, score in found], dtype=np.float32)
    order = np.lexsort((refs, -scores))[: max(limit, 0)]
    return Ranking(refs[order], scores[order])
