"""Rows that are born in one version and die in another, and what is done about those that nobody will see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ir.store.milvus.connection import Connection
from ir.store.milvus.rows import STORED_FIELDS, VECTOR_FIELDS
from ir.store.milvus.schema import ALIVE, Collections
from ir.store.milvus.state import State

__all__ = ["EDGE_FIELDS", "ENTRY_FIELDS", "end_rows", "recover", "sweep"]

ENTRY_FIELDS = ("mark", "born", "died", "view", "key", "page", "value", "none")
EDGE_FIELDS = (
    *("mark", "born", "died", "into", "kind", "elsewhere", "place", "pages"),
    *("source", "type", "target", "body", "none"),
)


def end_rows(connection: Connection, collection: str, rows: Sequence[dict[str, Any]], version: int) -> None:
    """Let whole rows die with ``version``; those born in it go at once, for nobody has seen them."""
    connection.delete_refs(collection, [int(row["ref"]) for row in rows if row["born"] == version])
    connection.upsert(collection, [_dying(row, version) for row in rows if row["born"] != version])


def recover(connection: Connection, collections: Collections, state: State) -> None:
    """Undo what a writer left that did not get to its commit: nothing of it was ever seen."""
    for collection, fields in _versioned(collections, state):
        connection.delete(collection, f"born > {state.version}")
        rows = connection.query(collection, f"died > {state.version} and died < {ALIVE}", ["ref", *fields])
        if rows:
            connection.upsert(collection, [_dying(row, ALIVE) for row in rows])
    for collection in collections.spaces_there():
        if collection not in state.tables:
            connection.drop(collection)


def sweep(connection: Connection, collections: Collections, state: State, horizon: int) -> None:
    """Remove what no version after ``horizon`` shows: rows, and the collections of spaces that were dropped."""
    given_up = [table for table, died in state.tables.items() if 0 < died <= horizon]
    for table in given_up:
        del state.tables[table]
    for collection, _ in _versioned(collections, state):
        connection.delete(collection, f"died <= {horizon}")
    state.swept = horizon
    # First the state, then the collections: what is left by one who dies in between is not in the way of anybody.
    state.write(connection, collections.state)
    for table in given_up:
        connection.drop(table)


def _dying(row: dict[str, Any], version: int) -> dict[str, Any]:
    dying = {**row, "died": version}
    if "dense" in row:
        dying["dense"] = np.asarray(row["dense"], dtype=np.float32)
    return dying


def _versioned(collections: Collections, state: State) -> Iterator[tuple[str, Sequence[str]]]:
    yield collections.entries, ENTRY_FIELDS
    yield collections.records, STORED_FIELDS
    yield collections.edges, EDGE_FIELDS
    for table in state.tables:
        yield table, VECTOR_FIELDS
