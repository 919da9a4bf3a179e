"""DR-14 d: whatever really fails is counted, once for each query, by what it was."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.query.conftest import PROGRAM, RerankServer, Wrapped, source
from tests.telemetry.conftest import Figures

import ir
from ir.config.workspace import in_workspace
from ir.events import SINKS
from ir.keyword import EmbeddedKeywords
from ir.keywords import KeywordRequest, KeywordResult
from ir.query import HybridQueryOptions, OntologyQuery, Parts, ontology_query
from ir.rerank import resolve_reranker

PLAIN = Parts()


def ask(corpus: Any, parts: Parts = PLAIN, **given: Any) -> tuple[str, ...]:
    asked = OntologyQuery.of("how is a receipt mailed to the customer", **given)
    return ontology_query(corpus, asked, HybridQueryOptions(), parts).meta.degraded


def counted(figures: Figures) -> dict[str, float]:
    """How often each part was gone without, where it ever was."""
    told = figures()
    counts = {sink: told[f'retrieval_degraded_total{{sink="{sink}"}}'] for sink in SINKS}
    return {sink: count for sink, count in counts.items() if count}


def reranker_at(server: RerankServer, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("IR_RERANK_BASE_URL", server.url)
    monkeypatch.setenv("IR_RERANK_RETRIES", "0")
    monkeypatch.setenv("IR_RERANK_DEADLINE_MS", "20000")
    return resolve_reranker("http:some-model")


def test_a_query_that_goes_well_counts_for_nothing(shop: Any, figures: Figures) -> None:
    assert ask(shop, follow_links=True) == ()
    assert counted(figures) == {}


def test_a_rerank_server_that_fails_is_counted(
    shop: Any, rerank_server: RerankServer, monkeypatch: pytest.MonkeyPatch, figures: Figures
) -> None:
    reranker = reranker_at(rerank_server, monkeypatch)
    assert ask(shop, Parts(reranker=reranker)) == ()
    rerank_server.mode = "fails"
    assert ask(shop, Parts(reranker=reranker)) == ("reranker",)
    assert counted(figures) == {"reranker": 1}
    assert figures()["retrieval_rerank_duration_ms_count"] == 2  # what is divided by


def test_a_plain_search_counts_its_reranker_too(
    shop: Any, rerank_server: RerankServer, monkeypatch: pytest.MonkeyPatch, figures: Figures
) -> None:
    reranker = reranker_at(rerank_server, monkeypatch)
    rerank_server.mode = "refuses"
    assert shop.search("receipt", rerank=reranker).meta["degraded"] == ["reranker"]
    assert counted(figures) == {"reranker": 1}
    assert figures()["retrieval_rerank_duration_ms_count"] == 1


def test_an_engine_for_words_that_stopped_is_counted(
    shop: Any, silent_socket: tuple[str, int], figures: Figures
) -> None:
    import socket

    class Silent:
        name = "silent"

        def search(self, request: KeywordRequest, *, timeout_s: float | None = None) -> Sequence[KeywordResult]:
            with socket.create_connection(silent_socket, timeout=60) as connection:
                connection.recv(1)
            return []

    assert ask(shop, Parts(provider=Silent(), keyword_timeout_s=0.2)) == ("keyword",)
    assert counted(figures) == {"keyword": 1}


def test_a_model_that_breaks_is_counted(shop: Any, figures: Figures) -> None:
    def fail() -> None:
        raise RuntimeError("the weights are damaged")

    shop.embedder = Wrapped(shop.embedder, fail)
    assert ask(shop) == ("dense",)
    assert counted(figures) == {"dense": 1}


def test_links_that_cannot_be_read_are_counted(making: Any, figures: Figures) -> None:
    shop = making(local=True)
    with sqlite3.connect(Path(shop.store.path) / "corpus.db") as broken:
        broken.execute("ALTER TABLE edges RENAME TO edges_gone")
    broken.close()
    assert ask(shop, follow_links=True) == ("graphExpansion",)
    assert counted(figures) == {"graphExpansion": 1}


def test_a_change_meanwhile_is_counted(making: Any, figures: Figures) -> None:
    shop = making(local=True)

    class Meanwhile:
        """Words of the corpus; while they are looked up, somebody builds it anew."""

        name = "meanwhile"

        def search(self, request: KeywordRequest, *, timeout_s: float | None = None) -> Sequence[KeywordResult]:
            with shop.store.snapshot() as snapshot:
                found = EmbeddedKeywords({"shop": snapshot}).search(request)
            ir.build(source({**PROGRAM, "shop/new.py": "def mail_receipt():\n    pass\n"}), store=shop.store)
            return found

    assert ask(shop, Parts(provider=Meanwhile())) == ("version",)
    assert counted(figures) == {"version": 1}


def test_two_parts_that_fail_in_one_query_count_for_one_each(
    shop: Any, rerank_server: RerankServer, monkeypatch: pytest.MonkeyPatch, figures: Figures
) -> None:
    def fail() -> None:
        raise RuntimeError("the weights are damaged")

    reranker = reranker_at(rerank_server, monkeypatch)
    rerank_server.mode = "fails"
    shop.embedder = Wrapped(shop.embedder, fail)
    assert ask(shop, Parts(reranker=reranker)) == ("dense", "reranker")
    assert counted(figures) == {"dense": 1, "reranker": 1}


def test_what_reranking_costs_adds_up_by_workspace(
    shop: Any, rerank_server: RerankServer, monkeypatch: pytest.MonkeyPatch, figures: Figures
) -> None:
    monkeypatch.setenv("IR_RERANK_USD_PER_1000_SEARCHES", "2")
    reranker = reranker_at(rerank_server, monkeypatch)
    with in_workspace("team-a"):
        ask(shop, Parts(reranker=reranker))
        shop.search("receipt", rerank=reranker)
    with in_workspace("team-b"):
        ask(shop, Parts(reranker=reranker))
    told = figures()
    assert told['retrieval_rerank_cost_usd_total{workspace="team-a"}'] == pytest.approx(0.004)
    assert told['retrieval_rerank_cost_usd_total{workspace="team-b"}'] == pytest.approx(0.002)


def test_a_query_without_candidates_is_no_reranking(making: Any, figures: Figures) -> None:
    empty = making({"shop/none.txt": ""})
    ask(empty, Parts(reranker=lambda query, segments: [1.0] * len(segments)))
    assert "retrieval_rerank_duration_ms_count" not in figures()
