"""The store in Milvus: versioned rows, and one row that says which version is the present one."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from ir.base import Record, storable
from ir.errors import CorpusError
from ir.links import Edge, Node
from ir.store import base
from ir.store.milvus.address import Address
from ir.store.milvus.connection import Connection
from ir.store.milvus.entries import Entries
from ir.store.milvus.lease import FileLock, Lease, writer_lock
from ir.store.milvus.reading import Reading
from ir.store.milvus.schema import Collections
from ir.store.milvus.snapshot import MilvusSnapshot
from ir.store.milvus.state import State
from ir.store.milvus.versions import recover, sweep
from ir.store.milvus.view import View
from ir.store.milvus.writing import Writing

if TYPE_CHECKING:
    from ir.base import Vector
    from ir.protocols import Snapshot

__all__ = ["MilvusStore"]


class _Transaction(threading.local):
    """What this thread is writing, if it is."""

    writing: Writing | None = None


#: What a word takes up, about: its letters, and its weight in the index.
_BYTES_OF_WORD = 12


class MilvusStore(base.BaseStore):
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
        """Remove the corpus and all its collections, also one whose format is no longer read."""
        there = self._collections.everything_there()
        # The state goes last: a corpus that is dropped halfway can be dropped again.
        for collection in sorted(there, key=lambda name: name == self._collections.state):
            self._connection.drop(collection)
        self._held = None

    def own_parts(self) -> list[str]:
        """The collections that hold the corpus."""
        return self._collections.everything_there()

    def workspace_parts(self) -> list[str]:
        """The collections of all corpora that the workspace has here, also of those that have no name left."""
        start = self.address.workspace_prefix
        return sorted(name for name in self._connection.names() if name.startswith(start))

    def drop_parts(self, parts: Sequence[str]) -> None:
        """Remove collections of the workspace."""
        for name in parts:
            if name.startswith(self.address.workspace_prefix):
                self._connection.drop(name)

    def taken_up(self) -> int:
        """About how much the corpus takes up: Milvus does not tell. Its vectors, and a few bytes for each word."""
        state = self._state()
        vectors = sum(space["count"] * space["dim"] * 4 for space in state.spaces.values())
        return vectors + state.words * _BYTES_OF_WORD

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
        lock.acquire(patience)
        try:
            self._collections.make_shared()
            state = self._state()
            if lock.unfinished:
                self._undo(lock, state)
            writing = self._own.writing = Writing(self._connection, self._collections, state)
            try:
                yield writing
                lock.check()  # now, too: another's rows are not to be mixed with what still waits here
                writing.write_edges()
                if writing.touched:
                    writing.flush()
                    self._ask_before_commit()
                    lock.check()
                    writing.commit()
            except BaseException:
                self._undo(lock, state)
                raise
            finally:
                self._own.writing = None
            self._sweep(writing.state)
        finally:
            lock.release()

    def _undo(self, lock: FileLock | Lease, state: State) -> None:
        """Remove what was written after ``state``; if that fails, the next writer is told to."""
        lock.unfinished = True
        if lock.held():  # else another writes by now, and has undone it; what is there is no longer ours
            recover(self._connection, self._collections, state)
            lock.unfinished = False

    def _writer(self) -> FileLock | Lease:
        if self._lock_held is None:
            self._lock_held = writer_lock(self._connection, self._collections.state, self._collections.make_shared)
        return self._lock_held

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
        held.seen_present()
        return held

    def _catch_up(self) -> None:
        """Give the records the terms of a new analyzer, if this user may write now; else they are found by the old."""
        with suppress(CorpusError), self._writing(0.0) as writing:
            writing.touched = True

    # -- where things are kept ---------------------------------------------------------------------------------

    def _state(self) -> State:
        writing = self._own.writing
        return writing.state if writing is not None else State.read(self._connection, self._collections.state)

    def _reading(self) -> Reading:
        return Reading(self._connection, self._collections, self._state())

    def _flushed(self) -> Reading:
        """The same with everything that waits in this thread's transaction."""
        if self._own.writing is not None:
            self._own.writing.flush()
        return self._reading()

    def _open(self) -> Writing:
        assert self._own.writing is not None, "writes happen inside a transaction"
        return self._own.writing

    @property
    def version(self) -> str:
        return str(self._state().version)

    @property
    def content_version(self) -> str:
        state = self._flushed().state
        return state.content_version(self._entries.read("config", base.SETTINGS, state.version) or {})

    def __len__(self) -> int:
        return self._state().records

    # -- records

    def record_ids(self) -> list[str]:
        """The ids of all records, in the order in which they were written."""
        return list(self._reading().ids().values())

    def iter_records(self, batch: int = base.DFLT_BATCH) -> Iterator[list[Record]]:
        """Every record of the present version, some at a time, in the order in which they were written."""
        return self._reading().pages(batch)

    def get_records(self, record_ids: Sequence[str]) -> list[Record]:
        """Those of the records that are there, in no particular order."""
        return self._reading().records([storable(record_id) for record_id in record_ids])

    def _known_records(self, record_ids: Sequence[str]) -> set[str]:
        return {row["id"] for rows in self._reading().rows(record_ids, ["id"]) for row in rows}

    def _read_record(self, record_id: str) -> Record | None:
        return next(iter(self._reading().records([record_id])), None)

    def _all_records(self) -> Iterator[Record]:
        records = [record for batch in self.iter_records() for record in batch]
        return iter(sorted(records, key=lambda record: (record.artifact_id, record.surface_index, record.id)))

    def _write_records(self, records: Sequence[Record], space: str) -> None:
        self._open().put(records, space)

    def _erase_records(self, record_ids: Sequence[str]) -> None:
        self._open().erase(record_ids)

    # -- spaces

    def spaces(self) -> dict[str, int | None]:
        """The named spaces of vectors with their dimensions, all as of one version."""
        state = self._state()
        return {name: state.dimension(name) for name in state.spaces}

    def _default_space(self) -> str:
        return self._state().default_space

    def _space_names(self) -> list[str]:
        return list(self._state().spaces)

    def _write_space(self, name: str) -> None:
        self._open().add_space(name)

    def _erase_space(self, name: str) -> None:
        self._open().drop_space(name)

    def _switch_space(self, name: str) -> None:
        self._open().switch_space(name)

    def _dimension(self, space: str) -> int | None:
        return self._state().dimension(space)

    def _write_vectors(self, space: str, vectors: Mapping[str, Vector]) -> None:
        self._open().put_vectors(space, vectors)

    def _read_vectors(self, space: str, record_ids: Sequence[str]) -> dict[str, Vector]:
        return self._reading().vectors(space, record_ids)

    def _without_vector(self, space: str, limit: int | None) -> list[str]:
        return self._reading().without_vector(space)[:limit]

    # -- nodes and edges

    def iter_nodes(self, batch: int = base.DFLT_BATCH) -> Iterator[list[Node]]:
        """Every declared node, by id; only their ids are all in memory."""
        reading = self._flushed()
        ids = reading.node_ids()
        for start in range(0, len(ids), batch):
            yield list(reading.nodes(ids[start : start + batch]).values())

    def iter_edges(self, batch: int = base.DFLT_BATCH) -> Iterator[list[tuple[str, list[Edge]]]]:
        """``(node_id, edges)`` of every node that edges lead out of, in the same way."""
        reading = self._flushed()
        sources = reading.sources()
        for start in range(0, len(sources), batch):
            page = sources[start : start + batch]
            found = reading.edges(page)
            yield [(source, found[source]) for source in page if source in found]

    def _write_nodes(self, nodes: Sequence[Node]) -> None:
        self._open().put_nodes(nodes)

    def _erase_nodes(self, node_ids: Sequence[str]) -> None:
        self._open().erase_nodes(node_ids)

    def _read_nodes(self, node_ids: Sequence[str]) -> dict[str, Node]:
        writing = self._own.writing
        return self._reading().nodes(node_ids) if writing is None else writing.read_nodes(node_ids)

    def _write_edges(self, edges: Mapping[str, Sequence[Edge]]) -> None:
        self._open().put_edges(edges)

    def _read_edges(self, node_ids: Sequence[str]) -> dict[str, list[Edge]]:
        writing = self._own.writing
        return self._reading().edges(node_ids) if writing is None else writing.read_edges(node_ids)

    # -- the other views

    def iter_entries(
        self, view: Literal["ledger", "symbols"], batch: int = base.DFLT_BATCH
    ) -> Iterator[list[tuple[str, Any]]]:
        """Every ``(key, value)`` of the ledger or of the symbols, some at a time."""
        state = self._flushed().state
        entries = self._entries.read_all(view, state.version, state.next_entry)
        while page := list(islice(entries, batch)):
            yield page

    def _read(self, view: base.View, key: str) -> Any:
        writing = self._own.writing
        if writing is not None:
            return writing.read(view, key)
        return self._entries.read(view, key, self._state().version)

    def _read_all(self, view: base.View) -> list[tuple[str, Any]]:
        state = self._flushed().state
        return sorted(self._entries.read_all(view, state.version, state.next_entry))

    def _write(self, view: base.View, key: str, value: Any) -> None:
        with self.transaction():
            self._open().write(view, key, value)

    def _erase(self, view: base.View, key: str) -> None:
        with self.transaction():
            if self._open().read(view, key) is not None:
                self._open().write(view, key, None)
