"""What makes later searches faster, or gives room back, but is no part of a transaction."""

from __future__ import annotations

from contextlib import suppress

from psycopg import errors

from ir.store.postgres.address import Address
from ir.store.postgres.connections import Connection
from ir.store.postgres.nearest import remove_old_indexes
from ir.store.postgres.state import State
from ir.store.postgres.writing import Writing

__all__ = ["tidy"]

#: How long a removal waits for those who still read: one of them may be whoever waits.
_PATIENCE = "2s"
_OLD_TABLES = """
SELECT tablename FROM pg_tables
WHERE schemaname = current_schema() AND tablename ~ '^vectors_[0-9]+$' AND tablename <> ALL(%s)
"""


def tidy(connection: Connection, address: Address) -> None:
    """Remove what nothing refers to any more, and let the server look at its tables; what cannot be done now, later.

    The settings of the connection are not what they were.
    """
    connection.execute(f"SET statement_timeout = 0; SET lock_timeout = '{_PATIENCE}'".encode())
    with suppress(errors.LockNotAvailable):
        _remove_tables(connection, address)
    with suppress(errors.LockNotAvailable):
        remove_old_indexes(connection, State.read(connection))
    with suppress(errors.LockNotAvailable):
        # A corpus that came in many small writes is first looked at as a whole when it gets its index.
        connection.execute("VACUUM (ANALYZE) records, postings, documents, terms, nodes, edges")


def _remove_tables(connection: Connection, address: Address) -> None:
    """Drop the tables of spaces that are gone, unless somebody writes now, who may just have made them."""
    with connection.transaction():
        if Writing.lock(connection, address):
            kept = [space.table for space in State.read(connection).spaces.values()]
            for (table,) in connection.execute(_OLD_TABLES, (kept,)).fetchall():
                connection.execute(f"DROP TABLE IF EXISTS {table}".encode())
