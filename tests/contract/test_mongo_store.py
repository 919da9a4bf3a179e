"""A corpus in MongoDB does what a store does, on a real engine: DocumentDB, not mongod."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.extras import reason_for

pytest.importorskip("pymongo", reason=reason_for("pymongo"))

from tests.store.mongo.fixtures import new_corpus_url

from ir.store.mongo import MongoStore
from ir.testing.contracts import DurableStoreContract


class TestMongoStore(DurableStoreContract):
    @pytest.fixture
    def url(self) -> str:
        return new_corpus_url()

    @pytest.fixture
    def store(self, url: str) -> Iterator[MongoStore]:
        store = MongoStore(url)
        yield store
        store.close()

    @pytest.fixture
    def reopen(self, url: str) -> Callable[[], MongoStore]:
        return lambda: MongoStore(url)
