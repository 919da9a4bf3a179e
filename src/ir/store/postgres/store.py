"""A corpus in a schema of a PostgreSQL database: records, indexes, ledger, links and settings in one transaction."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.errors import UndefinedTable

from ir.base import Record, storable
from ir.errors import CorpusBusy, CorpusError, IrError, StoreUnwritable
from ir.store.mapping import DFLT_BATCH, CorpusStore
from ir.store.postgres import codec
from ir.store.postgres.address import Address
from ir.store.postgres.connections import Connection, Connections
from ir.store.postgres.faults import is_passing
from ir.store.postgres.nearest import remove_old_indexes
from ir.store.postgres.passing import Passings
from ir.store.postgres.schema import LATEST, applied_version, check_version, create_schema, migrate
from ir.store.postgres.snapshot import PostgresSnapshot
from ir.store.postgres.state import State
from ir.store.postgres.tables import all_records, digest, read_page, read_record, read_records
from ir.store.postgres.writing import Writing

if TYPE_CHECKING:
    from ir.protocols import Snapshot

__all__ = ["PostgresStore"]

_log = logging.getLogger(__name__)
_TRIES = 3
_EMPTY = "empty"


class _Own(threading.local):
    """What this thread is writing, if it is."""

    writing: Writing | None = None


class PostgresStore(CorpusStore):
    """A corpus at a PostgreSQL address (see :class:`Address`). Many may read while one writes.

    Nothing is connected to before it is needed, and nothing is made in the database before the first write.
    """

    def __init__(self, url: str | Address, *, lock_timeout: float | None = None) -> None:
        self.address = Address.parse(url) if isinstance(url, str) else url
        self.lock_timeout = self.address.lock_timeout if lock_timeout is None else lock_timeout
        self._primary = Connections(self.address, check_version)
        self._replica = Connections(self.address.replica, check_version) if self.address.replica else None
        self._behind: int | None = None
        self._own = _Own()
        self._passings = Passings()
        self._gave_up = ""

    def __repr__(self) -> str:
        return f"PostgresStore({self.address.label!r})"

    @classmethod
    def migrate(cls, url: str | Address) -> tuple[int, int]:
        """Bring the tables of a corpus up to date: the version before (0 if there was none) and now."""
        address = Address.parse(url) if isinstance(url, str) else url
        connections = Connections(address)
        try:
            with connections.lend() as connection:
                before = applied_version(connection, address) or 0
                migrate(connection, address)
        finally:
            connections.close()
        store = cls(address)
        try:
            store._catch_up(store.lock_timeout)
        finally:
            store.close()
        return before, LATEST

    def exists(self) -> bool:
        """Whether anything was ever written here."""
        with self._primary.lend() as connection:
            return applied_version(connection, self.address) is not None

    def drop(self) -> None:
        """Remove the corpus with all that belongs to it."""
        from psycopg import sql

        with self._primary.lend() as connection:
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(self.address.schema)))

    def close(self) -> None:
        """Let go of connections; the store can be used again."""
        self._primary.close()
        if self._replica is not None:
            self._replica.close()

    # -- writing -----------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all writes inside one, indexes included; inner blocks join the outer."""
        with self._writing(self.lock_timeout, thorough=True):
            yield

    @contextmanager
    def _write_scope(self) -> Iterator[None]:
        with self._writing(self.lock_timeout, thorough=False):
            yield

    @contextmanager
    def _writing(self, patience: float, *, thorough: bool) -> Iterator[None]:
        if self._own.writing is not None:
            yield
            return
        with self._primary.lend() as connection:
            create_schema(connection, self.address)
            writing = self._own.writing = Writing.begin(connection, self.address, patience)
            try:
                yield
                writing.commit(thorough=thorough)
            finally:
                self._own.writing = None
            if writing.writes and self._replica is not None:
                self._behind = writing.state.version
        if thorough:
            self._tidy(writing)

    def _tidy(self, writing: Writing) -> None:
        """What makes later searches faster but is no part of the transaction; nobody misses it if it fails."""
        if not (writing.large or writing.indexed_anew):
            return
        with suppress(psycopg.Error, IrError), self._primary.lend() as connection:
            connection.execute("SET statement_timeout = 0")
            try:
                if writing.indexed_anew:
                    remove_old_indexes(connection, writing.state)
                # A corpus that came in many small writes is first looked at as a whole when it gets its index.
                connection.execute("VACUUM (ANALYZE) records, postings, documents, terms")
            finally:
                connection.close()

    def put_records(self, records: Sequence[Record]) -> None:
        """Keep all of the records or, if one is not fit to be kept, none."""
        self._again(lambda: super(PostgresStore, self).put_records(records))

    def delete_records(self, record_ids: Sequence[str]) -> None:
        """Forget records; missing ones are tolerated."""
        self._again(lambda: super(PostgresStore, self).delete_records(record_ids))

    def _again(self, write: Callable[[], None]) -> None:
        """Do a write that stands by itself, again if it only collided with another."""
        for left in reversed(range(_TRIES)):
            try:
                write()
                return
            except CorpusBusy as error:
                if not left or self._own.writing is not None or not is_passing(error.__cause__ or error):
                    raise

    # -- searching ---------------------------------------------------------------------------------------------

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """The corpus as it is now, and stays in the block whatever is written meanwhile."""
        if self._own.writing is not None:
            self._own.writing.settle()
            yield PostgresSnapshot(self._own.writing.connection, self._unfinished(), Passings())
            return
        with self._reading() as connection:
            state = self._seen(connection)
            if state is None:
                with CorpusStore.memory().snapshot() as empty:
                    empty.version = _EMPTY  # type: ignore[misc]
                    yield empty
            else:
                yield PostgresSnapshot(connection, state, self._passings)

    def _seen(self, connection: Connection) -> State | None:
        """Begin a transaction that sees one version; ``None`` if there is no corpus."""
        while True:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            try:
                state = State.read(connection)
            except UndefinedTable:
                return None
            if not state.lags(self.address) or self._gave_up == state.name:
                return state
            connection.execute("ROLLBACK")
            self._gave_up = state.name  # once: on a replica, what was made may not have arrived yet
            self._catch_up(0.0)

    def _catch_up(self, patience: float) -> None:
        """Make the lexical index that the address or a new analyzer asks for, if this user may write now."""
        with suppress(CorpusBusy, StoreUnwritable):
            if self.exists():
                with self._writing(patience, thorough=True):
                    pass

    def _unfinished(self) -> State:
        from dataclasses import replace

        assert self._own.writing is not None
        writing = self._own.writing
        return replace(writing.state, birth=f"{writing.state.birth[:8]}+{id(writing):x}.{writing.writes}"[-40:])

    # -- where things are kept ---------------------------------------------------------------------------------

    @property
    def version(self) -> str:
        writing = self._own.writing
        if writing is not None:
            return f"{writing.state.name}+{id(writing):x}.{writing.writes}" if writing.writes else writing.state.name
        rows = self._rows("SELECT left(birth, 8), version FROM state")
        return f"{rows[0][0]}-{rows[0][1]}" if rows else _EMPTY

    def __len__(self) -> int:
        if self._own.writing is not None:
            return self._own.writing.state.records
        rows = self._rows("SELECT records FROM state")
        return int(rows[0][0]) if rows else 0

    def record_ids(self) -> list[str]:
        """The ids of all records, in the order in which they were written."""
        return [codec.unpacked(key) for (key,) in self._rows("SELECT id FROM records ORDER BY number")]

    def get_records(self, record_ids: Sequence[str]) -> list[Record]:
        """Those of the records that are there, in no particular order."""
        with self._reading() as connection, suppress(UndefinedTable):
            return read_records(connection, [storable(record_id) for record_id in record_ids])
        return []

    def iter_records(self, batch: int = DFLT_BATCH) -> Iterator[list[Record]]:
        """Every record in the order of writing, ``batch`` at a time; no connection is held between two of them."""
        last = 0
        while True:
            page: list[Record] = []
            with self._reading() as connection, suppress(UndefinedTable):
                last, page = read_page(connection, last, batch)
            if not page:
                return
            yield page

    def iter_entries(self, view: str, batch: int = DFLT_BATCH) -> Iterator[list[tuple[str, Any]]]:
        """Every ``(key, value)`` of the ledger or of the links, in the same way."""
        if self._own.writing is not None:
            self._own.writing.flush()
        last = ""
        query = f"SELECT md5(key), key, value::text FROM {view} WHERE md5(key) > %s ORDER BY md5(key) LIMIT %s"
        while rows := self._rows(query, last, batch):
            yield [(codec.unpacked(key), codec.loads(value)) for _, key, value in rows]
            last = rows[-1][0]

    def ledger_fields(self, *names: str) -> list[tuple[Any, ...]]:
        """The named fields of every ledger entry, without the rest of it."""
        columns = ", ".join("(value -> %s)::text" for _ in names)
        rows = self._rows(f"SELECT {columns} FROM ledger", *names)
        return [tuple(None if text is None else codec.loads(text) for text in row) for row in rows]

    def _dimension(self) -> int | None:
        if self._own.writing is not None:
            return self._own.writing.state.dim if self._own.writing.state.records else None
        rows = self._rows("SELECT dim FROM state WHERE records > 0")
        return rows[0][0] if rows else None

    def _read_record(self, record_id: str) -> Record | None:
        with self._reading() as connection, suppress(UndefinedTable):
            return read_record(connection, record_id)
        return None

    def _all_records(self) -> Iterator[Record]:
        with self._reading() as connection, suppress(UndefinedTable):
            return iter(all_records(connection))
        return iter(())

    def _write_records(self, records: Sequence[Record]) -> None:
        self._open().put(records)

    def _erase_records(self, record_ids: Sequence[str]) -> None:
        self._open().erase(record_ids)

    def _read(self, view: str, key: str) -> Any:
        writing = self._own.writing
        if view == "config":
            text = writing.state.config if writing else self._one("SELECT config::text FROM state")
        else:
            text = writing.held(view, key) if writing else None
            if text is None:
                name = codec.packed(key)
                query = f"SELECT value::text FROM {view} WHERE md5(key) = %s AND key = %s"
                text = self._one(query, digest(name), name)
        return None if text is None else codec.loads(text)

    def _read_all(self, view: str) -> list[tuple[str, Any]]:
        if self._own.writing is not None:
            self._own.writing.flush()
        rows = self._rows(f'SELECT key, value::text FROM {view} ORDER BY key COLLATE "C"')
        return [(codec.unpacked(key), codec.loads(value)) for key, value in rows]

    def _write(self, view: str, key: str, value: Any) -> None:
        def write() -> None:
            with self._write_scope():
                if view == "config":
                    self._open().configure(value)
                else:
                    self._open().write(view, key, value)

        self._again(write)

    def _erase(self, view: str, key: str) -> None:
        def erase() -> None:
            with self._write_scope():
                self._open().remove(view, key)

        self._again(erase)

    def _open(self) -> Writing:
        assert self._own.writing is not None, "writes happen inside a transaction"
        return self._own.writing

    # -- connections -------------------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """The open transaction's connection, else one to read with: the replica's, once it has our own writes."""
        if self._own.writing is not None:
            yield self._own.writing.connection
            return
        with ExitStack() as stack:
            connection = self._from_replica(stack)
            yield stack.enter_context(self._primary.lend()) if connection is None else connection

    def _from_replica(self, stack: ExitStack) -> Connection | None:
        if self._replica is None:
            return None
        try:
            connection = stack.enter_context(self._replica.lend())
            if self._behind is not None:
                row = connection.execute("SELECT version FROM state").fetchone()
                if row is None or int(row[0]) < self._behind:
                    return None
                self._behind = None
            return connection
        except UndefinedTable:
            return None
        except CorpusError as error:
            _log.warning("Reading from the primary: %s", error)
            return None

    def _rows(self, query: str, *parameters: Any) -> list[Any]:
        with self._reading() as connection:
            try:
                return connection.execute(query.encode(), parameters).fetchall()
            except UndefinedTable:
                if self._own.writing is not None:
                    raise
                return []

    def _one(self, query: str, *parameters: Any) -> Any:
        rows = self._rows(query, *parameters)
        return rows[0][0] if rows else None
