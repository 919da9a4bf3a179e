"""Milvus does what a store does: the Milvus core over a file and as a server, not a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from tests.extras import reason_for

pytest.importorskip("milvus_lite", reason=reason_for("milvus_lite"))

from ir.store.milvus import MilvusStore
from ir.testing.contracts import DurableStoreContract
from ir.testing.milvus_server import running_milvus


@pytest.fixture(scope="module")
def milvus_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One file for all tests, held open: each test has a corpus of its own in it."""
    file = f"milvus+lite:{tmp_path_factory.mktemp('milvus')}/corpora.db"
    with MilvusStore(f"{file}?corpus=holder") as holder:
        holder.set_config({"name": "holder"})
        yield file


class TestMilvusFile(DurableStoreContract):
    @pytest.fixture
    def url(self, milvus_file: str) -> str:
        return f"{milvus_file}?corpus=c{uuid4().hex[:12]}"

    @pytest.fixture
    def store(self, url: str) -> Iterator[MilvusStore]:
        store = MilvusStore(url)
        yield store
        store.close()

    @pytest.fixture
    def reopen(self, url: str) -> Callable[[], MilvusStore]:
        return lambda: MilvusStore(url)


@pytest.fixture(scope="module")
def milvus_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_milvus(tmp_path_factory.mktemp("milvus")) as host:
        yield host


class TestMilvusServer(TestMilvusFile):
    """The same through the network, where a row instead of a lock keeps writers apart."""

    @pytest.fixture
    def url(self, milvus_host: str) -> str:
        return f"milvus://{milvus_host}?corpus=c{uuid4().hex[:12]}"
