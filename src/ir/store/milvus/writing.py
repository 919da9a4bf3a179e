"""A transaction: rows of a version that nobody sees until the state says so."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ir.analysis import Analyzer, analyzer_for, document_terms
from ir.base import Record, Row, json_clean
from ir.content import Content, edge_sum, node_sum, record_sum, vector_sum
from ir.links import Edge, Node
from ir.store.milvus.connection import Connection
from ir.store.milvus.edges import Edges
from ir.store.milvus.entries import BODY, FREQUENCY, NODE, Entries, body_of
from ir.store.milvus.paths import count_paths
from ir.store.milvus.reading import Reading
from ir.store.milvus.rows import (
    CARRIED_FIELDS,
    STORED_FIELDS,
    VECTOR_FIELDS,
    decode_row,
    encode,
    encode_vector,
    pages_of,
)
from ir.store.milvus.schema import Collections, visible
from ir.store.milvus.state import Space, State, empty_space
from ir.store.milvus.versions import end_rows

if TYPE_CHECKING:
    from ir.base import Vector

__all__ = ["Writing"]

_MOST_WAITING = 2000
_REWRITTEN = 1000
#: How many past commits a corpus remembers, to know when their rows may go.
_COMMITS = 50


class Writing:
    """One open transaction, for the thread that has it."""

    def __init__(self, connection: Connection, collections: Collections, state: State) -> None:
        self.state = state.copy()
        self.state.version += 1
        self.entries = Entries(connection, collections.entries)
        self.touched = False
        self._connection = connection
        self._collections = collections
        self._content = Content.loads(state.content)
        self._edges = Edges(connection, collections)
        self._waiting: dict[str, dict[str, Any]] = {}
        self._waiting_edges: dict[str, Sequence[Edge]] = {}
        self._edges_given = 0
        self._frequencies: Counter[int] = Counter()
        self._analyzer: Analyzer | None = None

    def reading(self) -> Reading:
        """What this transaction sees of records and vectors."""
        return Reading(self._connection, self._collections, self.state)

    # -- keyed values ------------------------------------------------------------------------------------------

    def read(self, view: str, key: str) -> Any:
        return self.read_some(view, [key]).get(key)

    def read_some(self, view: str, keys: Sequence[str]) -> dict[str, Any]:
        """The values of those keys that have one; they are the caller's."""
        waiting = self._waiting.get(view, {})
        held = self.entries.read_some(view, [key for key in keys if key not in waiting], self.state.version)
        # A value that waits is the transaction's own: the caller gets a copy.
        held.update({key: json_clean(waiting[key]) for key in keys if waiting.get(key) is not None})
        return held

    def write(self, view: str, key: str, value: Any) -> None:
        self.touched = True
        waiting = self._waiting.setdefault(view, {})
        waiting[key] = value
        if view == "config":
            self._analyzer = None
        if len(waiting) >= _MOST_WAITING:
            self._write_out(view)

    def _write_out(self, view: str) -> None:
        waiting = self._waiting.pop(view, {})
        if not waiting:
            return
        if view == NODE:
            former = self.entries.read_some(view, list(waiting), self.state.version)
            self._content.change("nodes", _told_sum(waiting) - _told_sum(former))
        self.entries.write(view, waiting, self.state)

    # -- nodes and edges ---------------------------------------------------------------------------------------

    def put_nodes(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            self.write(NODE, node.id, [node.type, node.properties])

    def read_nodes(self, node_ids: Sequence[str]) -> dict[str, Node]:
        return {node_id: Node(node_id, *told) for node_id, told in self.read_some(NODE, node_ids).items()}

    def erase_nodes(self, node_ids: Sequence[str]) -> None:
        for node_id in self.read_some(NODE, node_ids):
            self.write(NODE, node_id, None)

    def put_edges(self, edges: Mapping[str, Sequence[Edge]]) -> None:
        self._waiting_edges.update(edges)
        self._edges_given += len(edges) + sum(map(len, edges.values()))
        if self._edges_given >= _MOST_WAITING:
            self.write_edges()

    def read_edges(self, sources: Sequence[str]) -> dict[str, list[Edge]]:
        waiting = {source: self._waiting_edges[source] for source in sources if source in self._waiting_edges}
        held = self.reading().edges([source for source in sources if source not in waiting])
        copies = {
            source: [replace(edge, properties=json_clean(edge.properties)) for edge in waiting[source]]
            for source in waiting
        }
        return held | {source: out for source, out in copies.items() if out}

    def write_edges(self) -> None:
        """Write out the edges that wait: only then is it known whether they change anything."""
        waiting, self._waiting_edges, self._edges_given = self._waiting_edges, {}, 0
        if waiting:
            gone, new = self._edges.write(waiting, self.state)
            self._content.change("edges", edge_sum(new) - edge_sum(gone))
            self.touched = self.touched or bool(gone or new)

    # -- records -----------------------------------------------------------------------------------------------

    def put(self, records: Sequence[Record], space: str) -> None:
        latest = {record.id: record for record in records}
        self.erase(list(latest))
        self._analyse_anew()
        rows = self._put_rows(list(latest.values()))
        embedded = {record_id: record.vector for record_id, record in latest.items() if len(record.vector)}
        if embedded:
            self._put_vectors(space, [row for row in rows if row["id"] in embedded], embedded)

    def erase(self, record_ids: Sequence[str]) -> None:
        """Forget records, with their vectors in every space."""
        for rows in self.reading().rows(record_ids, STORED_FIELDS):
            if rows:
                self._end_vectors({int(row["ref"]): row["id"] for row in rows})
                self._end(rows)

    def _put_rows(self, records: Sequence[Row | Record]) -> list[dict[str, Any]]:
        self._collections.make_records()
        analyzer = self.analyzer
        analysed = [(record, document_terms(analyzer, record.text, record.metadata)) for record in records]
        if not self.state.pivot:
            lengths = [len(terms) for _, terms in analysed]
            self.state.pivot = max(1.0, sum(lengths) / len(lengths))
        rows = [self._born(*pair) for pair in analysed]
        self._connection.upsert(self._collections.records, rows, new=True)
        self._content.change("records", record_sum(records))
        self.touched = True
        return rows

    def _born(self, record: Row | Record, terms: Sequence[str]) -> dict[str, Any]:
        state = self.state
        kind = state.kind_number(record.surface_kind)
        row = encode(record, terms, ref=state.next_ref, born=state.version, kind=kind, pivot=state.pivot)
        state.next_ref += 1
        pages = pages_of(row["body"])
        if len(pages) > 1:
            row["body"], row["pages"] = pages[0], len(pages)
            self.entries.write(BODY, {str(row["ref"]): "".join(pages[1:])}, state)
        self._count(row, record.metadata, 1)
        return row

    def _end(self, rows: Sequence[dict[str, Any]]) -> None:
        kinds, version = self.state.kind_names(), self.state.version
        gone = [decode_row(row, kinds, body_of(row, self.entries, version)) for row in rows]
        self._content.change("records", -record_sum(gone))
        for row, record in zip(rows, gone, strict=True):
            self._count(row, record.metadata, -1)
        long: dict[str, Any] = {str(row["ref"]): None for row in rows if row["pages"] > 1}
        if long:
            self.entries.write(BODY, long, self.state)
        end_rows(self._connection, self._collections.records, rows, version)
        self.touched = True

    def _count(self, row: dict[str, Any], metadata: dict[str, Any], by: int) -> None:
        state = self.state
        state.records += by
        state.words += by * int(row["length"])
        for held in state.kinds.values():
            held[1] += by * (held[0] == row["kind"])
        state.paths = count_paths(state.paths, metadata, by)
        for slot in row["sparse"]:
            self._frequencies[int(slot)] += by
        if not state.records:
            state.pivot, state.paths = 0.0, {}

    # -- vectors -----------------------------------------------------------------------------------------------

    def put_vectors(self, space: str, vectors: Mapping[str, Vector]) -> None:
        """Keep the vectors of records that are there."""
        ids = list(vectors)
        # Two vectors of one ref cannot stand side by side: a record whose vector is replaced gets a ref of its own.
        known = self.reading().vectors(space, ids)
        for rows in self.reading().rows([record_id for record_id in ids if record_id in known], STORED_FIELDS):
            self._rewrite(rows, without=space)
        for rows in self.reading().rows(ids, ["id", *CARRIED_FIELDS]):
            self._put_vectors(space, rows, {row["id"]: vectors[row["id"]] for row in rows})

    def _put_vectors(self, space: str, rows: Sequence[dict[str, Any]], vectors: Mapping[str, Vector]) -> None:
        table = self._table(space, len(next(iter(vectors.values()))))
        born = self.state.version
        self._connection.upsert(table, [encode_vector(row, vectors[row["id"]], born) for row in rows], new=True)
        self.state.spaces[space]["count"] += len(rows)
        self._content.change_vectors(space, vector_sum(vectors))
        self.touched = True

    def _end_vectors(self, names: Mapping[int, str]) -> None:
        """Forget the vectors that some records have, given by their refs and ids, in every space."""
        for space, held in self.state.spaces.items():
            if held["count"]:
                within = visible(self.state.version)
                rows = self._connection.by_ref(held["table"], list(names), VECTOR_FIELDS, within)
                end_rows(self._connection, held["table"], rows, self.state.version)
                held["count"] -= len(rows)
                self._content.change_vectors(space, -vector_sum(names[int(row["ref"])] for row in rows))

    def _rewrite(self, rows: Sequence[dict[str, Any]], *, without: str | None = None) -> None:
        """Write records again, with their vectors, under new refs; ``without`` those of one space."""
        if not rows:
            return
        kinds, names = self.state.kind_names(), {int(row["ref"]): row["id"] for row in rows}
        records = [decode_row(row, kinds, body_of(row, self.entries, self.state.version)) for row in rows]
        kept: dict[str, dict[str, Vector]] = {}
        for space in self.state.spaces:
            found = self.reading().vectors_at(space, list(names)) if space != without else {}
            kept[space] = {names[ref]: vector for ref, vector in found.items()}
        self.erase(list(names.values()))
        written = self._put_rows(records)
        for space, vectors in kept.items():
            if vectors:
                self._put_vectors(space, [row for row in written if row["id"] in vectors], vectors)

    # -- spaces ------------------------------------------------------------------------------------------------

    def add_space(self, space: str) -> None:
        self.state.spaces[space] = empty_space()
        self.touched = True

    def drop_space(self, space: str) -> None:
        self._give_up(space)
        del self.state.spaces[space]
        self._content.vectors.pop(space, None)
        self.touched = True

    def switch_space(self, space: str) -> None:
        self.state.default_space = space
        self.touched = True

    def _table(self, space: str, dim: int) -> str:
        """The collection for a space's vectors of that size; another one if those that it had were of another."""
        held = self.state.spaces[space]
        if not held["table"] or held["dim"] != dim:
            self._give_up(space)
            table = self._collections.space(space, dim, self.state.next_table)
            self.state.next_table += 1
            self.state.tables[table] = 0
            self._collections.make_space(table, dim)
            held = self.state.spaces[space] = Space(table=table, dim=dim, count=0)
        return held["table"]

    def _give_up(self, space: str) -> None:
        """Earlier versions still show what is in a collection, so it stays until they are swept."""
        table = self.state.spaces[space]["table"]
        if table:
            self.state.tables[table] = self.state.version

    # -- language ----------------------------------------------------------------------------------------------

    @property
    def analyzer(self) -> Analyzer:
        if self._analyzer is None:
            self._analyzer = analyzer_for((self.read("config", "config") or {}).get("language") or "english")
        return self._analyzer

    def _analyse_anew(self) -> None:
        """Write the records again if the language changed: their terms are part of the rows."""
        former, self.state.analyzer = self.state.analyzer, self.analyzer.id
        if former and former != self.analyzer.id and self.state.records:
            for rows in self._batches(self.state.next_ref):
                self._rewrite(rows)

    def _batches(self, end: int) -> Iterator[list[dict[str, Any]]]:
        expr = visible(self.state.version)
        return self._connection.windows(self._collections.records, expr, STORED_FIELDS, end, _REWRITTEN)

    # -- the end -----------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write out what waits, so that a look at this version sees it."""
        self._analyse_anew()
        self.write_edges()
        for view in list(self._waiting):
            self._write_out(view)
        changed, self._frequencies = {str(slot): by for slot, by in self._frequencies.items() if by}, Counter()
        slots = list(changed)
        for start in range(0, len(slots), _MOST_WAITING):
            part = slots[start : start + _MOST_WAITING]
            held = self.entries.read_some(FREQUENCY, part, self.state.version)
            new = {slot: held.get(slot, 0) + changed[slot] for slot in part}
            self.entries.write(FREQUENCY, {slot: count or None for slot, count in new.items()}, self.state)
        self.state.content = self._content.dumps()

    def commit(self) -> None:
        """Make the version the present one; the row that says so is the only one that matters."""
        self.state.commits = [*self.state.commits, [self.state.version, time.time()]][-_COMMITS:]
        self.state.write(self._connection, self._collections.state)


def _told_sum(nodes: Mapping[str, Any]) -> int:
    return node_sum(Node(node_id, *told) for node_id, told in nodes.items() if told is not None)
