"""The embedded store: SQLite as the truth, tantivy and faiss derived from it."""

from __future__ import annotations

import json
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ir.base import Record, json_clean, storable
from ir.errors import CorpusBusy, StoreUnwritable
from ir.store.local.database import CACHE_KB, Database
from ir.store.local.faults import corrupt, parsed, translated
from ir.store.local.generation import FOLDER, Manifest, remove_old
from ir.store.local.lock import WriterLock
from ir.store.local.paging import entry_pages, record_pages
from ir.store.local.points import reach
from ir.store.local.remembered import Remembered
from ir.store.local.scratch import scratch
from ir.store.local.snapshot import LocalSnapshot
from ir.store.local.state import State, derive_from
from ir.store.local.tables import all_records, erase_records, read_record, read_records, write_records
from ir.store.local.view import Damaged, View
from ir.store.mapping import DFLT_BATCH, CorpusStore

if TYPE_CHECKING:
    from ir.protocols import Snapshot

__all__ = ["LocalStore"]

#: How long a writer waits for another one, in seconds.
DFLT_LOCK_TIMEOUT = 10.0
#: Pages that a transaction touches again and again, those of keys in random order, should not be written each time.
_WRITING_CACHE_KB = 64_000
#: The version, and a row more: until that is read, the statement goes on and nothing that others write is seen. One
#: statement in place of three (begin, look, roll back) is worth a fiftieth of a search.
_VERSION = "SELECT seq FROM state UNION ALL SELECT NULL"
#: How often a reader brings the derived files up to date before it makes some for itself.
_CATCHING_UP = 3
#: A database of up to so many bytes is gone through before a build may say that there was nothing to do.
_QUICKLY_CHECKED = 100_000_000


class _Transaction(threading.local):
    """What this thread is writing, if it is."""

    connection: sqlite3.Connection | None = None
    written = False
    records_written = False
    remembered: Remembered | None = None


class _Reading:
    """The block of a snapshot. A class of its own, as every search enters it."""

    __slots__ = ("_connection", "_store", "_version")

    def __init__(self, store: LocalStore) -> None:
        self._store = store

    def __enter__(self) -> Snapshot:
        try:
            self._connection, self._version, snapshot = self._store.begin_reading()
        except BaseException:
            with translated(self._store.path):
                raise
        return snapshot

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.end_reading(self._connection, self._version)
        if error is not None:
            translated(self._store.path).__exit__(kind, error, trace)


