"""One DocumentDB server (not mongod) for all tests of a process, and a fresh corpus or database for each test."""

from __future__ import annotations

import atexit
import os
from contextlib import ExitStack
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from tests.extras import needs

#: What is downloaded once, and kept for later runs.
PACKAGES = Path(__file__).parents[3] / "build" / "test-documentdb"
_numbers = count(1)


def shared_server() -> str:
    """``host:port`` of the server; the test is skipped, aloud, where there can be none."""
    needs("pymongo", "psycopg")
    found = _server()
    if found.startswith("!"):
        pytest.skip(f"DocumentDB cannot be run here: {found[1:]}")
    return found


@cache
def _server() -> str:
    """The server, started when the first test needs it and ended with the process; after ``!``, why there is none."""
    from ir.testing.documentdb_packages import Unavailable
    from ir.testing.documentdb_server import running_documentdb

    if os.environ.get("IR_TEST_DOCUMENTDB") == "0":
        return "!IR_TEST_DOCUMENTDB=0 says not to; unset it and run: pytest tests/store/mongo"
    stack = ExitStack()
    try:
        host = stack.enter_context(running_documentdb(PACKAGES))
    except Unavailable as error:
        return f"!{error}"
    atexit.register(stack.close)
    return host


def new_corpus_url(**options: object) -> str:
    """The address of a corpus that is not there yet."""
    query = "".join(f"&{key}={value}" for key, value in options.items())
    return f"mongodb://{shared_server()}/corpora?corpus=c{next(_numbers)}{query}"


def new_database_url() -> str:
    """The address of a database that is not there yet."""
    return f"mongodb://{shared_server()}/db{next(_numbers)}"


@pytest.fixture
def corpus_url() -> str:
    """The address of a corpus of the test's own."""
    return new_corpus_url()


@pytest.fixture
def database_url() -> str:
    """The address of a database of the test's own."""
    return new_database_url()
