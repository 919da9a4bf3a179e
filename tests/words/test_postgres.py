"""Words in PostgreSQL: the index is used, a server that goes away is a keyword error, a slow query is cut short."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from tests.extras import reason_for

pytest.importorskip("psycopg", reason=reason_for("psycopg"))

from tests.store.postgres.fixtures import new_database, shared_server

import ir
from ir.errors import InvalidInput, KeywordError
from ir.keyword import KeywordMirror
from ir.keyword.postgres import TsvectorKeywords
from ir.keyword.stored import StoredKeywords
from ir.keywords import KeywordRequest
from ir.testing.keyword_contract import as_records
from ir.testing.postgres_server import running_server

pytestmark = pytest.mark.slow


def test_text_search_uses_its_index_and_follows_every_sync(tmp_path: Path) -> None:
    import psycopg

    url = shared_server().url(new_database(shared_server()))
    store = ir.CorpusStore.memory()
    store.put_records(as_records({f"d{at}": (f"word{at} tea", {"k": str(at % 2)}) for at in range(50)}))
    engine = TsvectorKeywords(url)
    mirror = KeywordMirror(store, engine, "notes", tmp_path / "n.db")
    mirror.sync()
    with psycopg.connect(url) as connection:
        connection.execute('SET search_path = "ir_notes.words.tsvector", public')
        connection.execute("SET enable_seqscan = off")
        plan = connection.execute("EXPLAIN SELECT id FROM records WHERE english @@ to_tsquery('english', 'word7')")
        assert "records_english" in str(plan.fetchall())
    store.put_records(as_records({"d7": ("another word, and running", {"k": "x"})}))
    store.delete_record("d8")
    mirror.sync()
    assert engine.search(KeywordRequest("word7 word8", "notes", 5)) == []
    found = engine.search(KeywordRequest("runs", "notes", 5, {"k": "x"}))  # by its stem
    assert [one.document_id for one in found] == ["d7"]
    long = "word " * 300_000 + "end"
    store.put_records(as_records({"long": (long, {})}))
    mirror.sync()
    assert engine.search(KeywordRequest("word", "notes", 1))[0].document_id == "long"
    engine.close()


def test_a_server_that_goes_away_is_a_keyword_error_and_comes_back(tmp_path: Path) -> None:
    with running_server() as server:
        store = ir.CorpusStore.memory()
        store.put_records(as_records({"a": ("tea", {})}))
        for number, engine in enumerate((TsvectorKeywords(server.url()), StoredKeywords(server.url(), name="bm25"))):
            KeywordMirror(store, engine, "notes", tmp_path / f"{number}.db").sync()
            request = KeywordRequest("tea", "notes", 3)
            assert len(engine.search(request)) == 1
            server.kill()
            with pytest.raises(KeywordError, match=engine.name):
                engine.search(request)
            with pytest.raises(KeywordError):
                KeywordMirror(store, engine, "notes", tmp_path / f"{number}.db").sync()
            server.start()
            assert len(engine.search(request)) == 1
            engine.close()


def test_a_query_that_takes_too_long_is_a_keyword_error(tmp_path: Path) -> None:
    import psycopg

    url = shared_server().url(new_database(shared_server()))
    store = ir.CorpusStore.memory()
    store.put_records(as_records({"a": ("tea", {})}))
    engine = TsvectorKeywords(url)
    KeywordMirror(store, engine, "notes", tmp_path / "n.db").sync()
    with psycopg.connect(url) as other:
        other.execute('LOCK TABLE "ir_notes.words.tsvector".records IN ACCESS EXCLUSIVE MODE')
        with pytest.raises(KeywordError, match=r"did not answer within 0\.1 s"):
            engine.search(KeywordRequest("tea", "notes", 3), timeout_s=0.1)
    assert len(engine.search(KeywordRequest("tea", "notes", 3))) == 1
    engine.close()


def test_the_same_name_in_another_workspace_is_another_collection(tmp_path: Path) -> None:
    from ir.config.workspace import in_workspace

    url = shared_server().url(new_database(shared_server()))
    for engine in (TsvectorKeywords(url), StoredKeywords(url, name="bm25")):
        for workspace, text in (("one", "tea"), ("two", "bread")):
            store = ir.CorpusStore.memory()
            store.put_records(as_records({workspace: (text, {})}))
            with in_workspace(workspace):
                KeywordMirror(store, engine, "notes", tmp_path / f"{engine.name}{workspace}.db").sync()
        with in_workspace("one"):
            assert [one.document_id for one in engine.search(KeywordRequest("tea bread", "notes", 5))] == ["one"]
        with in_workspace("two"):
            assert [one.document_id for one in engine.search(KeywordRequest("tea bread", "notes", 5))] == ["two"]
        engine.close()


def test_a_server_that_keeps_silent_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it takes connections, and never says a word
        url = f"postgresql://postgres@127.0.0.1:{silent.getsockname()[1]}/db"
        for engine in (TsvectorKeywords(url), StoredKeywords(url, name="bm25")):
            with pytest.raises(KeywordError, match=r"did not answer within 0\.1 s"):
                engine.search(KeywordRequest("tea", "notes", 3), timeout_s=0.1)


def test_an_address_that_names_a_corpus_is_refused() -> None:
    for url in ("postgresql://h/db/corpus", "postgresql://h/db?corpus=x", "milvus://h?corpus=x"):
        with pytest.raises(InvalidInput, match="names one corpus"):
            StoredKeywords(url, name="x")