class LocalStore(CorpusStore):
    """A corpus in a folder. Several processes may read while one writes; a second writer waits, then is told."""

    def __init__(self, path: str | Path, *, lock_timeout: float = DFLT_LOCK_TIMEOUT) -> None:
        self.path = Path(path)
        self.lock_timeout = lock_timeout
        self._database = Database(self.path)
        self._home = self.path / FOLDER
        self._writer = WriterLock(self.path)
        self._opening = threading.Lock()
        self._held: View | None = None
        self._own = _Transaction()

    def __repr__(self) -> str:
        return f"LocalStore({str(self.path)!r})"

    def exists(self) -> bool:
        """Whether anything was ever written here."""
        return self._database.exists()

    def writer(self) -> str | None:
        """Who is writing here now, as in ``"process 4711"``; ``None`` if nobody is."""
        return self._writer.holder()

    def close(self) -> None:
        """Let go of connections and open files; the store can be used again."""
        self._held = None
        self._database.close()

    def remove(self) -> None:
        """Take the corpus off the disk, after whoever is writing it. If that fails, it stays as it was."""
        from ir.store.local.removing import remove_folder  # what it imports takes longer than opening a corpus

        with translated(self.path):
            self._writer.acquire(self.lock_timeout)
            try:
                self.close()
                remove_folder(self.path)
            finally:
                self._writer.release()

    def check(self) -> None:
        """Go through the whole database; :class:`~ir.errors.CorpusCorrupt` if it is damaged anywhere."""
        with self._connection() as connection:
            self._check(connection)

    def _check(self, connection: sqlite3.Connection) -> None:
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise corrupt(self.path)

    # -- writing -----------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all writes inside one, with the derived files of the result; inner blocks join the outer."""
        with self._writing(self.lock_timeout, derive=True):
            yield

    @contextmanager
    def _write_scope(self) -> Iterator[None]:
        """A write by itself: the derived files catch up with it at the next search."""
        with self._writing(self.lock_timeout, derive=False):
            yield

    @contextmanager
    def _writing(self, patience: float, *, derive: bool) -> Iterator[None]:
        if self._own.connection is not None:
            yield
            return
        with translated(self.path):
            self._writer.acquire(patience)
            try:
                self._database.create()
                with self._database.lend() as connection:
                    connection.execute(f"PRAGMA cache_size = {-_WRITING_CACHE_KB}")
                    connection.execute("BEGIN IMMEDIATE")
                    reach("transaction:begun")
                    self._own.connection, self._own.written, self._own.records_written = connection, False, False
                    self._own.remembered = Remembered(self.path) if derive else None
                    try:
                        yield
                        current = self._commit(connection, derive=derive)
                    finally:
                        remembered = self._own.remembered
                        self._own.connection, self._own.remembered = None, None
                        if remembered is not None:
                            remembered.close()
                        connection.execute(f"PRAGMA cache_size = {-CACHE_KB}")
                if current is not None:
                    with suppress(OSError):
                        remove_old(self._home, current)
            finally:
                self._writer.release()

    def _commit(self, connection: sqlite3.Connection, *, derive: bool) -> str | None:
        """Commit, and return the name of the new generation if one was made."""
        name = None
        if self._own.written:
            connection.execute("UPDATE state SET seq = seq + 1")
        elif derive and self._database.path.stat().st_size <= _QUICKLY_CHECKED:
            self._check(connection)
        if derive and self._own.records_written:
            reach("records:written")
            self._home.mkdir(exist_ok=True)
            state, remembered = State.read(connection), self._own.remembered
            manifest = derive_from(connection, state, self._home, self._home, durable=True, remembered=remembered)
            connection.execute("UPDATE state SET generation = ?", (manifest.dumps(),))
            connection.execute("DELETE FROM tombstones")
            name = manifest.name
        reach("transaction:state-written")
        connection.execute("COMMIT")
        reach("transaction:committed")
        return name

    # -- searching ---------------------------------------------------------------------------------------------

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """The corpus as it is now, and stays in the block whatever is written meanwhile."""
        return _Reading(self)

    def begin_reading(self) -> tuple[sqlite3.Connection, sqlite3.Cursor | None, LocalSnapshot]:
        """A connection that stays at one version, or the one that this thread writes with, and what it sees.

        The cursor, if there is one, is what keeps it there: a statement that was not read to its end.
        """
        own = self._own.connection
        if own is not None:
            return own, None, LocalSnapshot(self._private(own, State.read(own)), own)
        connection = self._database.take()
        try:
            held = self._held
            if held is not None:
                version = connection.execute(_VERSION)
                if version.fetchone()[0] == held.seq:
                    return connection, version, LocalSnapshot(held, connection)
                version.close()
            connection.execute("BEGIN")
            return connection, None, LocalSnapshot(self._current_view(connection), connection)
        except BaseException:
            self._database.give_back(connection)
            raise

    def end_reading(self, connection: sqlite3.Connection, version: sqlite3.Cursor | None) -> None:
        if version is not None:
            version.close()
        if connection is not self._own.connection:
            self._database.give_back(connection)

    def _current_view(self, connection: sqlite3.Connection) -> View:
        """The view of the version that the connection sees, catching up or rebuilding where files lag or fail."""
        damaged = None
        tries = 0
        while True:
            state = State.read(connection)
            if self._held is not None and self._held.seq == state.seq:
                return self._held
            with self._opening:
                manifest = state.current(connection)
                if manifest is not None and manifest.name != damaged:
                    with suppress(Damaged):
                        return self._open(manifest, state, connection)
                    # It may only have been replaced and removed while we looked: look again, once.
                    damaged = manifest.name
                    connection.execute("ROLLBACK")
                    connection.execute("BEGIN")
                    continue
            tries += 1
            # Others may write as fast as we catch up, and a damaged database never looks caught up.
            if tries > _CATCHING_UP or not self._caught_up(connection):
                with self._opening:
                    self._held = self._private(connection, State.read(connection))
                    return self._held

    def _open(self, manifest: Manifest, state: State, connection: sqlite3.Connection) -> View:
        held = self._held
        if held is not None and held.manifest.name == manifest.name:
            self._held = held.renamed(state.seq, state.settings())
        else:
            self._held = View(
                self._home / manifest.name, manifest, state.seq, state.settings(), state.kinds(connection)
            )
        return self._held

    def _caught_up(self, connection: sqlite3.Connection) -> bool:
        """Try to bring the derived files up to date for everybody; ``False`` if this process may not write now."""
        connection.execute("ROLLBACK")
        try:
            if self._database.exists():
                with self._writing(0.0, derive=True):
                    self._own.records_written = True
                return True
        except (CorpusBusy, StoreUnwritable):
            pass
        finally:
            connection.execute("BEGIN")
        return False

    def _private(self, connection: sqlite3.Connection, state: State) -> View:
        """Derived files for this process alone, gone with it."""
        import shutil

        with scratch() as home:
            manifest = derive_from(connection, state, self._home, home, durable=False)
            try:
                view = View(home / manifest.name, manifest, state.seq, state.settings(), state.kinds(connection))
            except Damaged as error:
                # The files are new, so it is what they were made from that cannot be right.
                raise corrupt(self.path) from error
        weakref.finalize(view, shutil.rmtree, home, ignore_errors=True)
        return view

    # -- where things are kept ---------------------------------------------------------------------------------

    @property
    def version(self) -> str:
        return str(self._one("SELECT seq FROM state"))

    def __len__(self) -> int:
        return int(self._one("SELECT count(*) FROM records"))

    def record_ids(self) -> list[str]:
        """The ids of all records, in the order in which they were written."""
        return [record_id for (record_id,) in self._rows("SELECT id FROM records ORDER BY number")]

    def get_records(self, record_ids: Sequence[str]) -> list[Record]:
        """Those of the records that are there, in no particular order."""
        with self._connection() as connection:
            return read_records(connection, [storable(record_id) for record_id in record_ids])

    def iter_records(self, batch: int = DFLT_BATCH) -> Iterator[list[Record]]:
        """Every record in the order of writing, ``batch`` at a time; no more than those are in memory."""
        return record_pages(self._connection, batch)

    def iter_entries(self, view: str, batch: int = DFLT_BATCH) -> Iterator[list[tuple[str, Any]]]:
        """Every ``(key, value)`` of the ledger or of the links, in the same way."""
        return entry_pages(self._connection, view, batch)

    def set_ledger_entries(self, entries: Mapping[str, Mapping[str, Any]]) -> None:
        """Write the ledger's entries for many keys at once."""
        rows = [(storable(key), _cleaned(entry)) for key, entry in entries.items()]
        with self._write_scope(), self._connection() as connection:
            connection.executemany("INSERT OR REPLACE INTO ledger VALUES (?, ?)", rows)
            self._own.written = self._own.written or bool(rows)

    def ledger_fields(self, *names: str) -> list[tuple[Any, ...]]:
        """The named fields of every ledger entry, without the rest of it."""
        columns = ", ".join("json_extract(value, ?)" for _ in names)
        return self._rows(f"SELECT {columns} FROM ledger", *(f'$."{name}"' for name in names))

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """The open transaction's connection, else one to read with."""
        if self._own.connection is not None:
            yield self._own.connection
        else:
            with translated(self.path), self._database.lend() as connection:
                yield connection

    def _dimension(self) -> int | None:
        size = self._one("SELECT length(vector) FROM vectors LIMIT 1")
        return None if size is None else int(size) // 4

    def _read_record(self, record_id: str) -> Record | None:
        with self._connection() as connection:
            return read_record(connection, record_id)

    def _all_records(self) -> Iterator[Record]:
        with self._connection() as connection:
            return iter(all_records(connection))

    def _write_records(self, records: Sequence[Record]) -> None:
        with self._connection() as connection:
            written = write_records(connection, records)
            if self._own.remembered is not None:
                self._own.remembered.add(written, State.read(connection).analyzer())
        self._own.written = self._own.records_written = True

    def _erase_records(self, record_ids: Sequence[str]) -> None:
        with self._connection() as connection:
            if erase_records(connection, record_ids):
                self._own.written = self._own.records_written = True

    def _read(self, view: str, key: str) -> Any:
        if view == "config":
            text = self._one("SELECT config FROM state")
        else:
            text = self._one(f"SELECT value FROM {view} WHERE key = ?", key)
        return None if text is None else parsed(text)

    def _read_all(self, view: str) -> list[tuple[str, Any]]:
        return [(key, parsed(value)) for key, value in self._rows(f"SELECT key, value FROM {view} ORDER BY key")]

    def _write(self, view: str, key: str, value: Any) -> None:
        text = _dumped(value)
        with self._write_scope(), self._connection() as connection:
            if view == "config":
                connection.execute("UPDATE state SET config = ?", (text,))
            else:
                connection.execute(f"INSERT OR REPLACE INTO {view} VALUES (?, ?)", (key, text))
            self._own.written = True

    def _erase(self, view: str, key: str) -> None:
        with self._write_scope(), self._connection() as connection:
            if connection.execute(f"DELETE FROM {view} WHERE key = ?", (key,)).rowcount:
                self._own.written = True

    def _rows(self, query: str, *parameters: Any) -> list[Any]:
        with self._connection() as connection:
            return connection.execute(query, parameters).fetchall()

    def _one(self, query: str, *parameters: Any) -> Any:
        rows = self._rows(query, *parameters)
        return rows[0][0] if rows else None


_plain_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _cleaned(entry: Mapping[str, Any]) -> str:
    """As JSON; what JSON has no word for is converted, which is rarely needed."""
    try:
        text = _plain_json.encode(entry)
    except (TypeError, ValueError):
        return _dumped(json_clean(entry))
    return storable(text)
