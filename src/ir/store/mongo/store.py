"""The store in MongoDB: versioned rows, one document that says which version is the present one, and a copy here."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from ir.base import Record
from ir.errors import CorpusError
from ir.links import Edge, Node
from ir.store import base
from ir.store.mongo.address import Address
from ir.store.mongo.connection import Connection, driver, translated
from ir.store.mongo.held import HeldCorpus
from ir.store.mongo.lease import Lease
from ir.store.mongo.rows import Rows
from ir.store.mongo.state import State

if TYPE_CHECKING:
    from ir.base import Vector
    from ir.protocols import Snapshot

__all__ = ["MongoStore"]

#: How often a version is looked for that stays while it is read; only one that keeps nothing needs a second time.
_TRIES = 5
_BYTES_OF_NUMBER = 4


class _VersionGone(CorpusError):
    """A version was swept while it was read."""


class _Transaction(threading.local):
    """What this thread is writing, if it is."""

    held: HeldCorpus | None = None


class MongoStore(base.BaseStore):
    """A corpus in MongoDB. Several processes may read while one writes; a second writer waits, then is told.

    ``address`` is an :class:`Address` or what :meth:`Address.parse` reads. Nothing is made before the first write.
    A version is read into this process as far as it is needed, and kept up to date by what changed since.
    """

    def __init__(self, address: str | Address) -> None:
        driver()
        self.address = Address.parse(address) if isinstance(address, str) else address
        self.lock_timeout = self.address.lock_timeout
        self._connection = Connection(self.address)
        self._rows = Rows(self._connection, f"{self.address.prefix}.rows")
        self._lease = Lease(self._connection, f"{self.address.prefix}.state")
        self._own = _Transaction()
        self._looking = threading.Lock()
        self._held: HeldCorpus | None = None

    def __repr__(self) -> str:
        return f"MongoStore({self.address.label!r})"

    def exists(self) -> bool:
        """Whether anything was ever written here."""
        return self._own.held is not None or self._lease.state().version > 0

    def close(self) -> None:
        """Let go of the connection and of what was read; the store can be used again."""
        self._held = None
        self._connection.close()

    def drop(self) -> None:
        """Remove the corpus and its collections."""
        self._rows.drop()
        # The state goes last: a corpus that is dropped halfway can be dropped again.
        with translated(self.address):
            self._connection.database[f"{self.address.prefix}.state"].drop()
        self._held = None

    def own_parts(self) -> list[str]:
        """The collections that hold the corpus."""
        return [name for name in self.workspace_parts() if name.rpartition(".")[0] == self.address.prefix]

    def workspace_parts(self) -> list[str]:
        """The collections of all corpora that the workspace has here, also of those that have no name left."""
        with translated(self.address):
            names = self._connection.database.list_collection_names()
        return sorted(name for name in names if name.startswith(self.address.workspace_prefix))

    def drop_parts(self, parts: Sequence[str]) -> None:
        """Remove collections of the workspace."""
        for name in parts:
            if name.startswith(self.address.workspace_prefix):
                with translated(self.address):
                    self._connection.database[name].drop()

    def taken_up(self) -> int:
        """About how much the corpus takes up: its vectors and its texts, without what the server adds to them."""
        corpus = self._corpus()
        texts = sum(len(record.text.encode("utf-8", "surrogatepass")) for record in corpus._all_records())
        return texts + sum(
            (len(corpus) - len(corpus._without_vector(name, None))) * (corpus._dimension(name) or 0) * _BYTES_OF_NUMBER
            for name in corpus._space_names()
        )

    # -- writing -----------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all writes inside one: they are seen when the state changes. Inner blocks join the outer."""
        if self._own.held is not None:
            yield
            return
        state = self._lease.acquire(self.lock_timeout)
        try:
            if not state.version:
                self._rows.make()
            self._rows.undo(state.open)
            fork = self._own.held = self._at(state).fork()
            try:
                with fork.transaction():
                    yield
                    changes = fork.changes()
                    if changes:
                        self._ask_before_commit()
            finally:
                self._own.held = None
            if changes:
                state = self._commit(fork, changes, state)
                with suppress(CorpusError):  # what was committed is; what could not be swept is swept by the next
                    self._sweep(state)
        finally:
            self._lease.release()

    def _commit(self, fork: HeldCorpus, changes: list[Any], former: State) -> State:
        drawn = self._lease.draw(former)
        number = former.next
        # What is written up to a failure is left to the next writer: a commit that is still on its way to the server
        # cannot take effect once another has the lease, but until then nobody knows.
        self._rows.write(changes, number, drawn)
        state = self._lease.commit(drawn, fork.state_after(number))
        fork.committed(state)
        with self._looking:
            self._held = self._adopted(fork)
        return state

    def _sweep(self, state: State) -> None:
        """Remove rows that died long enough ago."""
        old = [version for version, at in state.commits if at <= time.time() - self.address.keep]
        horizon = max(old, default=0)
        if horizon > state.swept:
            # First it is said, then done: whoever reads meanwhile finds out.
            state = self._lease.sweep(state, horizon)
            self._rows.sweep(horizon, state.open)

    # -- reading -----------------------------------------------------------------------------------------------

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """The corpus as it is now, and stays in the block whatever is written meanwhile."""
        for _ in range(_TRIES):
            try:
                return self._corpus().snapshot()
            except _VersionGone:
                self._held = None
        return self._corpus().snapshot()

    def _corpus(self) -> HeldCorpus:
        """What this thread's transaction sees, else the present version."""
        return self._own.held or self._at(self._lease.state())

    def _at(self, state: State) -> HeldCorpus:
        with self._looking:
            held = self._held
            if held is None or held.state.label != state.label:
                held = self._held = self._later(held, state)
            return held

    def _later(self, former: HeldCorpus | None, state: State) -> HeldCorpus:
        """A version, from the one that is at hand and what changed since, if that can be told."""
        known = former is not None and former.state.made == state.made
        if former is None or not known or not state.swept <= former.state.version < state.version:
            return HeldCorpus(state, {}, self._loader(state))
        loaded = [name for name, view in former.views.items() if view.loaded]
        changes = self._rows.changes(loaded, former.state, state) if loaded else {}
        if loaded and self._lease.state().swept > former.state.version:
            return HeldCorpus(state, {}, self._loader(state))
        return former.later(state, changes, self._loader(state))

    def _adopted(self, fork: HeldCorpus) -> HeldCorpus:
        """A fork that was committed, as a version to read: what it did not look into is read from there."""
        return fork.later(fork.state, {}, self._loader(fork.state))

    def _loader(self, state: State) -> Any:
        def load(view: str) -> dict[str, Any]:
            values = self._rows.load(view, state)
            if self._lease.state().swept > state.version:
                raise _VersionGone(
                    f"Version {state.version} of the corpus at {self.address.label} is no longer kept.",
                    remedy="Ask again; ?keep=SECONDS keeps versions for longer.",
                )
            return values

        return load

    # -- where things are kept ---------------------------------------------------------------------------------

    def _open(self) -> HeldCorpus:
        assert self._own.held is not None, "writes happen inside a transaction"
        return self._own.held

    @property
    def version(self) -> str:
        held = self._own.held
        return self._lease.state().label if held is None else held.version

    @property
    def content_version(self) -> str:
        return self._corpus().content_version

    def __len__(self) -> int:
        return len(self._corpus())

    # -- records

    def record_ids(self) -> list[str]:
        """The ids of all records, in no particular order."""
        return self._corpus().record_ids()

    def get_records(self, record_ids: Sequence[str]) -> list[Record]:
        """Those of the records that are there, in no particular order."""
        return self._corpus().get_records(record_ids)

    def _known_records(self, record_ids: Sequence[str]) -> set[str]:
        return self._corpus()._known_records(record_ids)

    def _read_record(self, record_id: str) -> Record | None:
        return self._corpus()._read_record(record_id)

    def _all_records(self) -> Iterator[Record]:
        return self._corpus()._all_records()

    def _write_records(self, records: Sequence[Record], space: str) -> None:
        self._open()._write_records(records, space)

    def _erase_records(self, record_ids: Sequence[str]) -> None:
        self._open()._erase_records(record_ids)

    # -- spaces

    def spaces(self) -> dict[str, int | None]:
        """The named spaces of vectors with their dimensions, all as of one version."""
        return self._corpus().spaces()

    def _default_space(self) -> str:
        return self._corpus()._default_space()

    def _space_names(self) -> list[str]:
        return self._corpus()._space_names()

    def _write_space(self, name: str) -> None:
        self._open()._write_space(name)

    def _erase_space(self, name: str) -> None:
        self._open()._erase_space(name)

    def _switch_space(self, name: str) -> None:
        self._open()._switch_space(name)

    def _dimension(self, space: str) -> int | None:
        return self._corpus()._dimension(space)

    def _write_vectors(self, space: str, vectors: Mapping[str, Vector]) -> None:
        self._open()._write_vectors(space, vectors)

    def _read_vectors(self, space: str, record_ids: Sequence[str]) -> dict[str, Vector]:
        return self._corpus()._read_vectors(space, record_ids)

    def _without_vector(self, space: str, limit: int | None) -> list[str]:
        return self._corpus()._without_vector(space, limit)

    # -- nodes and edges

    def iter_nodes(self, batch: int = base.DFLT_BATCH) -> Iterator[list[Node]]:
        """Every declared node, by id."""
        return self._corpus().iter_nodes(batch)

    def iter_edges(self, batch: int = base.DFLT_BATCH) -> Iterator[list[tuple[str, list[Edge]]]]:
        """``(node_id, edges)`` of every node that edges lead out of, in the same way."""
        return self._corpus().iter_edges(batch)

    def _write_nodes(self, nodes: Sequence[Node]) -> None:
        self._open()._write_nodes(nodes)

    def _erase_nodes(self, node_ids: Sequence[str]) -> None:
        self._open()._erase_nodes(node_ids)

    def _read_nodes(self, node_ids: Sequence[str]) -> dict[str, Node]:
        return self._corpus()._read_nodes(node_ids)

    def _write_edges(self, edges: Mapping[str, Sequence[Edge]]) -> None:
        self._open()._write_edges(edges)

    def _read_edges(self, node_ids: Sequence[str]) -> dict[str, list[Edge]]:
        return self._corpus()._read_edges(node_ids)

    # -- the other views

    def _read(self, view: base.View, key: str) -> Any:
        return self._corpus()._read(view, key)

    def _read_all(self, view: base.View) -> list[tuple[str, Any]]:
        return self._corpus()._read_all(view)

    def _write(self, view: base.View, key: str, value: Any) -> None:
        with self.transaction():
            self._open()._write(view, key, value)

    def _erase(self, view: base.View, key: str) -> None:
        with self.transaction():
            self._open()._erase(view, key)
