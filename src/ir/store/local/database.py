"""The SQLite file that is the truth of a corpus."""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import weakref
from collections import deque
from pathlib import Path

from ir.errors import FormatMismatch
from ir.store.local.crash_points import reach
from ir.store.local.faults import removed
from ir.store.local.schema import GRAPH
from ir.store.local.upgrading import upgrade

__all__ = ["CACHE_KB", "DATABASE", "FORMAT", "Database", "Opened"]

DATABASE = "corpus.db"
#: Raised whenever an older ``ir`` could misread what is written.
FORMAT = 2
#: How much of the file a connection keeps in memory.
CACHE_KB = 16_000
#: How long a connection waits for another one, in milliseconds.
_PATIENCE_MS = 30_000
_APPLICATION = 0x69722D31

_SCHEMA = f"""
CREATE TABLE state (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seq INTEGER NOT NULL,
    generation TEXT,
    config TEXT,
    content TEXT,
    spaces TEXT
);
CREATE TABLE artifacts (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
CREATE TABLE kinds (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE records (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    artifact INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    surface_index INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE TABLE vectors_0 (number INTEGER PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE tombstones (number INTEGER PRIMARY KEY, seq INTEGER NOT NULL);
CREATE TABLE ledger (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE calibration (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
{GRAPH}
INSERT INTO state VALUES (1, 0, NULL, NULL, NULL, NULL);
"""


class Opened(sqlite3.Connection):
    """A connection that knows which file it reads: one of the same name may since have taken its place."""

    file: tuple[int, int] | None = None


