"""The embedded store: SQLite as the truth, tantivy and faiss derived from it."""

from __future__ import annotations

import json
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from ir.base import Record, json_clean, storable
from ir.content import Content
from ir.errors import CorpusBusy, StoreUnwritable
from ir.links import Edge, Node
from ir.store.base import DFLT_BATCH, BaseStore
from ir.store.local.crash_points import reach
from ir.store.local.database import CACHE_KB, Database, Opened
from ir.store.local.edges import (
    edge_pages,
    erase_nodes,
    node_pages,
    read_edges,
    read_nodes,
    write_edges,
    write_nodes,
)
from ir.store.local.faults import corrupt, parsed, removed, translated
from ir.store.local.generation import FOLDER, Manifest, remove_folder, remove_old
from ir.store.local.lock import WriterLock
from ir.store.local.paging import entry_pages, record_pages, text_pages
from ir.store.local.scratch import scratch
from ir.store.local.snapshot import LocalSnapshot
from ir.store.local.spaces import SpaceTables, dimension, read_vectors, without_vector, write_vectors
from ir.store.local.state import State, derive_from
from ir.store.local.tables import (
    all_records,
    erase_records,
    forget_unused,
    known_ids,
    read_record,
    read_records,
    write_records,
)
from ir.store.local.term_cache import Remembered
from ir.store.local.view import Damaged, View
from ir.system import OPEN_FILES_CAN_MOVE

if TYPE_CHECKING:
    from ir.base import Vector
    from ir.protocols import Snapshot
    from ir.store.leftovers import Leftover

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
#: A log of more bytes than this is emptied after the transaction that made it so long; it would stay as long.
_LONG_LOG = 64_000_000
_LOG_READ = "a process is reading the version before; compact again when it is done"
#: A database of up to so many bytes is gone through before a build may say that there was nothing to do.
_QUICKLY_CHECKED = 100_000_000


class _Transaction(threading.local):
    """What this thread is writing, if it is."""

    connection: Opened | None = None
    written = False
    #: Whether what is derived is not true any more.
    records_written = False
    #: Whether nothing of what was derived before may be taken over.
    anew = False
    remembered: Remembered | None = None
    content: Content | None = None
    spaces: SpaceTables | None = None


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


