"""PostgreSQL's own text search: ``to_tsvector('english', …)`` in a GIN index, ranked by ``ts_rank_cd``.

The records lie in a store of ours without postings; the column that is searched is one more of their table, which the
server fills by itself. Any of the words may be there, as with the other engines; a question is never in a text word by
word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from psycopg.errors import QueryCanceled, UndefinedColumn, UndefinedTable

from ir.base import Record
from ir.config.workspace import current_workspace
from ir.keyword.faults import TIMEOUT_S, answered_within, silent, told_as_fault, unknown_collection
from ir.keyword.stored import StoredKeywords, words_of
from ir.keywords import KeywordRequest, KeywordResult, ranked
from ir.protocols import Store
from ir.store.opening import for_corpus
from ir.store.postgres import PostgresStore
from ir.store.postgres.address import Address
from ir.store.postgres.codec import packed, unpacked
from ir.store.postgres.connections import Connection, Connections

__all__ = ["TsvectorKeywords"]

#: A ``tsvector`` has room for a megabyte; what follows in a longer text is not found by this engine.
_MOST_CHARS = 200_000
_BETWEEN = re.compile(r"[^\w]+")
_COLUMN = f"""
ALTER TABLE records ADD COLUMN IF NOT EXISTS english tsvector
    GENERATED ALWAYS AS (to_tsvector('english', left(text, {_MOST_CHARS}))) STORED;
CREATE INDEX IF NOT EXISTS records_english ON records USING gin (english);
"""
_QUERY = """
SELECT id, ts_rank_cd(english, q)::float8 AS score
FROM records, (SELECT replace(plainto_tsquery('english', %s)::text, ' & ', ' | ')::tsquery AS q) AS asked
WHERE english @@ q{filters}
ORDER BY score DESC, id COLLATE "C" LIMIT %s
"""


class TsvectorKeywords(StoredKeywords):
    """Asks PostgreSQL's text search; a call is given up after 30 seconds unless told otherwise."""

    def __init__(self, url: str, *, name: str = "postgres-tsvector") -> None:
        super().__init__(url, name=name)
        self._connections: dict[tuple[str, str], Connections] = {}

    def search(self, request: KeywordRequest, *, timeout_s: float | None = None) -> list[KeywordResult]:
        if not request.top_k:
            return []
        limit_s = TIMEOUT_S if timeout_s is None else timeout_s
        return answered_within(limit_s, self.name, lambda: self._found(request, limit_s))

    def _found(self, request: KeywordRequest, limit_s: float) -> list[KeywordResult]:
        tests, values = _filters(request.filters)
        query = _QUERY.format(filters=tests).encode()
        with told_as_fault(self.name), self._connection(request.collection) as connection:
            try:
                with connection.transaction():
                    limit_ms = str(max(int(limit_s * 1e3), 1))
                    connection.execute("SELECT set_config('statement_timeout', %s, true)", (limit_ms,))
                    found = connection.execute(query, (_words(request.query), *values, request.top_k)).fetchall()
            except QueryCanceled:
                raise silent(self.name, limit_s) from None
            except (UndefinedTable, UndefinedColumn):
                raise unknown_collection(
                    self.name, request.collection, f"Send it there with: ir keyword sync {request.collection}"
                ) from None
        return ranked(((unpacked(name), score) for name, score in found), request.top_k)

    def apply(
        self,
        collection: str,
        records: Sequence[Record],
        gone: Sequence[str],
        *,
        mark: str,
        settings: Mapping[str, Any],
    ) -> None:
        super().apply(collection, records, gone, mark=mark, settings=settings)
        with told_as_fault(self.name), self._connection(collection) as connection:
            there = "SELECT to_regclass(format('%%I.records_english', %s::text)) IS NOT NULL"
            row = connection.execute(there, (self._address(collection).schema,)).fetchone()
            if row is None or not row[0]:
                with connection.transaction():
                    connection.execute("SET LOCAL statement_timeout = 0")
                    connection.execute(_COLUMN.encode())

    def close(self) -> None:
        super().close()
        with self._lock:
            held, self._connections = list(self._connections.values()), {}
        for connections in held:
            connections.close()

    def _opened(self, collection: str) -> Store:
        return PostgresStore(self._address(collection))

    def _address(self, collection: str) -> Address:
        url = for_corpus(self._url, f"{words_of(collection)}.tsvector")
        return Address.parse(f"{url}&lexical=none")

    @contextmanager
    def _connection(self, collection: str) -> Iterator[Connection]:
        key = (current_workspace(), collection)
        with self._lock:
            if key not in self._connections:
                self._connections[key] = Connections(self._address(collection))
            connections = self._connections[key]
        with connections.lend() as connection:
            yield connection


def _words(query: str) -> str:
    """The query, and once more without what stands between words: the server takes ``tea/cup`` for one word, a path."""
    return packed(f"{query} {_BETWEEN.sub(' ', query)}")


def _filters(filters: Mapping[str, str]) -> tuple[str, list[str]]:
    """Every field has the value, or a list with it; a path with dots leads into mappings or is the name of a field."""
    tests, values = "", []
    for path, value in filters.items():
        steps = path.split(".")
        shapes = [_nested(steps, value), _nested(steps, [value])]
        if len(steps) > 1:
            shapes += [{path: value}, {path: [value]}]
        tests += f" AND ({' OR '.join(['metadata @> %s::jsonb'] * len(shapes))})"
        values += [packed(json.dumps(shape, ensure_ascii=False)) for shape in shapes]
    return tests, values


def _nested(steps: Sequence[str], value: Any) -> Any:
    for step in reversed(steps):
        value = {step: value}
    return value
