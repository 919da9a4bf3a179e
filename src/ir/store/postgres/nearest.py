"""Near vectors: an index where there are many of them, comparison one by one where few are left to compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ir.store.postgres.connections import EF_SEARCH, Connection
from ir.store.postgres.filtered import EVERYTHING, Listed, Passing, file_of
from ir.store.postgres.spaces import Space
from ir.store.postgres.state import State
from ir.store.postgres.tables import written_vector

if TYPE_CHECKING:
    from ir.protocols import Vector

__all__ = ["INDEXED_FROM", "Written", "make_index", "nearest", "remove_old_indexes", "similarity"]

#: From this many vectors on an index is made.
INDEXED_FROM = 10_000
_MOST_INDEXED = {"vector": 2000, "halfvec": 4000}
_DEEPEST = 1000
#: How many candidates are weighed for the neighbours of each vector. Twice the server's own default takes half as long
#: again to build and finds 98 of 100 true neighbours instead of 97, on every search.
_CARE = 128
_OLD_INDEXES = """
SELECT indexname FROM pg_indexes
WHERE schemaname = current_schema() AND indexname ~ '^(records|vectors_[0-9]+)_near_' AND indexname <> ALL(%s)
"""


class Written:
    """A query's vector as the server reads it, written once for all that is asked with it."""

    def __init__(self, vector: Vector) -> None:
        self.text = written_vector(vector)
        self.some = bool(vector.any())


def nearest(
    connection: Connection, state: State, space: Space, vector: Written, limit: int, passing: Passing
) -> list[tuple[Any, ...]] | None:
    """Number, cosine, artifact and kind of the nearest records that pass, best first.

    ``None`` if the table was written anew, so that the places of the records that pass are not what they were.
    """
    if space.near == space.dim and not passing.selective and vector.some:
        found = _by_index(connection, state, space, vector, limit, passing)
        # The index knows no vectors of zeros, whose cosine is 0, and gives up after some thousand candidates.
        if len(found) == limit and found[-1][1] >= 0:
            return found
    if passing.listed is not None:
        return _by_place(connection, state, space, vector, limit, passing.listed)
    score, parameters = similarity(state, space, vector)
    query = _best(space, score, passing.condition.text, "score DESC, number")
    return connection.execute(query.encode(), (*parameters, *passing.condition.parameters, limit)).fetchall()


def _best(space: Space, score: str, condition: str, order: str, *, more: str = "", alone: bool = False) -> str:
    """The query for the first of the vectors that fulfil a condition, with what is known of their records.

    ``alone`` if the condition can be decided without the records: they are then looked up for the best alone.
    """
    if space.is_main:
        found = f"SELECT number, {score} AS score, artifact_id, kind {more} FROM records"
        return f"{found} WHERE {condition} ORDER BY {order} LIMIT %s"
    source = space.table if alone or condition == EVERYTHING.text else space.with_records
    return (
        f"SELECT number, score, artifact_id, kind {more and ', more'} FROM ("
        f"SELECT number, {score} AS score {more and more + ' AS more'} FROM {source} WHERE {condition} "
        f"ORDER BY {order} LIMIT %s) AS best JOIN records USING (number) ORDER BY score DESC, number"
    )


def _by_place(
    connection: Connection, state: State, space: Space, vector: Written, limit: int, listed: Listed
) -> list[tuple[Any, ...]] | None:
    """Compare rows that are gone to directly, in the order in which they lie."""
    score, parameters = similarity(state, space, vector)
    # As a subquery, thousands of places are not weighed one by one by the planner.
    condition = "ctid = ANY((SELECT %s::tid[])::tid[])"
    query = _best(space, score, condition, "score DESC, number", more=f", {file_of(space.table)}", alone=True)
    rows = connection.execute(query.encode(), (*parameters, listed.places, limit)).fetchall()
    if len(rows) < min(limit, listed.count) or (rows and rows[0][4] != listed.file):
        return None
    return [row[:4] for row in rows]


def similarity(state: State, space: Space, vector: Written) -> tuple[str, tuple[Any, ...]]:
    """The expression of the cosine with ``vector``; 0 for a vector of zeros, of which the server says NaN."""
    text = f"coalesce(nullif(1 - ({space.column} <=> %s::{state.vector_type}), 'NaN'), 0)"
    return text, (vector.text,)


def _by_index(
    connection: Connection, state: State, space: Space, vector: Written, limit: int, passing: Passing
) -> list[tuple[Any, ...]]:
    kind = f"{state.vector_type}({space.dim})"
    distance = f"({space.column}::{kind}) <=> %s::{kind}"
    condition = f"vector_dims({space.column}) = {space.dim} AND ({passing.condition.text})"
    query = _best(space, f"1 - ({distance})", condition, distance, alone=passing.condition == EVERYTHING)
    deeper = min(limit + limit // 2, _DEEPEST)
    if deeper > EF_SEARCH:
        connection.execute("SELECT set_config('hnsw.ef_search', %s, true)", (str(deeper),))
    parameters = (vector.text, *passing.condition.parameters, vector.text, limit)
    rows = connection.execute(query.encode(), parameters).fetchall()
    return sorted(rows, key=lambda row: (-row[1], row[0]))


def make_index(connection: Connection, state: State, space: Space) -> bool:
    """Make the index for the present dimension, if the space has grown to need one; whether it was made."""
    if space.dim is None or space.near == space.dim or space.held < INDEXED_FROM:
        return False
    if space.dim > _MOST_INDEXED[state.vector_type]:
        return False
    # The condition lets vectors of another size into the table while the index is still there.
    statement = (
        f"CREATE INDEX IF NOT EXISTS {space.index(space.dim)} ON {space.table} "
        f"USING hnsw (({space.column}::{state.vector_type}({space.dim})) {state.vector_type}_cosine_ops) "
        f"WITH (ef_construction = {_CARE}) WHERE vector_dims({space.column}) = {space.dim}"
    )
    connection.execute("SET LOCAL statement_timeout = 0")
    connection.execute("SET LOCAL maintenance_work_mem = '512MB'")
    _remove_unfinished(connection, space.index(space.dim))
    connection.execute(statement.encode())
    space.near = space.dim
    return True


def _remove_unfinished(connection: Connection, index: str) -> None:
    """An index whose removal was interrupted is there by name alone."""
    query = "SELECT FROM pg_index WHERE indexrelid = to_regclass(%s) AND NOT indisvalid"
    if connection.execute(query, (index,)).fetchone() is not None:
        connection.execute(f"DROP INDEX {index}".encode())


def remove_old_indexes(connection: Connection, state: State) -> None:
    """Drop the indexes of dimensions that spaces had before; outside a transaction."""
    kept = [space.index(space.near) for space in state.spaces.values() if space.near is not None]
    for (name,) in connection.execute(_OLD_INDEXES, (kept,)).fetchall():
        connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}".encode())
