"""The store in Milvus: versioned rows, and one row that says which version is the present one."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from ir.base import Record, storable
from ir.errors import CorpusError
from ir.store.mapping import CorpusStore
from ir.store.milvus.address import Address
from ir.store.milvus.connection import Connection
from ir.store.milvus.entries import Entries
from ir.store.milvus.lease import FileLock, Lease, writer_lock
from ir.store.milvus.rows import STORED_FIELDS, decode_record, mark_of
from ir.store.milvus.schema import Collections, visible
from ir.store.milvus.snapshot import MilvusSnapshot
from ir.store.milvus.state import State
from ir.store.milvus.view import View
from ir.store.milvus.writing import Writing, body_of, recover, sweep

if TYPE_CHECKING:
    from ir.protocols import Snapshot

__all__ = ["MilvusStore"]

_WINDOW = 1000
#: How many records one request names.
_MARKS = 1000


class _Transaction(threading.local):
    """What this thread is writing, if it is."""

    writing: Writing | None = None


class MilvusStore(CorpusStore):
    """A corpus in Milvus. Several processes may read while one writes; a second writer waits, then is told.

    ``address`` is an :class:`Address` or what :meth:`Address.parse` reads. Nothing is made before the first write.
    """

    def __init__(self, address: str | Address) -> None:
        self.address = Address.parse(address) if isinstance(address, str) else address
        self.lock_timeout = self.address.lock_timeout
        self._connection = Connection(self.address)
        self._collections = Collections(self._connection)
        self._entries = Entries(self._connection, self._collections.entries)
        self._lock_held: FileLock | Lease | None = None
        self._own = _Transaction()
        self._held: View | None = None
        self._gave_up = -1
        self._looking: Counter[int] = Counter()
        self._counting = threading.Lock()

    def __repr__(self) -> str:
        return f"MilvusStore({self.address.label!r})"

    def exists(self) -> bool:
        """Whether anything was ever written here."""
        return self._connection.has(self._collections.state)

    def close(self) -> None:
        """Let go of the connection; the store can be used again."""
        self._held = None
        self._connection.close()

    def drop(self) -> None:
        """Remove the corpus and all its collections."""
        for dim in self._state().dims:
            self._connection.drop(self._collections.records(dim))
        for collection in (self._collections.entries, self._collections.state):
            self._connection.drop(collection)
        self._held = None

    # -- writing -----------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all writes inside one: they are seen when the state's row is written. Inner blocks join the outer."""
        if self._own.writing is not None:
            yield
            return
        with self._writing(self.lock_timeout):
            yield

    @contextmanager
    def _writing(self, patience: float) -> Iterator[Writing]:
        lock = self._writer()
        left_behind = lock.acquire(patience)
        try:
            self._collections.make_shared()
            state = self._state()
            if left_behind:
                self._recover(state)
            writing = self._own.writing = Writing(self._connection, self._collections, state)
            try:
                yield writing
                if writing.touched:
                    writing.flush()
                    lock.check()
                    writing.commit()
            except BaseException:
                self._recover(state, writing)
                raise
            finally:
                self._own.writing = None
            self._sweep(writing.state)
        finally:
            lock.release()

    def _writer(self) -> FileLock | Lease:
        if self._lock_held is None:
            self._lock_held = writer_lock(self._connection, self._collections.state, self._collections.make_shared)
        return self._lock_held

    def _recover(self, state: State, writing: Writing | None = None) -> None:
        # A dead writer may have made a collection of vectors that no state tells of; its rows are not seen, and
        # the next one that needs that size clears them.
        dims = sorted({*state.dims, *(writing.state.dims if writing else self._stray_dims())})
        recover(self._connection, self._collections, state, dims)

    def _stray_dims(self) -> list[int]:
        prefix = self._collections.records(0)[:-1]
        names = [name for name in self._connection.client.list_collections() if name.startswith(prefix)]
        return [int(name[len(prefix) :]) for name in names if name[len(prefix) :].isdecimal()]

    def _sweep(self, state: State) -> None:
        """Remove rows that died long enough ago, unless a snapshot of this store still looks at them."""
        old = [int(version) for version, at in state.commits if at <= time.time() - self.address.keep]
        with self._counting:
            looked_at = min((version for version, users in self._looking.items() if users), default=None)
        horizon = max(old, default=0)
        if looked_at is not None:
            horizon = min(horizon, looked_at)
        if horizon > state.swept:
            sweep(self._connection, self._collections, state, horizon)
            state.swept = horizon
            state.write(self._connection, self._collections.state)

    # -- searching ---------------------------------------------------------------------------------------------

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """The corpus as it is now, and stays in the block whatever is written meanwhile (see ``keep``)."""
        writing = self._own.writing
        if writing is not None:
            writing.flush()
            yield MilvusSnapshot(View(self._connection, self._collections, writing.state.copy()))
            return
        view = self._present()
        with self._counting:
            self._looking[view.state.version] += 1
        try:
            yield MilvusSnapshot(view)
        finally:
            with self._counting:
                self._looking[view.state.version] -= 1

    def _present(self) -> View:
        held = self._look()
        if self._gave_up != held.state.version and held.state.lags(held.config):
            self._gave_up = held.state.version  # once: another may be writing, or this user may not
            self._catch_up()
            held = self._look()
        return held

    def _look(self) -> View:
        state = self._state()
        held = self._held
        if held is None or held.state.version != state.version:
            held = self._held = View(self._connection, self._collections, state)
            _ = held.config  # read while the version is surely there
        return held

    def _catch_up(self) -> None:
        """Give the records the terms of a new analyzer, if this user may write now; else they are found by the old."""
        with suppress(CorpusError), self._writing(0.0) as writing:
            writing.touched = True

    # -- where things are kept ---------------------------------------------------------------------------------

    def _write_scope(self) -> Any:
        return self.transaction()

    def _state(self) -> State:
        writing = self._own.writing
        return writing.state if writing is not None else State.read(self._connection, self._collections.state)

    @property
    def version(self) -> str:
        return str(self._state().version)

    def __len__(self) -> int:
        return self._state().records

    def record_ids(self) -> list[str]:
        """The ids of all records, in the order in which they were written."""
        state = self._state()
        if state.dim is None:
            return []
        collection, expr = self._collections.records(state.dim), visible(state.version)
        windows = self._connection.windows(collection, expr, ["id"], state.next_ref)
        return [row["id"] for rows in windows for row in rows]

    def iter_records(self, batch: int = _WINDOW) -> Iterator[list[Record]]:
        """Every record of the present version, some at a time, in the order in which they were written."""
        state = self._state()
        if state.dim is None:
            return
        kinds, collection = state.kind_names(), self._collections.records(state.dim)
        for rows in self._connection.windows(collection, visible(state.version), STORED_FIELDS, state.next_ref, batch):
            yield [decode_record(row, kinds, body_of(row, self._entries, state.version), state.dim) for row in rows]

    def iter_entries(self, view: str, batch: int = _WINDOW) -> Iterator[list[tuple[str, Any]]]:
        """Every ``(key, value)`` of the ledger or of the links, in the same way."""
        if self._own.writing is not None:
            self._own.writing.flush()
        state = self._state()
        entries = self._entries.read_all(view, state.version, state.next_entry)
        while page := list(islice(entries, batch)):
            yield page

    def get_records(self, record_ids: Sequence[str]) -> list[Record]:
        """Those of the records that are there, in no particular order."""
        state = self._state()
        if state.dim is None:
            return []
        kinds, found = state.kind_names(), []
        for start in range(0, len(record_ids), _MARKS):
            part = record_ids[start : start + _MARKS]
            marks = ", ".join(f'"{mark_of(storable(record_id))}"' for record_id in part)
            expr = f"mark in [{marks}] and {visible(state.version)}"
            for row in self._connection.query(self._collections.records(state.dim), expr, ["ref", *STORED_FIELDS]):
                found.append(decode_record(row, kinds, body_of(row, self._entries, state.version), state.dim))
        return found

    def _dimension(self) -> int | None:
        return self._state().dim

    def _read_record(self, record_id: str) -> Record | None:
        state = self._state()
        if state.dim is None:
            return None
        expr = f'mark == "{mark_of(record_id)}" and {visible(state.version)}'
        rows = self._connection.query(self._collections.records(state.dim), expr, ["ref", *STORED_FIELDS])
        if not rows:
            return None
        body = body_of(rows[0], self._entries, state.version)
        return decode_record(rows[0], state.kind_names(), body, state.dim)

    def _all_records(self) -> Iterator[Record]:
        records = [record for batch in self.iter_records() for record in batch]
        return iter(sorted(records, key=lambda record: (record.artifact_id, record.surface_index, record.id)))

    def _write_records(self, records: Sequence[Record]) -> None:
        self._open().put(records)

    def _erase_records(self, record_ids: Sequence[str]) -> None:
        self._open().erase(list(dict.fromkeys(record_ids)))

    def _read(self, view: str, key: str) -> Any:
        writing = self._own.writing
        if writing is not None:
            # A value that waits is the transaction's own: the caller gets a copy.
            from ir.base import json_clean

            return json_clean(writing.read(view, key))
        return self._entries.read(view, key, self._state().version)

    def _read_all(self, view: str) -> list[tuple[str, Any]]:
        if self._own.writing is not None:
            self._own.writing.flush()
        state = self._state()
        return sorted(self._entries.read_all(view, state.version, state.next_entry))

    def _write(self, view: str, key: str, value: Any) -> None:
        with self.transaction():
            self._open().write(view, key, value)

    def _erase(self, view: str, key: str) -> None:
        with self.transaction():
            if self._open().read(view, key) is not None:
                self._open().write(view, key, None)

    def _open(self) -> Writing:
        assert self._own.writing is not None, "writes happen inside a transaction"
        return self._own.writing
