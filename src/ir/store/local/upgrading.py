"""A database of the format before, brought to the present one where it is opened."""

from __future__ import annotations

import sqlite3

from ir.base import Row
from ir.content import Content, edge_sum, record_sum, vector_sum
from ir.links import edges_of_links
from ir.store.checks import MAIN_SPACE
from ir.store.local.faults import parsed
from ir.store.local.schema import GRAPH

__all__ = ["upgrade"]

_BEFORE = 1
_READ = 1024
_STEPS = f"""
ALTER TABLE state ADD COLUMN content TEXT;
ALTER TABLE state ADD COLUMN spaces TEXT;
ALTER TABLE vectors RENAME TO vectors_0;
{GRAPH}
"""


def upgrade(connection: sqlite3.Connection, application: int) -> None:
    """Bring a database of format 1 to format 2, in one transaction; others are left as they are.

    A reader who may not write finds the old format, and says so.
    """
    if not _is_old(connection, application):
        return
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError:
        return  # read-only: the check that follows tells
    try:
        if _is_old(connection, application):  # nobody else did it while we waited
            for step in filter(str.strip, _STEPS.split(";")):
                connection.execute(step)
            content = _sums(connection)
            _move_links(connection, content)
            connection.execute("UPDATE state SET content = ?, seq = seq + 1", (content.dumps(),))
            connection.execute("PRAGMA user_version = 2")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _is_old(connection: sqlite3.Connection, application: int) -> bool:
    (found,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return bool(found == application and version == _BEFORE)


def _sums(connection: sqlite3.Connection) -> Content:
    content = Content()
    cursor = connection.execute(
        "SELECT r.id, a.id, k.name, r.surface_index, r.text, r.metadata FROM records r "
        "JOIN artifacts a ON a.number = r.artifact JOIN kinds k ON k.number = r.kind"
    )
    while rows := cursor.fetchmany(_READ):
        content.change("records", record_sum(Row._make((*row[:5], parsed(row[5]))) for row in rows))
        content.change_vectors(MAIN_SPACE, vector_sum(row[0] for row in rows))
    return content


def _move_links(connection: sqlite3.Connection, content: Content) -> None:
    for key, value in connection.execute("SELECT key, value FROM links ORDER BY key").fetchall():
        edges = edges_of_links(key, parsed(value))
        content.change("edges", edge_sum(edges))
        connection.executemany(
            "INSERT INTO edges VALUES (?, ?, ?, ?, ?, '')",
            [(key, place, edge.type, edge.target, edge.corpus) for place, edge in enumerate(edges)],
        )
    connection.execute("DROP TABLE links")
