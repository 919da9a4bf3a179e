"""Near vectors: an index where there are many records, comparison one by one where few are left to compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ir.store.postgres.connections import EF_SEARCH, Connection
from ir.store.postgres.passing import FILE, Listed, Passing
from ir.store.postgres.state import State

if TYPE_CHECKING:
    from ir.protocols import Vector

__all__ = ["INDEXED_FROM", "Written", "make_index", "nearest", "remove_old_indexes", "similarity"]

#: From this many records on an index is made.
INDEXED_FROM = 10_000
_MOST_INDEXED = {"vector": 2000, "halfvec": 4000}
_DEEPEST = 1000
_INDEX = "records_near_{dim}"
#: How many candidates are weighed for the neighbours of each vector. Twice the server's own default takes half as long
#: again to build and finds 98 of 100 true neighbours instead of 97, on every search.
_CARE = 128


class Written:
    """A query's vector as the server reads it, written once for all that is asked with it."""

    def __init__(self, vector: Vector) -> None:
        self.text = "[" + ",".join(map(repr, np.asarray(vector, dtype=np.float32).tolist())) + "]"
        self.some = bool(vector.any())


def nearest(
    connection: Connection, state: State, vector: Written, limit: int, passing: Passing
) -> list[tuple[Any, ...]] | None:
    """Number, cosine, artifact and kind of the nearest records that pass, best first.

    ``None`` if the table was written anew, so that the places of the records that pass are not what they were.
    """
    if state.near == state.dim and not passing.selective and vector.some:
        found = _by_index(connection, state, vector, limit, passing)
        # The index knows no vectors of zeros, whose cosine is 0, and gives up after some thousand candidates.
        if len(found) == limit and found[-1][1] >= 0:
            return found
    if passing.listed is not None:
        return _by_place(connection, state, vector, limit, passing.listed)
    score, parameters = similarity(state, vector)
    query = (
        f"SELECT number, {score} AS score, artifact_id, kind FROM records WHERE {passing.condition.text} "
        "ORDER BY score DESC, number LIMIT %s"
    )
    return connection.execute(query.encode(), (*parameters, *passing.condition.parameters, limit)).fetchall()


def _by_place(
    connection: Connection, state: State, vector: Written, limit: int, listed: Listed
) -> list[tuple[Any, ...]] | None:
    """Compare rows that are gone to directly, in the order in which they lie."""
    score, parameters = similarity(state, vector)
    # As a subquery, thousands of places are not weighed one by one by the planner.
    query = (
        f"SELECT number, {score} AS score, artifact_id, kind, {FILE} FROM records "
        "WHERE ctid = ANY((SELECT %s::tid[])::tid[]) ORDER BY score DESC, number LIMIT %s"
    )
    rows = connection.execute(query.encode(), (*parameters, listed.places, limit)).fetchall()
    if len(rows) < min(limit, listed.count) or (rows and rows[0][4] != listed.file):
        return None
    return [row[:4] for row in rows]


def similarity(state: State, vector: Written) -> tuple[str, tuple[Any, ...]]:
    """The expression of the cosine with ``vector``; 0 for a vector of zeros, of which the server says NaN."""
    text = f"coalesce(nullif(1 - (vector <=> %s::{state.vector_type}), 'NaN'), 0)"
    return text, (vector.text,)


def _by_index(
    connection: Connection, state: State, vector: Written, limit: int, passing: Passing
) -> list[tuple[Any, ...]]:
    kind = f"{state.vector_type}({state.dim})"
    distance = f"(vector::{kind}) <=> %s::{kind}"
    query = (
        f"SELECT number, 1 - ({distance}), artifact_id, kind FROM records WHERE vector_dims(vector) = {state.dim} "
        f"AND ({passing.condition.text}) ORDER BY {distance} LIMIT %s"
    )
    deeper = min(limit + limit // 2, _DEEPEST)
    if deeper > EF_SEARCH:
        connection.execute("SELECT set_config('hnsw.ef_search', %s, true)", (str(deeper),))
    parameters = (vector.text, *passing.condition.parameters, vector.text, limit)
    rows = connection.execute(query.encode(), parameters).fetchall()
    return sorted(rows, key=lambda row: (-row[1], row[0]))


def make_index(connection: Connection, state: State) -> None:
    """Make the index for the present dimension, if the corpus has grown to need one."""
    if state.dim is None or state.near == state.dim or state.records < INDEXED_FROM:
        return
    if state.dim > _MOST_INDEXED[state.vector_type]:
        return
    # The condition lets vectors of another size into the table while the index is still there.
    statement = (
        f"CREATE INDEX IF NOT EXISTS {_INDEX.format(dim=state.dim)} ON records "
        f"USING hnsw ((vector::{state.vector_type}({state.dim})) {state.vector_type}_cosine_ops) "
        f"WITH (ef_construction = {_CARE}) WHERE vector_dims(vector) = {state.dim}"
    )
    connection.execute("SET LOCAL statement_timeout = 0")
    connection.execute("SET LOCAL maintenance_work_mem = '512MB'")
    connection.execute(statement.encode())
    state.near = state.dim


def remove_old_indexes(connection: Connection, state: State) -> None:
    """Drop the indexes of dimensions that the corpus had before; outside a transaction."""
    query = (
        "SELECT indexname FROM pg_indexes WHERE schemaname = current_schema() "
        "AND indexname LIKE 'records_near_%%' AND indexname <> %s"
    )
    for (name,) in connection.execute(query, (_INDEX.format(dim=state.near),)).fetchall():
        connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}".encode())
