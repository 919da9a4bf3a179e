"""A transaction: rows of a version that nobody sees until the state says so."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ir.analysis import Analyzer, analyzer_for, document_terms
from ir.base import Record
from ir.store.milvus.connection import Connection
from ir.store.milvus.entries import Entries
from ir.store.milvus.paths import count_paths
from ir.store.milvus.rows import STORED_FIELDS, decode_record, encode, mark_of, pages_of
from ir.store.milvus.schema import ALIVE, Collections, visible
from ir.store.milvus.state import State

__all__ = ["BODY", "FREQUENCY", "Writing", "recover", "sweep"]

#: The views that the store keeps for itself: how many records hold a term, and bodies too long for a field.
FREQUENCY = "frequency"
BODY = "body"
_MOST_WAITING = 2000
_MARKS = 1000
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
        self._waiting: dict[str, dict[str, Any]] = {}
        self._frequencies: Counter[int] = Counter()
        self._analyzer: Analyzer | None = None

    # -- keyed values ------------------------------------------------------------------------------------------

    def read(self, view: str, key: str) -> Any:
        waiting = self._waiting.get(view, {})
        return waiting[key] if key in waiting else self.entries.read(view, key, self.state.version)

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
        if waiting:
            self.entries.write(view, waiting, self.state)

    # -- records -----------------------------------------------------------------------------------------------

    def put(self, records: Sequence[Record]) -> None:
        latest = {record.id: record for record in records}
        self.erase(list(latest))
        dim = len(records[0].vector)
        if self.state.dim != dim:
            # The store checks that no record of another size is left.
            self.state.dim = dim
            if dim not in self.state.dims:
                self.state.dims.append(dim)
        collection = self._collections.make_records(dim)
        self._analyse_anew()
        analyzer = self.analyzer
        analysed = [(record, document_terms(analyzer, record.text, record.metadata)) for record in latest.values()]
        if not self.state.pivot:
            lengths = [len(terms) for _, terms in analysed]
            self.state.pivot = max(1.0, sum(lengths) / len(lengths))
        self._connection.upsert(collection, [self._born(*pair) for pair in analysed], new=True)
        self.touched = True

    def erase(self, record_ids: Sequence[str]) -> None:
        if self.state.dim is None or not self.state.records:
            return
        collection = self._collections.records(self.state.dim)
        for start in range(0, len(record_ids), _MARKS):
            marks = ", ".join(f'"{mark_of(record_id)}"' for record_id in record_ids[start : start + _MARKS])
            rows = self._connection.query(
                collection, f"mark in [{marks}] and {visible(self.state.version)}", ["ref", *STORED_FIELDS]
            )
            self._end(collection, rows)

    def body_of(self, row: dict[str, Any]) -> str:
        return body_of(row, self.entries, self.state.version)

    def _born(self, record: Record, terms: Sequence[str]) -> dict[str, Any]:
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

    def _end(self, collection: str, rows: Sequence[dict[str, Any]]) -> None:
        """Let rows die with this version; those born in it go at once, for nobody has seen them."""
        if not rows:
            return
        kinds, version = self.state.kind_names(), self.state.version
        for row in rows:
            self._count(row, decode_record(row, kinds, self.body_of(row), 0).metadata, -1)
        long = {str(row["ref"]): None for row in rows if row["pages"] > 1}
        if long:
            self.entries.write(BODY, long, self.state)
        unseen = [int(row["ref"]) for row in rows if row["born"] == version]
        if unseen:
            self._connection.delete(collection, f"ref in {unseen}")
        self._connection.upsert(collection, [dying(row, version) for row in rows if row["born"] != version])
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
            state.dim, state.pivot, state.paths = None, 0.0, {}

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
            end = self.state.next_ref
            for records in list(self._batches(end)):
                self.put(records)

    def _batches(self, end: int) -> Iterator[list[Record]]:
        assert self.state.dim is not None, "there are records"
        kinds, dim, expr = self.state.kind_names(), self.state.dim, visible(self.state.version)
        collection = self._collections.records(dim)
        for rows in self._connection.windows(collection, expr, STORED_FIELDS, end, _REWRITTEN):
            yield [decode_record(row, kinds, self.body_of(row), dim) for row in rows]

    # -- the end -----------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write out what waits, so that a look at this version sees it."""
        self._analyse_anew()
        for view in list(self._waiting):
            self._write_out(view)
        changed, self._frequencies = {str(slot): by for slot, by in self._frequencies.items() if by}, Counter()
        slots = list(changed)
        for start in range(0, len(slots), _MOST_WAITING):
            part = slots[start : start + _MOST_WAITING]
            held = self.entries.read_some(FREQUENCY, part, self.state.version)
            new = {slot: held.get(slot, 0) + changed[slot] for slot in part}
            self.entries.write(FREQUENCY, {slot: count or None for slot, count in new.items()}, self.state)

    def commit(self) -> None:
        """Make the version the present one; the row that says so is the only one that matters."""
        self.state.commits = [*self.state.commits, [self.state.version, time.time()]][-_COMMITS:]
        self.state.write(self._connection, self._collections.state)


def body_of(row: dict[str, Any], entries: Entries, version: int) -> str:
    """The whole body of a row, of which a field may hold only the first page."""
    if row["pages"] == 1:
        return str(row["body"])
    rest = entries.read(BODY, str(row["ref"]), version)
    return str(row["body"]) + str(rest or "")


def dying(row: dict[str, Any], version: int) -> dict[str, Any]:
    return {**row, "died": version, "dense": np.asarray(row["dense"], dtype=np.float32)}


def recover(connection: Connection, collections: Collections, state: State, dims: Sequence[int]) -> None:
    """Undo what a writer left that did not get to its commit: nothing of it was ever seen."""
    for collection, fields in _versioned(collections, dims):
        connection.delete(collection, f"born > {state.version}")
        rows = connection.query(collection, f"died > {state.version} and died < {ALIVE}", ["ref", *fields])
        if rows:
            connection.upsert(
                collection, [dying(row, ALIVE) if "dense" in row else {**row, "died": ALIVE} for row in rows]
            )


def sweep(connection: Connection, collections: Collections, state: State, horizon: int) -> None:
    """Remove the rows that no version after ``horizon`` shows."""
    for collection, _ in _versioned(collections, state.dims):
        connection.delete(collection, f"died <= {horizon}")


def _versioned(collections: Collections, dims: Sequence[int]) -> Iterator[tuple[str, Sequence[str]]]:
    yield collections.entries, ("mark", "born", "died", "view", "key", "page", "value", "none")
    for dim in dims:
        yield collections.records(dim), STORED_FIELDS
