"""Near vectors: an index where there are many records, comparison one by one where few are left to compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ir.store.postgres.connections import EF_SEARCH, Connection
from ir.store.postgres.passing import Passing
from ir.store.postgres.state import State

if TYPE_CHECKING:
    from ir.protocols import Vector

__all__ = ["INDEXED_FROM", "make_index", "nearest", "remove_old_indexes", "similarity"]

#: From this many records on an index is made.
INDEXED_FROM = 10_000
_MOST_INDEXED = {"vector": 2000, "halfvec": 4000}
_DEEPEST = 1000
_INDEX = "records_near_{dim}"


def nearest(
    connection: Connection, state: State, vector: Vector, limit: int, passing: Passing
) -> list[tuple[Any, ...]]:
    """Numbers and cosines of the nearest records that pass, best first."""
    if state.near == state.dim and not passing.selective and vector.any():
        found = _by_index(connection, state, vector, limit, passing)
        # The index knows no vectors of zeros, whose cosine is 0, and gives up after some thousand candidates.
        if len(found) == limit and found[-1][1] >= 0:
            return found
    score, parameters = similarity(state, vector)
    query = (
        f"SELECT number, {score} AS score FROM records WHERE {passing.condition.text} "
        "ORDER BY score DESC, number LIMIT %s"
    )
    return connection.execute(query.encode(), (*parameters, *passing.condition.parameters, limit)).fetchall()


def similarity(state: State, vector: Vector) -> tuple[str, tuple[Any, ...]]:
    """The expression of the cosine with ``vector``; 0 for a vector of zeros, of which the server says NaN."""
    text = f"coalesce(nullif(1 - (vector <=> %s::{state.vector_type}), 'NaN'), 0)"
    return text, (_written(vector),)


def _by_index(
    connection: Connection, state: State, vector: Vector, limit: int, passing: Passing
) -> list[tuple[Any, ...]]:
    kind = f"{state.vector_type}({state.dim})"
    distance = f"(vector::{kind}) <=> %s::{kind}"
    query = (
        f"SELECT number, 1 - ({distance}) FROM records WHERE vector_dims(vector) = {state.dim} "
        f"AND ({passing.condition.text}) ORDER BY {distance} LIMIT %s"
    )
    written = _written(vector)
    deeper = min(limit + limit // 2, _DEEPEST)
    if deeper > EF_SEARCH:
        connection.execute("SELECT set_config('hnsw.ef_search', %s, true)", (str(deeper),))
    rows = connection.execute(query.encode(), (written, *passing.condition.parameters, written, limit)).fetchall()
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
        f"WHERE vector_dims(vector) = {state.dim}"
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


def _written(vector: Vector) -> str:
    return "[" + ",".join(map(repr, np.asarray(vector, dtype=np.float32).tolist())) + "]"
