"""DR-14: whatever fails is gone without, the answer says so, and nothing is raised to who asked."""

from __future__ import annotations

import socket
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.query.conftest import PROGRAM, RerankServer, Wrapped, source

import ir
from ir.errors import Cancelled, KeywordError
from ir.keyword import EmbeddedKeywords
from ir.keywords import KeywordRequest, KeywordResult, ranked
from ir.query import (
    Event,
    HybridQueryOptions,
    OntologyQuery,
    Parts,
    QueryAnswer,
    VersionedCache,
    listen,
    ontology_query,
)
from ir.rerank import resolve_reranker

LONG = "how is a receipt mailed to the customer"


@pytest.fixture
def events() -> Iterator[list[Event]]:
    heard: list[Event] = []
    stop = listen(heard.append)
    yield heard
    stop()


PLAIN = Parts()


def ask(corpus: Any, parts: Parts = PLAIN, **given: Any) -> QueryAnswer:
    return ontology_query(corpus, OntologyQuery.of(LONG, **given), HybridQueryOptions(), parts)


def sinks(events: Sequence[Event]) -> list[str]:
    return [event.labels["sink"] for event in events if event.name == "retrieval.degraded"]


# -- the reranker ----------------------------------------------------------------------------------------------------


def server_reranker(server: RerankServer, monkeypatch: pytest.MonkeyPatch, deadline_ms: int = 20_000) -> Any:
    monkeypatch.setenv("IR_RERANK_BASE_URL", server.url)
    monkeypatch.setenv("IR_RERANK_DEADLINE_MS", str(deadline_ms))
    return resolve_reranker("http:some-model")


