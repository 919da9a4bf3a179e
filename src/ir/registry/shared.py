"""The entries that a PostgreSQL database keeps, for all machines whose corpora are kept there.

Each process looks at one number to know whether anything changed, so that a name that one machine gives is known to the
others in their next call.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ir.config.settings import user_setting
from ir.config.workspace import current_workspace
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.store.postgres.connections import Connection, Connections

__all__ = ["Shared", "by_default", "machine", "one_look", "shared_entries"]

#: No corpus can be kept in a schema of this name: those of corpora begin with `ir_` or `irw_`.
_SCHEMA = "irx_registry"
_TABLES = (
    f"CREATE SCHEMA IF NOT EXISTS {_SCHEMA}",
    f"CREATE TABLE IF NOT EXISTS {_SCHEMA}.entries (workspace text, name text, entry jsonb NOT NULL, "
    "machine text NOT NULL, PRIMARY KEY (workspace, name))",
    f"CREATE TABLE IF NOT EXISTS {_SCHEMA}.versions (workspace text PRIMARY KEY, version bigint NOT NULL)",
)
_LOCAL = "local"
#: What this call has looked up already, by workspace.
_looked: ContextVar[dict[str, Shared] | None] = ContextVar("ir_shared_entries", default=None)


class Shared(NamedTuple):
    """The entries of a workspace, and a number that is another after each change. ``elsewhere`` are the names of those
    that another machine gave: whether their folders are there, only that one can tell."""

    version: int
    entries: dict[str, dict[str, Any]]
    elsewhere: frozenset[str] = frozenset()


def by_default() -> str | None:
    """The address of the server that keeps new corpora; ``None`` for this machine."""
    from ir.store.opening import names_server, without_password

    address = str(user_setting("store"))
    if address == _LOCAL:
        return None
    if not names_server(address):
        raise InvalidInput(
            f"The setting store must be 'local' or the address of a server, not {without_password(address)!r}.",
            remedy="Correct it: ir config set store postgresql://user@host/database",
        )
    if without_password(address) != address:
        raise InvalidInput(
            f"The setting store is an address with a password, {without_password(address)}, and would be written down.",
            remedy="Leave the password out, and put it where the client looks: ~/.pgpass or PGPASSWORD, MILVUS_TOKEN.",
        )
    return address


def machine() -> str:
    """What this machine is called by others."""
    return socket.gethostname()


@contextmanager
def one_look() -> Iterator[None]:
    """A block in which the database is asked once what is registered: one call sees one state of it."""
    token = _looked.set({})
    try:
        yield
    finally:
        _looked.reset(token)


def shared_entries() -> Shared | None:
    """What the database keeps of the current workspace; ``None`` if names are not shared."""
    address = by_default()
    if address is None or not address.startswith(("postgresql:", "postgres:")):
        return None
    workspace, seen = current_workspace(), _looked.get()
    if seen is not None and workspace in seen:
        return seen[workspace]
    found = _database(address).read(workspace)
    if seen is not None:
        seen[workspace] = found
    return found


def change(entered: Mapping[str, Mapping[str, Any]], removed: set[str]) -> None:
    """Write and strike entries of the current workspace, all or none."""
    address = by_default()
    assert address is not None, "only names that are shared are written to a database"
    _database(address).write(current_workspace(), entered, removed)
    seen = _looked.get()
    if seen is not None:
        seen.pop(current_workspace(), None)


@lru_cache(maxsize=8)
def _database(address: str) -> _Database:
    return _Database(address)


class _Database:
    """The tables at one address."""

    def __init__(self, address: str) -> None:
        from ir.store.postgres.address import Address
        from ir.store.postgres.connections import Connections

        self._connections: Connections = Connections(Address.parse(address))
        self._known: dict[str, Shared] = {}
        self._there = False
        self._lock = threading.Lock()

    def read(self, workspace: str) -> Shared:
        with self._connections.lend() as connection:
            if not self._there and not self._is_there(connection):
                return Shared(0, {})
            version = _version(connection, workspace)
            known = self._known.get(workspace)
            if known is None or known.version != version:
                rows = connection.execute(
                    f"SELECT name, entry, machine FROM {_SCHEMA}.entries WHERE workspace = %s".encode(), (workspace,)
                ).fetchall()
                here = machine()
                known = Shared(
                    version,
                    {str(name): dict(entry) for name, entry, _ in rows},
                    frozenset(str(name) for name, _, where in rows if where != here),
                )
                self._known[workspace] = known
        return Shared(known.version, {name: dict(entry) for name, entry in known.entries.items()}, known.elsewhere)

    def write(self, workspace: str, entered: Mapping[str, Mapping[str, Any]], removed: set[str]) -> None:
        with self._lock, self._connections.lend() as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 3))", (_SCHEMA,))
            if not self._is_there(connection):
                for statement in _TABLES:
                    connection.execute(statement.encode())
            for name in removed:
                connection.execute(
                    f"DELETE FROM {_SCHEMA}.entries WHERE workspace = %s AND name = %s".encode(), (workspace, name)
                )
            for name, entry in entered.items():
                # Whoever only changes how a corpus is looked after is not where its folder is.
                connection.execute(
                    f"""INSERT INTO {_SCHEMA}.entries AS held VALUES (%s, %s, %s, %s)
                        ON CONFLICT (workspace, name) DO UPDATE SET entry = excluded.entry, machine =
                        CASE WHEN held.entry -> 'params' = excluded.entry -> 'params' THEN held.machine
                        ELSE excluded.machine END""".encode(),
                    (workspace, name, json.dumps(entry), machine()),
                )
            connection.execute(
                f"""INSERT INTO {_SCHEMA}.versions AS held VALUES (%s, 1)
                    ON CONFLICT (workspace) DO UPDATE SET version = held.version + 1""".encode(),
                (workspace,),
            )

    def _is_there(self, connection: Connection) -> bool:
        row = connection.execute("SELECT to_regclass(%s) IS NOT NULL", (f"{_SCHEMA}.versions",)).fetchone()
        self._there = bool(row and row[0])
        return self._there


def _version(connection: Connection, workspace: str) -> int:
    row = connection.execute(
        f"SELECT version FROM {_SCHEMA}.versions WHERE workspace = %s".encode(), (workspace,)
    ).fetchone()
    return int(row[0]) if row else 0
