"""The content of a corpus that was written before its sums were kept, added up once."""

from __future__ import annotations

from ir.content import Content, edge_sum, record_sum, vector_sum
from ir.store.checks import MAIN_SPACE
from ir.store.postgres.connections import Connection
from ir.store.postgres.edges import edge_pages
from ir.store.postgres.spaces import MAIN_NUMBER, Space
from ir.store.postgres.tables import read_page

__all__ = ["add_up"]

_BATCH = 5000
#: Records are read without vectors: a space that is empty has none.
_UNREAD = Space(MAIN_SPACE, MAIN_NUMBER + 1)


def add_up(connection: Connection) -> None:
    """Read everything, a batch at a time, and keep its sums. Each record has a vector in the one space there is."""
    content = Content()
    last, records = read_page(connection, 0, _BATCH, _UNREAD)
    while records:
        content.change("records", record_sum(records))
        content.change_vectors(MAIN_SPACE, vector_sum(record.id for record in records))
        last, records = read_page(connection, last, _BATCH, _UNREAD)
    for page in edge_pages(lambda query, *given: connection.execute(query, given).fetchall(), _BATCH):
        for _, edges in page:
            content.change("edges", edge_sum(edges))
    connection.execute("UPDATE state SET content = %s", (content.dumps(),))
