"""Milvus does what a store does: the Milvus core in process, not a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

pytest.importorskip("milvus_lite")

from ir.store.milvus import MilvusStore
from ir.testing.contracts import DurableStoreContract


@pytest.fixture(scope="module")
def milvus_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One file for all tests, held open: each test has a corpus of its own in it."""
    file = f"milvus+lite:{tmp_path_factory.mktemp('milvus')}/corpora.db"
    with MilvusStore(f"{file}?corpus=holder") as holder:
        holder.set_config({"name": "holder"})
        yield file


class TestMilvusStore(DurableStoreContract):
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
