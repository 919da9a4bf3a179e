"""Reading a corpus's database page by page, for those who want all of it but not at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from ir.base import Record
from ir.store.local.faults import parsed
from ir.store.local.state import State
from ir.store.local.tables import records_of

__all__ = ["entry_pages", "record_pages", "text_pages"]

Connecting = Callable[[], AbstractContextManager[sqlite3.Connection]]


def record_pages(connecting: Connecting, size: int) -> Iterator[list[Record]]:
    """Every record in the order of writing; no connection is held between two pages."""
    last, condition = 0, "r.number > ? AND r.number <= ? ORDER BY r.number"
    while True:
        with connecting() as connection:
            numbers = connection.execute(
                "SELECT number FROM records WHERE number > ? ORDER BY number LIMIT ?", (last, size)
            ).fetchall()
            if not numbers:
                return
            space = State.read(connection).spaces().of(None)
            page = records_of(connection, space, condition, (last, numbers[-1][0]))
        yield page
        last = numbers[-1][0]


def text_pages(connecting: Connecting, size: int) -> Iterator[list[tuple[str, str, Callable[[], Any]]]]:
    """The artifact, the text and, on demand, the metadata of every record, in the same order; no vector is read."""
    last = 0
    query = (
        "SELECT r.number, a.id, r.text, r.metadata FROM records r JOIN artifacts a ON a.number = r.artifact "
        "WHERE r.number > ? ORDER BY r.number LIMIT ?"
    )
    while True:
        with connecting() as connection:
            rows = connection.execute(query, (last, size)).fetchall()
        if not rows:
            return
        yield [(artifact_id, text, partial(parsed, metadata)) for _, artifact_id, text, metadata in rows]
        last = rows[-1][0]


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
