"""Access kept in a file of this machine: for one user, or for all processes of one server."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from ir.access.tables import FORMAT, NAMES, TABLES
from ir.errors import AccessUnavailable, FormatMismatch

__all__ = ["SqliteTables"]

_PATIENCE_S = 10.0
#: Connections of a parent process, kept from being collected, which would close them.
_inherited: list[sqlite3.Connection] = []


class _Own(threading.local):
    """The connection of the step that this thread is in, if it is in one."""

    connection: sqlite3.Connection | None = None


class SqliteTables:
    """Runs statements on the file, on as many connections as threads ask at once. Only the file's owner may read it.

    The journal is written ahead, so several processes read while one writes; each statement takes effect as a whole.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self._clock = clock
        self._own = _Own()
        self._idle: deque[sqlite3.Connection] = deque()
        self._process = os.getpid()
        weakref.finalize(self, _close_all, self._idle)

    @property
    def label(self) -> str:
        return str(self.path)

    def exists(self) -> bool:
        """Whether anything was ever kept here."""
        return self.path.is_file()

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows that one statement gives; it is a transaction by itself, or part of the one that is open."""
        with self._lent() as connection, closing(connection.execute(_written(statement), tuple(values))) as cursor:
            return cursor.fetchall()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make the statements inside one step: nobody else writes meanwhile."""
        with self._lent() as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._own.connection = connection
            try:
                yield
                connection.execute("COMMIT")
            finally:
                self._own.connection = None
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def close(self) -> None:
        """Let go of the file; the next statement opens it again."""
        _close_all(self._idle)

    @contextmanager
    def _lent(self) -> Iterator[sqlite3.Connection]:
        """The connection of the step that this thread is in, else one that nobody uses."""
        if self._own.connection is not None:
            yield self._own.connection
            return
        if self._process != os.getpid():  # a connection must not be used on both sides of a fork
            self._process = os.getpid()
            _inherited.extend(self._idle)
            self._idle.clear()
        with self._translated():
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._open()
            try:
                yield connection
            finally:
                self._idle.append(connection)

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):  # SQLite would make it readable for whoever the umask lets
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        if self.path.stat().st_mode & 0o077:
            self.path.chmod(0o600)
        connection = sqlite3.connect(self.path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False)
        try:
            connection.create_function("present", 0, self._clock)
            _set_up(connection, self.path)
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise AccessUnavailable(
                f"The tokens and limits in {self.path} cannot be read or written: {error}.",
                remedy="Make the file readable and writable for this user, or name another with serve.access.",
            ) from error


def _close_all(idle: deque[sqlite3.Connection]) -> None:
    while idle:
        idle.pop().close()


def _set_up(connection: sqlite3.Connection, path: Path) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError:  # changing the mode does not wait for who else does it just now
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
    connection.execute("PRAGMA synchronous = NORMAL")
    if _format(connection) in (None, str(FORMAT)) and not _is_complete(connection):
        connection.execute("BEGIN IMMEDIATE")
        for table in TABLES:
            connection.execute(_written(table))
        connection.execute("INSERT OR IGNORE INTO about VALUES ('format', ?)", (str(FORMAT),))
        connection.execute("COMMIT")
    found = _format(connection)
    if found != str(FORMAT):
        raise FormatMismatch(
            f"The file {path} has format {found}; this version of ir knows {FORMAT}.",
            remedy="Upgrade ir-substrate, or name another file with serve.access.",
        )


def _is_complete(connection: sqlite3.Connection) -> bool:
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return _format(connection) is not None and {*NAMES} <= {str(name) for (name,) in rows}


def _format(connection: sqlite3.Connection) -> str | None:
    there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'about'").fetchone()
    row = connection.execute("SELECT value FROM about WHERE key = 'format'").fetchone() if there else None
    return None if row is None else str(row[0])


def _written(statement: str) -> str:
    return statement.replace("{at}", "").replace("{now}", "present()")
