"""The tables of tokens, workspaces, limits, usage and notices of jobs, in SQL that SQLite and PostgreSQL understand.

``?`` stands for a value, ``{now}`` for the present as seconds since 1970, told by a clock that all processes share, and
``{at}`` for what the tables' names begin with.
"""

from __future__ import annotations

__all__ = ["FORMAT", "NAMES", "TABLES"]

#: Raised when the tables change; an older program refuses a newer one.
FORMAT = 1
#: A table that came later is added where it is missing.
NAMES = ("about", "tokens", "workspaces", "jobs", "buckets", "usage")

TABLES = (
    "CREATE TABLE IF NOT EXISTS {at}about (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS {at}tokens (
        id TEXT PRIMARY KEY, digest TEXT NOT NULL, name TEXT NOT NULL, workspace TEXT NOT NULL, corpora TEXT,
        scopes TEXT NOT NULL, created DOUBLE PRECISION NOT NULL, expires DOUBLE PRECISION,
        revoked DOUBLE PRECISION, requests_per_minute BIGINT)""",
    """CREATE TABLE IF NOT EXISTS {at}workspaces (
        name TEXT PRIMARY KEY, created DOUBLE PRECISION NOT NULL, records BIGINT, bytes BIGINT,
        requests_per_minute BIGINT)""",
    """CREATE TABLE IF NOT EXISTS {at}jobs (
        id TEXT PRIMARY KEY, workspace TEXT NOT NULL, told TEXT NOT NULL, seen DOUBLE PRECISION NOT NULL,
        stop BOOLEAN NOT NULL DEFAULT FALSE)""",
    "CREATE TABLE IF NOT EXISTS {at}buckets (key TEXT PRIMARY KEY, full_at DOUBLE PRECISION NOT NULL)",
    """CREATE TABLE IF NOT EXISTS {at}usage (
        workspace TEXT NOT NULL, corpus TEXT NOT NULL, records BIGINT NOT NULL, bytes BIGINT NOT NULL,
        PRIMARY KEY (workspace, corpus))""",
)
