"""The stores that tests run over: this machine, PostgreSQL, Milvus and MongoDB (DocumentDB, not mongod), each a real
server of the process's own."""

from __future__ import annotations

import atexit
import tempfile
import warnings
from contextlib import ExitStack
from functools import cache
from itertools import count
from pathlib import Path

import pytest
from tests.extras import needs
from tests.store.mongo.fixtures import new_database_url
from tests.store.postgres.fixtures import new_database, shared_server

STORES = (
    "local",
    pytest.param("postgresql", marks=pytest.mark.slow),
    pytest.param("milvus", marks=pytest.mark.slow),
    pytest.param("mongodb", marks=pytest.mark.slow),
)
_numbers = count(1)


@cache
def shared_milvus() -> str:
    """``host:port`` of a Milvus, started when the first test needs it and ended with the process."""
    needs("pymilvus", "milvus_lite")
    from ir.testing.milvus_server import running_milvus

    stack = ExitStack()
    atexit.register(stack.close)
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="ir-milvus-"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the server's package warns of what it imports
        return stack.enter_context(running_milvus(Path(folder)))


def address_of(kind: str) -> str:
    """Where corpora are to be kept, as the setting `store` says it; nothing is kept there yet."""
    if kind == "postgresql":
        return shared_server().url(new_database(shared_server()))
    if kind == "mongodb":
        return new_database_url()
    return f"milvus://{shared_milvus()}" if kind == "milvus" else "local"


def new_workspace() -> str:
    """The name of a workspace that no test has used: a Milvus has no second database to begin afresh in."""
    return f"w{next(_numbers)}"
