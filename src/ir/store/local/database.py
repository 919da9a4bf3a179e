"""The SQLite file that is the truth of a corpus."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import deque
from pathlib import Path

from ir.errors import FormatMismatch

__all__ = ["CACHE_KB", "DATABASE", "FORMAT", "Database"]

DATABASE = "corpus.db"
#: Raised whenever an older ``ir`` could misread what is written.
FORMAT = 1
#: How much of the file a connection keeps in memory.
CACHE_KB = 16_000
_APPLICATION = 0x69722D31

_SCHEMA = """
CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL, generation TEXT, config TEXT);
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
CREATE TABLE vectors (number INTEGER PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE tombstones (number INTEGER PRIMARY KEY, seq INTEGER NOT NULL);
CREATE TABLE ledger (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE links (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE calibration (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO state VALUES (1, 0, NULL, NULL);
"""


class Database:
    """Connections to one database file, lent out one user at a time.

    A file that does not exist reads as an empty corpus; it is made by the first :meth:`create`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / DATABASE
        self._name = str(self.path)
        self._idle: deque[sqlite3.Connection] = deque()
        self._process = os.getpid()

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

    def give_back(self, connection: sqlite3.Connection) -> None:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        self._idle.append(connection)

    def close(self) -> None:
        """Close the connections that nobody uses."""
        while self._idle:
            connection = self._idle.popleft()
            if self._process == os.getpid():
                connection.close()

    def take(self) -> sqlite3.Connection:
        if self._process != os.getpid():
            # A connection must not be used, not even closed, on both sides of a fork.
            self._process = os.getpid()
            _inherited.extend(self._idle)
            self._idle = deque()
        if not self.exists():
            return _empty()
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return self._connect()
            if not isinstance(connection, _Empty):
                return connection
            connection.close()

    def _connect(self) -> sqlite3.Connection:
        connection = self._open()
        try:
            self._check(connection)
            connection.execute("PRAGMA synchronous = FULL")
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

    def _open(self) -> sqlite3.Connection:
        """A connection that can read, for writing too if the folder allows it.

        A reader of a WAL database needs a shared-memory file beside it. Where none can be made and no log is
        pending, the file cannot change under us and is opened as immutable.
        """
        if os.access(self.folder, os.W_OK) and os.access(self.path, os.W_OK):
            return sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
        pending = self.path.with_name(DATABASE + "-wal")
        mode = "mode=ro" if pending.exists() and pending.stat().st_size else "immutable=1"
        address = f"{self.path.absolute().as_uri()}?{mode}"
        return sqlite3.connect(address, uri=True, timeout=30, isolation_level=None, check_same_thread=False)

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

    def __enter__(self) -> sqlite3.Connection:
        self._connection = self._database.take()
        return self._connection

    def __exit__(self, *fault: object) -> None:
        self._database.give_back(self._connection)


class _Empty(sqlite3.Connection):
    """Stands for a database that is not there yet."""


#: Connections of a parent process, kept from being collected, which would close them.
_inherited: list[sqlite3.Connection] = []


def _empty() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, factory=_Empty)
    connection.executescript(_SCHEMA)
    return connection