class LocalStore(BaseStore):
    """A corpus in a folder. Several processes may read while one writes; a second writer waits, then is told."""

    def __init__(self, path: str | Path, *, lock_timeout: float = DFLT_LOCK_TIMEOUT) -> None:
        self.path = Path(path)
        self.lock_timeout = lock_timeout
        self._database = Database(self.path)
        self._home = self.path / FOLDER
        self._writer = WriterLock(self.path)
        self._opening = threading.Lock()
        self._held: View | None = None
        self._held_of: tuple[int, int] | None = None
        self._own = _Transaction()

    def __repr__(self) -> str:
        return f"LocalStore({str(self.path)!r})"

    @property
    def creates(self) -> bool:
        """Whether a write makes the corpus if it is not there; else that is an error."""
        return self._writer.makes_folder

    @creates.setter
    def creates(self, value: bool) -> None:
        self._writer.makes_folder = value

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
                if OPEN_FILES_CAN_MOVE:
                    remove_folder(self.path)
            finally:
                self._writer.release()
            if not OPEN_FILES_CAN_MOVE:  # the lock is a file in that folder
                remove_folder(self.path)
            self._database.forget()

    def move(self, folder: Path) -> None:
        """Put the corpus under another folder, after whoever is writing it; this store is closed then."""
        from ir.store.local.removing import move_folder

        with translated(self.path):
            self._writer.acquire(self.lock_timeout)
            try:
                self.close()
                if OPEN_FILES_CAN_MOVE:
                    move_folder(self.path, folder)
            finally:
                self._writer.release()
            if not OPEN_FILES_CAN_MOVE:
                move_folder(self.path, folder)
            self._database.forget()

    def copy_to(self, folder: Path) -> None:
        """Make a corpus of its own of what this one holds now, in a folder that is not there yet or empty.

        What was derived is shared by links, so the copy takes up the room of the database alone.
        """
        from ir.store.local.copying import copy_database

        with translated(self.path), self._database.lend() as connection:
            connection.execute("BEGIN")
            manifest = Manifest.parse(State.read(connection).generation)
            copy_database(connection, self._home, None if manifest is None else manifest.name, folder)

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
                if not self.creates and not self._database.exists():
                    raise removed(self.path)
                self._database.create()
                with self._database.lend() as connection:
                    connection.execute(f"PRAGMA cache_size = {-_WRITING_CACHE_KB}")
                    connection.execute("BEGIN IMMEDIATE")
                    reach("transaction:begun")
                    self._own.connection, self._own.written, self._own.records_written = connection, False, False
                    self._own.content = self._own.spaces = None
                    self._own.anew = False
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
                    with suppress(OSError, sqlite3.Error):  # what was written is written
                        self._database.empty_log(connection, at_least=_LONG_LOG)
                if current is not None:
                    with suppress(OSError):
                        remove_old(self._home, current)
            finally:
                self._writer.release()

    def _commit(self, connection: sqlite3.Connection, *, derive: bool) -> str | None:
        """Commit, and return the name of the new generation if one was made."""
        name = None
        if self._own.content is not None:
            connection.execute("UPDATE state SET content = ?", (self._own.content.dumps(),))
        if self._own.written:
            connection.execute("UPDATE state SET seq = seq + 1")
        elif derive and self._database.path.stat().st_size <= _QUICKLY_CHECKED:
            self._check(connection)
        derives = derive and self._own.records_written
        if self._own.written and self.before_commit is not None:
            # If it is too much already, what searches need would be made for nothing.
            self.before_commit(len(self), _database_bytes(connection) if derives else self.taken_up())
        if derives:
            reach("records:written")
            self._home.mkdir(exist_ok=True)
            state, remembered = State.read(connection), self._own.remembered
            manifest = derive_from(
                connection, state, self._home, self._home, durable=True, remembered=remembered, anew=self._own.anew
            )
            connection.execute("UPDATE state SET generation = ?", (manifest.dumps(),))
            connection.execute("DELETE FROM tombstones")
            connection.execute("DELETE FROM late")
            name = manifest.name
            try:
                self._ask_before_commit()
            except BaseException:
                remove_folder(self._home / name)
                raise
        reach("transaction:state-written")
        connection.execute("COMMIT")
        reach("transaction:committed")
        return name

    def taken_up(self) -> int:
        """The database and the files that searches need, once their former ones are gone; not views of branches."""
        if not self.exists():
            return 0
        with self._connection() as connection:
            size = _database_bytes(connection)
            manifest = Manifest.parse(State.read(connection).generation)
        folder = self._home / (manifest.name if manifest is not None else "none")
        with suppress(OSError):
            size += sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        return size

    # -- cleaning ----------------------------------------------------------------------------------------------

    def leftovers(self) -> list[Leftover]:
        """What takes up space here and nothing refers to any more."""
        from ir.store.local.leftovers import files_left, remains, views_left

        if not self.exists():
            return []
        with self._connection() as connection:
            manifest = Manifest.parse(State.read(connection).generation)
            files = files_left(self.path, self._home, None if manifest is None else manifest.name)
            files += views_left(self.path, compact=False)
            return [leftover for _, leftover in files] + remains(connection, manifest, self._home, self._database.log)

    def clean(self, *, compact: bool = False) -> list[Leftover]:
        """Remove that, after whoever is writing; with ``compact`` also what is left of deleted records, everywhere."""
        from ir.store.local.leftovers import files_left, remove_files, views_left

        if not self.exists():
            return []
        before = [leftover for leftover in self.leftovers() if leftover.compacting] if compact else []
        self._held = None
        if compact:
            self._make_anew()
        with translated(self.path):
            self._writer.acquire(self.lock_timeout)
            try:
                with self._database.lend() as connection:
                    manifest = Manifest.parse(State.read(connection).generation)
                    left = files_left(self.path, self._home, None if manifest is None else manifest.name)
                    done = remove_files(left + views_left(self.path, compact=compact))
                    if compact:
                        emptied = self._database.rewrite(connection)
                        done += [one if emptied else replace(one, kept=_LOG_READ) for one in before]
            finally:
                self._writer.release()
        return done

    def _make_anew(self) -> None:
        """Derive everything from the truth alone, if what was derived before holds anything that is gone."""
        with self._writing(self.lock_timeout, derive=True), self._connection() as connection:
            forget_unused(connection)
            manifest = State.read(connection).current(connection)
            if manifest is None or manifest.dead or manifest.lexical_dead:
                # A new version, so that whoever has the old one open turns to the new one.
                self._own.anew = self._own.written = self._own.records_written = True

    # -- searching ---------------------------------------------------------------------------------------------

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """The corpus as it is now, and stays in the block whatever is written meanwhile."""
        return _Reading(self)

    def begin_reading(self) -> tuple[Opened, sqlite3.Cursor | None, LocalSnapshot]:
        """A connection that stays at one version, or the one that this thread writes with, and what it sees.

        The cursor, if there is one, is what keeps it there: a statement that was not read to its end.
        """
        own = self._own.connection
        if own is not None:
            return own, None, LocalSnapshot(self._private(own, State.read(own)), own)
        connection = self._database.take()
        try:
            if connection.file != self._held_of:  # removed and built again: the same version may hold something else
                self._held, self._held_of = None, connection.file
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

    def end_reading(self, connection: Opened, version: sqlite3.Cursor | None) -> None:
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
            self._held = held.renamed(state)
        else:
            self._held = View(self._home / manifest.name, manifest, state, state.kinds(connection))
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
                view = View(home / manifest.name, manifest, state, state.kinds(connection))
            except Damaged as error:
                # The files are new, so it is what they were made from that cannot be right.
                raise corrupt(self.path) from error
        weakref.finalize(view, shutil.rmtree, home, ignore_errors=True)
        return view

    # -- where things are kept ---------------------------------------------------------------------------------

    @property
    def version(self) -> str:
        return str(self._one("SELECT seq FROM state"))

    @property
    def content_version(self) -> str:
        with self._connection() as connection:
            state = State.read(connection)
            content = self._own.content if connection is self._own.connection else None
            return (state if content is None else replace(state, content=content.dumps())).content_version()

    def __len__(self) -> int:
        return int(self._one("SELECT count(*) FROM records"))

    def record_ids(self) -> list[str]:
        """The ids of all records, in the order in which they were written."""
        return [record_id for (record_id,) in self._rows("SELECT id FROM records ORDER BY number")]

    def get_records(self, record_ids: Sequence[str]) -> list[Record]:
        """Those of the records that are there, in no particular order."""
        with self._connection() as connection:
            space = self._tables(connection).of(None)
            return read_records(connection, space, [storable(record_id) for record_id in record_ids])

    def iter_records(self, batch: int = DFLT_BATCH) -> Iterator[list[Record]]:
        """Every record in the order of writing, ``batch`` at a time; no more than those are in memory."""
        return record_pages(self._connection, batch)

    def iter_texts(self, batch: int = DFLT_BATCH) -> Iterator[list[tuple[str, str, Callable[[], Mapping[str, Any]]]]]:
        """Every record's artifact and text, in the same way; its metadata is read if somebody asks for it."""
        return text_pages(self._connection, batch)

    def iter_entries(
        self, view: Literal["ledger", "symbols"], batch: int = DFLT_BATCH
    ) -> Iterator[list[tuple[str, Any]]]:
        """Every ``(key, value)`` of the ledger or of the symbols, in the same way."""
        return entry_pages(self._connection, view, batch)

    def iter_nodes(self, batch: int = DFLT_BATCH) -> Iterator[list[Node]]:
        return node_pages(self._connection, batch)

    def iter_edges(self, batch: int = DFLT_BATCH) -> Iterator[list[tuple[str, list[Edge]]]]:
        return edge_pages(self._connection, batch)

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

    # -- records

    def _known_records(self, record_ids: Sequence[str]) -> set[str]:
        with self._connection() as connection:
            return known_ids(connection, record_ids)

    def _read_record(self, record_id: str) -> Record | None:
        with self._connection() as connection:
            return read_record(connection, self._tables(connection).of(None), record_id)

    def _all_records(self) -> Iterator[Record]:
        with self._connection() as connection:
            return iter(all_records(connection, self._tables(connection).of(None)))

    def _write_records(self, records: Sequence[Record], space: str) -> None:
        with self._connection() as connection:
            spaces = self._tables(connection)
            written = write_records(connection, records, spaces.of(space), spaces, self._content(connection))
            if self._own.remembered is not None:
                self._own.remembered.add(written, State.read(connection).analyzer())
        self._own.written = self._own.records_written = True

    def _erase_records(self, record_ids: Sequence[str]) -> None:
        with self._connection() as connection:
            if erase_records(connection, record_ids, self._tables(connection), self._content(connection)):
                self._own.written = self._own.records_written = True

    # -- spaces

    def _tables(self, connection: sqlite3.Connection) -> SpaceTables:
        """The spaces as a connection sees them; those of the open transaction are read once."""
        if connection is not self._own.connection:
            return State.read(connection).spaces()
        if self._own.spaces is None:
            self._own.spaces = State.read(connection).spaces()
        return self._own.spaces

    def _content(self, connection: sqlite3.Connection) -> Content:
        """The sums of what the open transaction holds."""
        if self._own.content is None:
            self._own.content = Content.loads(State.read(connection).content)
        return self._own.content

    def _default_space(self) -> str:
        with self._connection() as connection:
            return self._tables(connection).default

    def _space_names(self) -> list[str]:
        with self._connection() as connection:
            return list(self._tables(connection).numbers)

    def _write_space(self, name: str) -> None:
        with self._connection() as connection:
            self._tables(connection).add(connection, name)
            self._keep_spaces(connection)

    def _erase_space(self, name: str) -> None:
        with self._connection() as connection:
            self._tables(connection).drop(connection, name)
            self._content(connection).vectors.pop(name, None)
            self._keep_spaces(connection)

    def _switch_space(self, name: str) -> None:
        with self._connection() as connection:
            self._tables(connection).default = name
            self._keep_spaces(connection)

    def _keep_spaces(self, connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE state SET spaces = ?", (self._tables(connection).dumps(),))
        self._own.written = self._own.records_written = True

    def _dimension(self, space: str) -> int | None:
        with self._connection() as connection:
            return dimension(connection, self._tables(connection).of(space))

    def _write_vectors(self, space: str, vectors: Mapping[str, Vector]) -> None:
        with self._connection() as connection:
            change = write_vectors(connection, self._tables(connection).of(space), vectors)
            self._content(connection).change_vectors(space, change)
        self._own.written = self._own.records_written = True

    def _read_vectors(self, space: str, record_ids: Sequence[str]) -> dict[str, Vector]:
        with self._connection() as connection:
            return read_vectors(connection, self._tables(connection).of(space), record_ids)

    def _without_vector(self, space: str, limit: int | None) -> list[str]:
        with self._connection() as connection:
            return without_vector(connection, self._tables(connection).of(space), limit)

    # -- nodes and edges

    def _write_nodes(self, nodes: Sequence[Node]) -> None:
        with self._connection() as connection:
            change = write_nodes(connection, nodes)
            self._content(connection).change("nodes", change)
        self._own.written = self._own.written or bool(change)

    def _erase_nodes(self, node_ids: Sequence[str]) -> None:
        with self._connection() as connection:
            change = erase_nodes(connection, node_ids)
            self._content(connection).change("nodes", change)
        self._own.written = self._own.written or bool(change)

    def _read_nodes(self, node_ids: Sequence[str]) -> dict[str, Node]:
        with self._connection() as connection:
            return read_nodes(connection, node_ids)

    def _write_edges(self, edges: Mapping[str, Sequence[Edge]]) -> None:
        with self._connection() as connection:
            written, change = write_edges(connection, edges)
            self._content(connection).change("edges", change)
        self._own.written = self._own.written or written

    def _read_edges(self, node_ids: Sequence[str]) -> dict[str, list[Edge]]:
        with self._connection() as connection:
            return read_edges(connection, node_ids)

    # -- the other views

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


def _database_bytes(connection: sqlite3.Connection) -> int:
    """How large the database is with what its open transaction wrote."""
    (pages,), (size,) = (connection.execute(f"PRAGMA {name}").fetchone() for name in ("page_count", "page_size"))
    return int(pages) * int(size)
