"""A corpus in PostgreSQL with pgvector: the truth and every index of it in one database, shared by a team."""

from __future__ import annotations

from ir.errors import MissingExtra

try:
    import psycopg as _psycopg
except ImportError as error:
    raise MissingExtra("psycopg", "postgres", "A corpus in PostgreSQL") from error

from ir.store.postgres.address import Address
from ir.store.postgres.schema import LATEST
from ir.store.postgres.store import PostgresStore

__all__ = ["LATEST", "Address", "PostgresStore"]

del _psycopg
