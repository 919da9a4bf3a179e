"""Reading a corpus's database page by page, for those who want all of it but not at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from ir.base import Record
from ir.store.local.faults import parsed
from ir.store.local.tables import records_of

__all__ = ["entry_pages", "record_pages"]

Connecting = Callable[[], AbstractContextManager[sqlite3.Connection]]


def record_pages(connecting: Connecting, size: int) -> Iterator[list[Record]]:
    """Every record in the order of writing; no connection is held between two pages."""
    last = 0
    while True:
        with connecting() as connection:
            numbers = connection.execute(
                "SELECT number FROM records WHERE number > ? ORDER BY number LIMIT ?", (last, size)
            ).fetchall()
            if not numbers:
                return
            page = records_of(connection, "r.number > ? AND r.number <= ? ORDER BY r.number", (last, numbers[-1][0]))
        yield page
        last = numbers[-1][0]


def entry_pages(connecting: Connecting, table: str, size: int) -> Iterator[list[tuple[str, Any]]]:
    """Every key with its value, in the order of keys."""
    last = ""
    query = f"SELECT key, value FROM {table} WHERE key > ? ORDER BY key LIMIT ?"
    with connecting() as connection:
        # The empty key comes before every other, and no key is greater than itself.
        rows = connection.execute(f"SELECT key, value FROM {table} WHERE key = ''").fetchall()
    while True:
        if rows:
            yield [(key, parsed(value)) for key, value in rows]
        with connecting() as connection:
            rows = connection.execute(query, (last, size)).fetchall()
        if not rows:
            return
        last = rows[-1][0]
