"""Every engine for words does the same: the corpus itself, PostgreSQL in two ways, Milvus, and Azure AI Search."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.extras import needs
from tests.words.azure_service import KEY, AzureService, running

import ir
from ir.keyword import EmbeddedKeywords, KeywordMirror
from ir.keyword.azure import AzureKeywords
from ir.keyword.stored import StoredKeywords
from ir.testing.contracts import KeywordContract
from ir.testing.keyword_contract import DOCUMENTS, Provided, as_records

_numbers = count(1)


def mirrored(index: Any, folder: Path) -> Provided:
    """Documents as a mirror sends them; those that all tests share are sent once."""
    made: dict[int, str] = {}

    def provided(documents: Any) -> Any:
        if id(documents) not in made or documents is not DOCUMENTS:
            made[id(documents)] = collection = f"c{next(_numbers)}"
            store = ir.CorpusStore.memory()
            store.put_records(as_records(documents))
            KeywordMirror(store, index, collection, folder / f"{collection}.db").sync()
        return index, made[id(documents)]

    return provided


class TestEmbedded(KeywordContract):
    @pytest.fixture
    def provided(self) -> Iterator[Provided]:
        held = []

        def provided(documents: Any) -> Any:
            store = ir.CorpusStore.memory()
            store.put_records(as_records(documents))
            opened = store.snapshot()
            held.append(opened)
            return EmbeddedKeywords({"c": opened.__enter__()}), "c"

        yield provided
        for opened in held:
            opened.__exit__(None, None, None)


class TestLocalStore(KeywordContract):
    """The same over the engine on this machine, opened by name for each question."""

    @pytest.fixture
    def provided(self, tmp_path: Path) -> Iterator[Provided]:
        from ir.store.local import LocalStore

        stores = []

        def provided(documents: Any) -> Any:
            store = LocalStore(tmp_path / f"c{next(_numbers)}")
            stores.append(store)
            store.put_records(as_records(documents))
            return EmbeddedKeywords(lambda name: store.snapshot() if name == "c" else None), "c"

        yield provided
        for store in stores:
            store.close()


@pytest.fixture(scope="module")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provided]:
    with pytest.MonkeyPatch.context() as patch, running(AzureService()) as url:
        patch.setenv("no_proxy", "*")
        yield mirrored(AzureKeywords(url, KEY), tmp_path_factory.mktemp("azure"))


class TestAzure(KeywordContract):
    """Against a server that speaks the service's requests and answers, not against the service."""

    @pytest.fixture
    def provided(self, azure: Provided) -> Provided:
        return azure


@pytest.fixture(scope="module")
def tsvector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provided]:
    needs("psycopg")
    from tests.store.postgres.fixtures import common_database, shared_server

    from ir.keyword.postgres import TsvectorKeywords

    index = TsvectorKeywords(shared_server().url(common_database()))
    yield mirrored(index, tmp_path_factory.mktemp("tsvector"))
    index.close()


@pytest.mark.slow
class TestPostgresTsvector(KeywordContract):
    @pytest.fixture
    def provided(self, tsvector: Provided) -> Provided:
        return tsvector


@pytest.fixture(scope="module")
def bm25(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provided]:
    needs("psycopg")
    from tests.store.postgres.fixtures import common_database, shared_server

    index = StoredKeywords(shared_server().url(common_database()), name="postgres-bm25")
    yield mirrored(index, tmp_path_factory.mktemp("bm25"))
    index.close()


@pytest.mark.slow
class TestPostgresBm25(KeywordContract):
    @pytest.fixture
    def provided(self, bm25: Provided) -> Provided:
        return bm25


@pytest.fixture(scope="module")
def milvus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provided]:
    needs("milvus_lite")
    folder = tmp_path_factory.mktemp("milvus")
    index = StoredKeywords(f"milvus+lite:{folder}/words.db", name="milvus")
    yield mirrored(index, folder)
    index.close()


@pytest.mark.slow
class TestMilvus(KeywordContract):
    @pytest.fixture
    def provided(self, milvus: Provided) -> Provided:
        return milvus
