"""The tables of a corpus and their versions: one numbered SQL file for each step."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import psycopg
from psycopg import errors, sql

from ir.errors import CorpusError, FormatMismatch
from ir.store.postgres.address import Address
from ir.store.postgres.connections import Connection
from ir.store.postgres.sums import add_up

__all__ = ["LATEST", "Migration", "applied_version", "check_version", "create_schema", "migrate", "migrations"]

#: What SQL alone cannot do of a step, for a corpus that was there before it.
_AFTERWARDS: dict[int, Callable[[Connection], None]] = {4: add_up}
_NAME = re.compile(r"(\d{4})_(\w+)\.sql")


@dataclass(frozen=True)
class Migration:
    """One step: the version it leads to, its name and its statements."""

    version: int
    name: str
    statements: str


@cache
def migrations() -> tuple[Migration, ...]:
    """Every step, in order."""
    return tuple(sorted(_read(), key=lambda step: step.version))


def _read() -> Iterator[Migration]:
    for path in files("ir.store.postgres").joinpath("migrations").iterdir():
        match = _NAME.fullmatch(path.name)
        if match:
            yield Migration(int(match[1]), match[2], path.read_text("utf-8"))


#: The version that this code reads and writes.
LATEST = migrations()[-1].version


def applied_version(connection: Connection, address: Address) -> int | None:
    """The version that the corpus's tables have; ``None`` if there are none."""
    row = connection.execute(
        "SELECT to_regclass(format('%%I.migrations', %s::text)) IS NOT NULL", (address.schema,)
    ).fetchone()
    if row is None or not row[0]:
        return None
    found = connection.execute(_named("SELECT max(version) FROM {}.migrations", address)).fetchone()
    return int(found[0]) if found and found[0] is not None else None


def check_version(connection: Connection, address: Address) -> bool:
    """Whether the corpus is there; an error if this code cannot use its tables."""
    found = applied_version(connection, address)
    if found is None:
        return False
    if found > LATEST:
        raise FormatMismatch(
            f"The corpus at {address.label} has schema version {found}; this version of ir knows {LATEST}.",
            remedy="Upgrade ir-substrate. Nothing was changed.",
        )
    if found < LATEST:
        raise FormatMismatch(
            f"The corpus at {address.label} has schema version {found}; this version of ir needs {LATEST}.",
            remedy=f"Bring it up to date with: ir store migrate {address.label}",
        )
    return True


def create_schema(connection: Connection, address: Address) -> None:
    """Make the tables of a corpus, if they are not there; all of them or none."""
    if applied_version(connection, address) is None:
        migrate(connection, address)


def migrate(connection: Connection, address: Address, *, upto: int = LATEST) -> list[Migration]:
    """Apply the steps that are missing, in one transaction; those that were applied."""
    done: list[Migration] = []
    with connection.transaction():
        connection.execute("SET LOCAL statement_timeout = 0")
        connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 1))", (address.schema,))
        found = applied_version(connection, address) or 0
        if found > LATEST:
            check_version(connection, address)
        if not found:
            _enable_vectors(connection, address)
            connection.execute(_named("CREATE SCHEMA IF NOT EXISTS {}", address))
            connection.execute(
                _named(
                    "CREATE TABLE {}.migrations (version integer PRIMARY KEY, name text NOT NULL, "
                    "applied timestamptz NOT NULL DEFAULT now())",
                    address,
                )
            )
        for step in migrations():
            if found < step.version <= upto:
                connection.execute(step.statements.encode())
                if found and step.version in _AFTERWARDS:
                    _AFTERWARDS[step.version](connection)
                record = _named("INSERT INTO {}.migrations VALUES (%s, %s)", address)
                connection.execute(record, (step.version, step.name))
                done.append(step)
    return done


def _enable_vectors(connection: Connection, address: Address) -> None:
    if connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone():
        return
    database = address.parameters.get("dbname") or connection.info.dbname
    if not connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'").fetchone():
        raise CorpusError(
            f"The PostgreSQL server of {address.label} does not have the extension pgvector.",
            remedy=f"Install pgvector on the server, then run in the database {database!r}: CREATE EXTENSION vector",
        )
    try:
        with connection.transaction():
            connection.execute("CREATE EXTENSION vector SCHEMA public")
    except (errors.InsufficientPrivilege, errors.UndefinedFile) as error:
        raise CorpusError(
            f"The extension pgvector is not enabled in the database {database!r}, and this user may not enable it.",
            remedy="Let an administrator run there: CREATE EXTENSION vector",
        ) from error
    except psycopg.errors.UniqueViolation:
        return  # somebody else enabled it at the same moment


def _named(statement: str, address: Address) -> sql.Composed:
    return sql.SQL(statement).format(sql.Identifier(address.schema))