def test_a_reranker_on_a_server_reranks(
    shop: Any, rerank_server: RerankServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = ask(shop, Parts(reranker=server_reranker(rerank_server, monkeypatch)), top_k=4)
    assert (answer.meta.reranked, answer.meta.reranker, answer.meta.degraded) == (True, "http:some-model", ())
    lengths = [len(one.text) for one in answer.results]
    assert lengths == sorted(lengths, reverse=True)
    assert [len(body["documents"]) for body in rerank_server.bodies] == [6]


@pytest.mark.parametrize("mode", ["fails", "refuses", "wrong", "stopped", "hangs"])
def test_a_rerank_server_that_fails_leaves_the_first_order(
    shop: Any, rerank_server: RerankServer, monkeypatch: pytest.MonkeyPatch, events: list[Event], mode: str
) -> None:
    reranker = server_reranker(rerank_server, monkeypatch, 300 if mode == "hangs" else 20_000)
    if mode == "stopped":
        rerank_server.stop()
    rerank_server.mode = mode
    plain = ask(shop)
    answer = ask(shop, Parts(reranker=reranker))
    assert answer.results == plain.results
    assert (answer.meta.reranked, answer.meta.reranker) == (False, None)
    assert answer.meta.degraded == ("reranker",)
    assert answer.meta.notes
    assert sinks(events) == ["reranker"]


def test_a_broken_model_for_reranking_leaves_the_first_order(shop: Any, events: list[Event]) -> None:
    def broken(query: str, segments: Any) -> list[float]:
        raise RuntimeError("no such tensor")

    def too_few(query: str, segments: Any) -> list[float]:
        return [1.0]

    for reranker in (broken, too_few):
        answer = ask(shop, Parts(reranker=reranker))
        assert (answer.meta.degraded, answer.meta.reranked) == (("reranker",), False)
        assert answer.results == ask(shop).results
    assert sinks(events) == ["reranker", "reranker"]


# -- words -----------------------------------------------------------------------------------------------------------


class SqliteWords:
    """Words in a database of its own: each document with how often it has the words."""

    name = "sqlite"

    def __init__(self, path: Path, corpus: Any) -> None:
        self._path = path
        with sqlite3.connect(path) as made:
            made.execute("CREATE TABLE documents (id TEXT, text TEXT)")
            records = [record for batch in corpus.store.iter_records() for record in batch]
            made.executemany("INSERT INTO documents VALUES (?, ?)", [(one.id, one.text) for one in records])
        made.close()

    def search(self, request: KeywordRequest, *, timeout_s: float | None = None) -> Sequence[KeywordResult]:
        words = request.query.split()
        try:
            connection = sqlite3.connect(f"file:{self._path}?mode=ro", uri=True)
            try:
                rows = connection.execute("SELECT id, text FROM documents").fetchall()
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise KeywordError(f"The database does not answer: {error}.") from error
        counted = [(name, float(sum(word in text for word in words))) for name, text in rows]
        return ranked([one for one in counted if one[1]], request.top_k)


def test_another_engine_for_words_needs_no_other_caller(shop: Any, tmp_path: Path) -> None:
    answer = ask(shop, Parts(provider=SqliteWords(tmp_path / "words.db", shop)))
    assert (answer.meta.hybrid, answer.meta.backend, answer.meta.degraded) == (True, "sqlite", ())
    narrowed = ask(shop, Parts(provider=SqliteWords(tmp_path / "other.db", shop)), object_type="function")
    assert {one.object_type for one in narrowed.results} == {"function"}


def test_what_another_engine_finds_and_the_corpus_no_longer_has_is_left_out(shop: Any, tmp_path: Path) -> None:
    provider = SqliteWords(tmp_path / "words.db", shop)
    gone = ask(shop).results[0].chunk_id
    shop.store.delete_record(gone)
    answer = ask(shop, Parts(provider=provider))
    assert gone not in {one.chunk_id for one in answer.results}
    assert answer.meta.degraded == ()


def test_a_database_that_goes_away_leaves_meaning_alone(shop: Any, tmp_path: Path, events: list[Event]) -> None:
    provider = SqliteWords(tmp_path / "words.db", shop)
    assert ask(shop, Parts(provider=provider)).meta.hybrid
    (tmp_path / "words.db").unlink()
    answer = ask(shop, Parts(provider=provider))
    assert (answer.meta.hybrid, answer.meta.degraded, answer.meta.backend) == (False, ("keyword",), None)
    assert answer.results
    assert all(set(one.source_ranks) == {"dense"} for one in answer.results)
    assert sinks(events) == ["keyword"]


def test_an_engine_that_never_answers_is_not_waited_for(
    shop: Any, silent_socket: tuple[str, int], events: list[Event]
) -> None:
    class Silent:
        name = "silent"

        def search(self, request: KeywordRequest, *, timeout_s: float | None = None) -> Sequence[KeywordResult]:
            with socket.create_connection(silent_socket, timeout=60) as connection:
                connection.sendall(b"GET /\r\n")
                connection.recv(1)
            return []

    answer = ask(shop, Parts(provider=Silent(), keyword_timeout_s=0.2))
    assert (answer.meta.hybrid, answer.meta.degraded) == (False, ("keyword",))
    assert answer.results
    assert sinks(events) == ["keyword"]


def test_being_cancelled_is_not_a_failure(shop: Any) -> None:
    class Cancelling:
        name = "cancelling"

        def search(self, request: KeywordRequest, *, timeout_s: float | None = None) -> Sequence[KeywordResult]:
            raise Cancelled("The call was cancelled.")

    with pytest.raises(Cancelled):
        ask(shop, Parts(provider=Cancelling()))


# -- meaning ---------------------------------------------------------------------------------------------------------


def test_a_model_that_breaks_leaves_words_alone(shop: Any, events: list[Event]) -> None:
    def fail() -> None:
        raise RuntimeError("the weights are damaged")

    shop.embedder = Wrapped(shop.embedder, fail)
    answer = ask(shop, min_relevance=0.2)
    assert (answer.meta.hybrid, answer.meta.degraded, answer.meta.backend) == (False, ("dense",), "embedded")
    assert answer.results
    assert all(set(one.source_ranks) == {"keyword"} for one in answer.results)
    assert all(one.similarity is None for one in answer.results)
    assert sinks(events) == ["dense"]


def test_an_embedding_server_that_stopped_leaves_words_alone(shop: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        closed = free.getsockname()

    def reach() -> None:
        socket.create_connection(closed, timeout=30).close()

    shop.embedder = Wrapped(shop.embedder, reach)
    assert ask(shop).meta.degraded == ("dense",)


def test_vectors_of_another_size_leave_words_alone(shop: Any) -> None:
    import numpy as np

    class Wide:
        id = shop.embedder.id

        def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> Any:
            return np.ones((len(texts), 7), dtype=np.float32)

    shop.embedder = Wide()
    assert ask(shop).meta.degraded == ("dense",)


def test_when_both_sides_fail_there_are_no_results_and_no_error(shop: Any, tmp_path: Path) -> None:
    provider = SqliteWords(tmp_path / "words.db", shop)
    (tmp_path / "words.db").unlink()

    def fail() -> None:
        raise RuntimeError("the weights are damaged")

    shop.embedder = Wrapped(shop.embedder, fail)
    answer = ask(shop, Parts(provider=provider), follow_links=True)
    assert (answer.results, answer.meta.degraded) == ((), ("dense", "keyword"))


# -- links -----------------------------------------------------------------------------------------------------------


def test_links_that_cannot_be_read_leave_the_results(making: Any, events: list[Event]) -> None:
    shop = making(local=True)
    expected = ask(shop).results
    path = Path(shop.store.path) / "corpus.db"
    with sqlite3.connect(path) as broken:
        broken.execute("ALTER TABLE edges RENAME TO edges_gone")
    broken.close()
    answer = ask(shop, follow_links=True)
    assert answer.results == expected
    assert (answer.meta.degraded, answer.meta.expanded_context) == (("graphExpansion",), ())
    assert sinks(events) == ["graphExpansion"]


# -- another version meanwhile ---------------------------------------------------------------------------------------


def test_a_change_meanwhile_is_told_and_the_answer_is_of_the_version_it_names(making: Any, events: list[Event]) -> None:
    shop = making(local=True)
    before = shop.store.content_version
    cache: VersionedCache[Any, Any] = VersionedCache()
    ask(shop, Parts(cache=cache))
    expected = ask(shop).results

    class Meanwhile:
        """Words of the corpus; while they are looked up, somebody builds it anew."""

        name = "meanwhile"

        def search(self, request: KeywordRequest, *, timeout_s: float | None = None) -> Sequence[KeywordResult]:
            with shop.store.snapshot() as snapshot:
                found = EmbeddedKeywords({"shop": snapshot}).search(request)
            ir.build(source({**PROGRAM, "shop/new.py": "def mail_receipt():\n    pass\n"}), store=shop.store)
            return found

    answer = ask(shop, Parts(provider=Meanwhile(), cache=cache))
    assert answer.meta.degraded == ("version",)
    assert answer.meta.ontology_version == before != shop.store.content_version
    assert [one.chunk_id for one in answer.results] == [one.chunk_id for one in expected]
    assert len(cache) == 0
    assert sinks(events) == ["version"]
    assert ask(shop, Parts(cache=cache)).meta.ontology_version == shop.store.content_version


def test_what_was_answered_without_a_part_is_not_kept(shop: Any, tmp_path: Path) -> None:
    provider = SqliteWords(tmp_path / "words.db", shop)
    (tmp_path / "words.db").unlink()
    parts = Parts(provider=provider, cache=VersionedCache())
    for _ in range(2):
        assert not ask(shop, parts).meta.cache_hit
