"""Access kept in a PostgreSQL database, in a schema of its own: for processes on several machines."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ir.access.tables import FORMAT, NAMES, TABLES
from ir.errors import AccessUnavailable, CorpusError, FormatMismatch
from ir.store.postgres.address import Address
from ir.store.postgres.connections import Connection, Connections

__all__ = ["PostgresTables"]

#: No corpus can be kept in a schema of this name: those of corpora begin with `ir_` or `irw_`.
_SCHEMA = "irx_access"
_NOW = "extract(epoch FROM clock_timestamp())::double precision"
_FORMAT = "SELECT value FROM {at}about WHERE key = 'format'"
#: Waiting longer for an answer would only pile up calls.
_PATIENCE_S = 5.0


class PostgresTables:
    """Runs statements on the server, each thread on a connection of its own, lent for the time it takes.

    The present is told by the server's clock, so that processes on machines whose clocks differ share one.
    """

    def __init__(self, address: str) -> None:
        from dataclasses import replace

        parsed = Address.parse(address)
        self._address = replace(parsed, timeout=min(parsed.timeout, _PATIENCE_S), replica=None)
        self._connections = Connections(self._address)
        self._own = threading.local()
        self._ready = False

    @property
    def label(self) -> str:
        return self._address.label.rpartition("/")[0]

    def exists(self) -> bool:
        """Whether anything was ever kept here."""
        with self._lent() as connection:
            return _is_there(connection)

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """The rows that one statement gives; it is a transaction by itself, or part of the one that is open."""
        held: Connection | None = getattr(self._own, "connection", None)
        if held is not None:
            return _rows(held, statement, values)
        with self._lent() as connection:
            self._set_up(connection)
            return _rows(connection, statement, values)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make the statements inside one step: nobody else changes what a workspace holds meanwhile."""
        with self._lent() as connection:
            self._set_up(connection)
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 3))", (_SCHEMA,))
                self._own.connection = connection
                try:
                    yield
                finally:
                    self._own.connection = None

    def close(self) -> None:
        """Let go of connections; the next statement makes one."""
        self._connections.close()

    @contextmanager
    def _lent(self) -> Iterator[Connection]:
        try:
            with self._connections.lend() as connection:
                yield connection
        except CorpusError as error:
            if isinstance(error, FormatMismatch):
                raise
            raise AccessUnavailable(
                f"The tokens and limits at {self.label} cannot be read or written now: {error.message}",
                remedy=error.remedies,
            ) from error

    def _set_up(self, connection: Connection) -> None:
        if self._ready:
            return
        if not _is_complete(connection):
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 3))", (_SCHEMA,))
                connection.execute(f"CREATE SCHEMA IF NOT EXISTS {_SCHEMA}".encode())
                for table in TABLES:
                    _rows(connection, table, ())
                _rows(connection, "INSERT INTO {at}about VALUES ('format', ?) ON CONFLICT DO NOTHING", (str(FORMAT),))
        found = _rows(connection, _FORMAT, ())
        if found != [(str(FORMAT),)]:
            raise FormatMismatch(
                f"The tokens and limits at {self.label} have format {found[0][0] if found else '?'}; this version of "
                f"ir knows {FORMAT}.",
                remedy="Upgrade ir-substrate, or name another place with serve.access.",
            )
        self._ready = True


def _is_there(connection: Connection) -> bool:
    return bool(_tables(connection))


def _is_complete(connection: Connection) -> bool:
    """Whether nothing has to be made: all tables are there, or those of another version, which are left alone."""
    there = _tables(connection)
    if {*NAMES} <= there:
        return True
    return "about" in there and _rows(connection, _FORMAT, ()) not in ([], [(str(FORMAT),)])


def _tables(connection: Connection) -> set[str]:
    rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (_SCHEMA,)).fetchall()
    return {str(name) for (name,) in rows}


def _rows(connection: Connection, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    written = statement.replace("{at}", f"{_SCHEMA}.").replace("{now}", _NOW)
    cursor = connection.execute(written.replace("?", "%s").encode(), tuple(values))
    return cursor.fetchall() if cursor.description is not None else []