class Database:
    """Connections to one database file, lent out one user at a time.

    A file that was never there reads as an empty corpus; it is made by the first :meth:`create`. One that was there
    and is gone was removed by somebody else, which is an error: nobody should take that for an empty corpus.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / DATABASE
        self._name = str(self.path)
        self._idle: deque[Opened] = deque()
        self._found = False
        self._owner = [os.getpid()]
        if sys.version_info >= (3, 13):  # warns of connections that are only forgotten
            weakref.finalize(self, _forget, self._idle, self._owner).atexit = False

    def exists(self) -> bool:
        return os.path.exists(self._name)  # noqa: PTH110 - asked by every search, and a path takes thrice as long

    def create(self) -> None:
        """Make the folder and the file, if they are not there; a crash half-way leaves nothing that is read."""
        if self.exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        aside = self.folder / f".{DATABASE}-{os.getpid()}-{threading.get_ident()}"
        aside.unlink(missing_ok=True)
        connection = sqlite3.connect(aside, isolation_level=None)
        try:
            connection.execute("PRAGMA page_size = 8192")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;")
        finally:
            connection.close()
        try:
            os.link(aside, self.path)
        except FileExistsError:
            pass
        except OSError:
            if self.exists():
                raise
            aside.rename(self.path)  # a file system without links; whoever writes has the lock
        finally:
            aside.unlink(missing_ok=True)

    def lend(self) -> Loan:
        """A connection for one user, as a block; a transaction left open is rolled back."""
        return Loan(self)

    def give_back(self, connection: Opened) -> None:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        if connection.file is None:
            connection.close()
        else:
            self._idle.append(connection)

    def close(self) -> None:
        """Close the connections that nobody uses."""
        _close_all(self._idle, self._owner)

    @property
    def log(self) -> Path:
        return self.path.with_name(f"{DATABASE}-wal")

    def rewrite(self, connection: Opened) -> bool:
        """Write the file anew, without free pages and without a log; whether nobody was in need of the old ones."""
        connection.execute("PRAGMA temp_store = FILE")  # it is written to a temporary file first, as large as it is
        try:
            connection.execute("VACUUM")
        finally:
            connection.execute("PRAGMA temp_store = MEMORY")
        reach("database:rewritten")
        return self.empty_log(connection)

    def empty_log(self, connection: Opened, *, at_least: int = 1) -> bool:
        """Cut the log off, if it has so many bytes and no reader is in need of it; whether it is shorter than that.

        SQLite writes over a log that it is done with, but leaves it as long as it ever was.
        """
        if not self.log.exists() or self.log.stat().st_size < at_least:
            return True
        connection.execute("PRAGMA busy_timeout = 0")
        try:
            (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            connection.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
        reach("log:emptied")
        return not busy

    def forget(self) -> None:
        """The file was removed by whoever uses this, who may go on as if it had never been there."""
        self._found = False

    def take(self) -> Opened:
        if self._owner != [os.getpid()]:
            self.close()
            self._owner[:] = [os.getpid()]
        try:
            there = os.stat(self._name)  # noqa: PTH116 - asked by every search, and a path takes thrice as long
        except OSError as error:
            if not self._found:
                return _empty()
            if isinstance(error, FileNotFoundError | NotADirectoryError):
                raise removed(self.folder) from None
            raise
        self._found = True
        file = (there.st_dev, there.st_ino)
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return self._connect(file)
            if connection.file == file:
                return connection
            connection.close()

    def _connect(self, file: tuple[int, int]) -> Opened:
        connection = self._open()
        connection.file = file
        try:
            upgrade(connection, _APPLICATION)
            self._check(connection)
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")  # what is deleted is written over
            connection.execute(f"PRAGMA cache_size = {-CACHE_KB}")
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("PRAGMA wal_autocheckpoint = 4000")
        except UnicodeDecodeError as error:
            connection.close()
            raise sqlite3.DatabaseError("malformed schema") from error  # its own message cannot be read
        except BaseException:
            connection.close()
            raise
        return connection

    def _open(self) -> Opened:
        """A connection that can read, for writing too if the folder allows it.

        A reader of a WAL database needs a shared-memory file beside it. Where none can be made and no log is
        pending, the file cannot change under us and is opened as immutable.
        """
        if os.access(self.folder, os.W_OK) and os.access(self.path, os.W_OK):
            return sqlite3.connect(
                self.path, timeout=_PATIENCE_MS / 1000, isolation_level=None, check_same_thread=False, factory=Opened
            )
        pending = self.path.with_name(DATABASE + "-wal")
        mode = "mode=ro" if pending.exists() and pending.stat().st_size else "immutable=1"
        address = f"{self.path.absolute().as_uri()}?{mode}"
        return sqlite3.connect(
            address,
            uri=True,
            timeout=_PATIENCE_MS / 1000,
            isolation_level=None,
            check_same_thread=False,
            factory=Opened,
        )

    def _check(self, connection: sqlite3.Connection) -> None:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (found,) = connection.execute("PRAGMA user_version").fetchone()
        if application == _APPLICATION and found == FORMAT:
            return
        if application == _APPLICATION and found > FORMAT:
            raise FormatMismatch(
                f"The corpus at {self.folder} has format {found}; this version of ir reads format {FORMAT}.",
                remedy="Upgrade ir-substrate, or remove the folder and build the corpus again.",
            )
        raise FormatMismatch(
            f"The corpus at {self.folder} has format {found}, which this version of ir (format {FORMAT}) cannot read.",
            remedy="Remove the folder and build the corpus again.",
        )


class Loan:
    """A connection out of the pool and back."""

    __slots__ = ("_connection", "_database")

    def __init__(self, database: Database) -> None:
        self._database = database

    def __enter__(self) -> Opened:
        self._connection = self._database.take()
        return self._connection

    def __exit__(self, *fault: object) -> None:
        self._database.give_back(self._connection)


#: Connections of a parent process, kept from being collected, which would close them.
_inherited: list[Opened] = []


def _close_all(idle: deque[Opened], owner: list[int]) -> None:
    """Close connections; those of a parent process must not be used, not even closed, on both sides of a fork."""
    ours = owner == [os.getpid()]
    while idle:
        connection = idle.popleft()
        if ours:
            connection.close()
        else:
            _inherited.append(connection)


def _forget(idle: deque[Opened], owner: list[int]) -> None:
    """Close what nobody closed; the log stays, which a reader could not make anew where the disk is full."""
    if sys.version_info >= (3, 13) and owner == [os.getpid()]:
        for connection in idle:
            connection.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)
    _close_all(idle, owner)


def _empty() -> Opened:
    """Stands for a database that is not there yet."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, factory=Opened)
    connection.executescript(_SCHEMA)
    return connection
