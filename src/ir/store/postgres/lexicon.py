"""Keeping the lexical index of a corpus in step with its records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ir.analysis import Analyzer, document_terms
from ir.store.bm25 import rounded_lengths
from ir.store.postgres import codec
from ir.store.postgres.connections import Connection
from ir.store.postgres.copying import big, copy_rows, copy_table, integers, lexemes
from ir.store.postgres.state import State

__all__ = ["clear_lexical", "forget_records", "index_records"]

#: So many records are analysed at a time; their postings are sorted together, which the index likes.
_BATCH = 10_000
_TERMS = 20_000


def clear_lexical(connection: Connection, state: State) -> None:
    """Empty the lexical index; readers keep the old one until the transaction ends."""
    connection.execute("SET LOCAL statement_timeout = 0")
    for table in ("postings", "documents", "terms"):
        connection.execute(f"DELETE FROM {table}".encode())
    state.words = state.indexed = 0


def forget_records(connection: Connection, state: State, numbers: Sequence[int]) -> None:
    """Take records out of the lexical index."""
    known = [number for number in numbers if number <= state.indexed]
    if not known or state.lexical == "none":
        return
    gone = Counter[int]()
    for length, terms in connection.execute("SELECT length, terms FROM documents WHERE number = ANY(%s)", (known,)):
        state.words -= length
        gone.update(terms)
    connection.execute(
        "DELETE FROM postings USING (SELECT number, unnest(terms) AS term FROM documents WHERE number = ANY(%s)) d "
        "WHERE postings.term = d.term AND postings.number = d.number",
        (known,),
    )
    connection.execute("DELETE FROM documents WHERE number = ANY(%s)", (known,))
    _count(connection, {term: -times for term, times in gone.items()})


def index_records(connection: Connection, state: State, analyzer: Analyzer) -> None:
    """Add every record that the index does not know yet."""
    if state.lexical != "none":
        add = _add_lexemes if state.lexical == "tsvector" else _Postings(connection).add
        for rows in _unknown(connection, state):
            documents = [
                (number, _terms(analyzer, codec.unpacked(words), codec.loads(metadata)))
                for number, words, metadata in rows
            ]
            add(connection, documents)
            state.words += sum(len(terms) for _, terms in documents)
    state.indexed = state.last_number


def _terms(analyzer: Analyzer, words: str, metadata: dict[str, Any]) -> list[str]:
    terms = document_terms(analyzer, words, metadata)
    return terms if codec.is_plain("".join(terms)) else [codec.packed(term) for term in terms]


def _unknown(connection: Connection, state: State) -> Iterator[list[tuple[int, str, str]]]:
    last = state.indexed
    while True:
        rows = connection.execute(
            "SELECT number, text, metadata::text FROM records WHERE number > %s ORDER BY number LIMIT %s",
            (last, _BATCH),
        ).fetchall()
        if not rows:
            return
        yield rows
        last = rows[-1][0]


def _add_lexemes(connection: Connection, documents: Sequence[tuple[int, list[str]]]) -> None:
    rows = ((big(number), big(len(terms)), integers([]), lexemes(terms)) for number, terms in documents)
    copy_rows(connection, "documents (number, length, terms, lexemes)", rows)


class _Postings:
    """Adds documents to the postings, remembering the numbers of terms over many batches."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._numbers: dict[str, int] = {}

    def add(self, connection: Connection, documents: Sequence[tuple[int, list[str]]]) -> None:
        counted = [(number, len(terms), Counter(terms)) for number, terms in documents]
        self._learn({term for _, _, counts in counted for term in counts})
        rows = ((big(number), big(size), integers(self._of(counts))) for number, size, counts in counted)
        copy_rows(connection, "documents (number, length, terms)", rows)
        table = self._table(counted)
        columns = [(table[:, 0], 4), (table[:, 1], 8), (table[:, 2], 4), (table[:, 3], 4)]
        copy_table(connection, "postings (term, number, count, length)", columns)
        terms, times = np.unique(table[:, 0], return_counts=True)
        _count(connection, dict(zip(terms.tolist(), times.tolist(), strict=True)))

    def _of(self, counts: Counter[str]) -> list[int]:
        return [self._numbers[term] for term in counts]

    def _table(self, counted: Sequence[tuple[int, int, Counter[str]]]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Term, record, count and rounded length, in the order of the index."""
        rounded = rounded_lengths([size for _, size, _ in counted]).tolist()
        rows = [
            (self._numbers[term], number, count, size)
            for (number, _, counts), size in zip(counted, rounded, strict=True)
            for term, count in counts.items()
        ]
        table = np.array(rows, dtype=np.int64).reshape(-1, 4)
        return table[np.lexsort((table[:, 1], table[:, 0]))]

    def _learn(self, terms: set[str]) -> None:
        """Find the numbers of terms, giving new ones out where there are none."""
        unknown = sorted(terms - self._numbers.keys())
        for start in range(0, len(unknown), _TERMS):
            part = unknown[start : start + _TERMS]
            query = "SELECT term, number FROM terms WHERE term = ANY(%s)"
            found: dict[str, int] = dict(self._connection.execute(query, (part,)).fetchall())
            new = [term for term in part if term not in found]
            insert = "INSERT INTO terms (term) SELECT unnest(%s::text[]) RETURNING term, number"
            found.update(self._connection.execute(insert, (new,)).fetchall() if new else ())
            self._numbers.update(found)


def _count(connection: Connection, change: dict[int, int]) -> None:
    """Add to the number of documents of each term."""
    connection.execute(
        "UPDATE terms SET documents = documents + change FROM unnest(%s::int[], %s::bigint[]) AS d (term, change) "
        "WHERE number = d.term",
        (list(change), list(change.values())),
    )
