"""The PostgreSQL store does what a store does, and what a durable one does beside."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.extras import reason_for

pytest.importorskip("psycopg", reason=reason_for("psycopg"))

from tests.store.postgres.fixtures import new_corpus_url

from ir.store import CorpusStore
from ir.testing.contracts import DurableStoreContract


class TestPostgresStore(DurableStoreContract):
    @pytest.fixture
    def url(self) -> str:
        return new_corpus_url()

    @pytest.fixture
    def store(self, url: str) -> Iterator[CorpusStore]:
        store = CorpusStore.open(url)
        yield store
        store.close()

    @pytest.fixture
    def reopen(self, url: str) -> Callable[[], CorpusStore]:
        return lambda: CorpusStore.open(url)


class TestPostgresStoreWithHalfVectors(TestPostgresStore):
    @pytest.fixture
    def url(self) -> str:
        return new_corpus_url(vectors="half")
