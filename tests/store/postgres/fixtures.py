"""One PostgreSQL server for all tests of a process, and a fresh corpus or database for each test."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from itertools import count

import pytest
from tests.extras import missing, needs

from ir.testing.postgres_server import PostgresServer, running_server

if not missing("psycopg"):
    import psycopg

_numbers = count(1)
#: Every test's database begins as a copy of this one, which has the extension.
TEMPLATE = "ir_template"


@cache
def shared_server() -> PostgresServer:
    """The server, started when the first test needs it and ended with the process."""
    needs("psycopg")
    stack = ExitStack()
    server = stack.enter_context(running_server({"fsync": "off", "full_page_writes": "off"}))
    atexit.register(stack.close)
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {TEMPLATE}".encode())
    with psycopg.connect(server.url(TEMPLATE), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
    return server


def new_database(server: PostgresServer, *, template: str = TEMPLATE) -> str:
    """The name of a fresh database."""
    name = f"db{next(_numbers)}"
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
    return name


@cache
def common_database() -> str:
    return new_database(shared_server())


def new_corpus_url(**options: object) -> str:
    """The address of a corpus that is not there yet, in a database that tests share."""
    return shared_server().url(common_database(), corpus=f"c{next(_numbers)}", **options)


@pytest.fixture
def server() -> PostgresServer:
    return shared_server()


@pytest.fixture
def database(server: PostgresServer) -> Iterator[str]:
    """A database of the test's own."""
    name = new_database(server)
    yield name
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture
def corpus_url() -> str:
    """The address of a corpus of the test's own."""
    return new_corpus_url()
