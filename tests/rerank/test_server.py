"""A rerank server as a search meets it: in three formats, in trouble, and what it costs."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from tests.models.serving import Server, serving

import ir
from ir.endpoint import Endpoint, RetryBudget
from ir.errors import RerankError
from ir.rerank import CircuitBreaker, HttpReranker, resolve_reranker
from ir.rerank.costs import Price

KEY = "rr-secret-2"
TEXTS = {"a": "green tea in a pot", "b": "green tea", "c": "black tea with milk and sugar"}


@pytest.fixture
def teas() -> Any:
    source = ir.CorpusSource.from_mapping(TEXTS, name="teas")
    return ir.build(source, store=ir.CorpusStore.memory(), embedder="light")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("RERANK_API_KEY", KEY)
    monkeypatch.setenv("IR_RERANK_DEADLINE_MS", "60000")  # however busy the machine is
    with serving(lambda path, body: (200, answer(body), {})) as running:
        monkeypatch.setenv("IR_RERANK_BASE_URL", f"{running.url}/v1")
        yield running


def answer(body: Any, key: str = "results", **more: Any) -> Any:
    """The longest text is the best."""
    rows = [{"index": place, "relevance_score": len(text) / 100} for place, text in enumerate(body["documents"])]
    return {key: rows[::-1], **more}


def ids(hits: Any) -> list[str]:
    return [hit.artifact_id for hit in hits]


@pytest.mark.parametrize(
    ("key", "more", "tokens", "usd"),
    [
        ("results", {"meta": {"billed_units": {"search_units": 2}}}, None, 0.004),  # Cohere
        ("results", {"usage": {"total_tokens": 1000}}, 1000, 0.002),  # Jina
        ("data", {"object": "list", "usage": {"total_tokens": 50}}, 50, 0.002),  # Voyage
    ],
)
def test_a_search_is_reranked_by_a_server_of_each_kind_and_tells_the_cost(
    teas: Any, server: Server, monkeypatch: pytest.MonkeyPatch, key: str, more: Any, tokens: int | None, usd: float
) -> None:
    monkeypatch.setenv("IR_RERANK_USD_PER_1000_SEARCHES", "2")
    server.behaviour = lambda path, body: (200, answer(body, key, **more), {})
    hits = ir.search(teas, "green tea", rerank="http:one")
    assert ids(hits) == ["c", "a", "b"]
    assert hits.meta["reranked"]
    assert hits.meta["degraded"] == []
    report = hits.meta["rerank"]
    assert (report["cost_usd"], report["tokens"]) == (pytest.approx(usd), tokens)
    assert server.requests[0][0] == "/v1/rerank"
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in str(hits.meta)


def test_without_a_price_no_cost_is_told_and_prices_by_tokens_add_up(
    teas: Any, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ir.search(teas, "tea", rerank="http:two").meta["rerank"]["cost_usd"] is None
    monkeypatch.setenv("IR_RERANK_USD_PER_MILLION_TOKENS", "50")
    server.behaviour = lambda path, body: (200, answer(body, usage={"total_tokens": 1000}), {})
    reranker = resolve_reranker("http:two")
    before = reranker.spending.usd  # type: ignore[attr-defined]
    for _ in range(3):
        assert ir.search(teas, "tea", rerank="http:two").meta["rerank"]["cost_usd"] == pytest.approx(0.05)
    assert reranker.spending.usd - before == pytest.approx(0.15)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "reply",
    [
        (400, {"message": "bad"}, {}),
        (401, {"message": f"the key {KEY} is wrong"}, {}),
        (403, {}, {}),
        (404, b"no such page", {}),
        (429, {}, {"Retry-After": "0"}),
        (429, {}, {"Retry-After": "60"}),
        (500, {}, {"Retry-After": "0"}),
        (503, b"", {"Retry-After": "0"}),
        (200, b"<html>", {}),
        (200, b"", {}),
        (200, {"results": []}, {}),
        (200, {"results": [{"index": 9, "relevance_score": 1}]}, {}),
        (200, {"results": [{"index": at, "relevance_score": None} for at in range(3)]}, {}),
        (200, answer({"documents": "abc"}), {"Content-Length": "100000"}),  # cut off
    ],
    ids=lambda reply: str(reply[0]),
)
def test_whatever_a_server_answers_the_first_order_stands(
    teas: Any, server: Server, caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest, reply: Any
) -> None:
    caplog.set_level(logging.DEBUG)
    plain = ir.search(teas, "green tea")
    server.behaviour = lambda path, body: reply
    hits = ir.search(teas, "green tea", rerank=f"http:{request.node.name}")
    assert ids(hits) == ids(plain)
    assert (hits.meta["degraded"], hits.meta["reranked"]) == (["reranker"], False)
    assert "http:" in hits.meta["rerank"]["reranker"]
    assert hits.meta["rerank"]["error"]
    assert KEY not in str(hits.meta) + caplog.text
    assert len(server.requests) <= 2


@contextmanager
def socket_that(do: Callable[[socket.socket], object]) -> Iterator[str]:
    """The address of a server that does ``do`` with each connection."""

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=handle, args=(listening.accept()[0],), daemon=True).start()

    def handle(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            do(connection)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.mark.parametrize("case", ["hangs before reading", "hangs after reading", "resets", "closes", "nobody"])
def test_a_socket_in_trouble_leaves_the_first_order(teas: Any, monkeypatch: pytest.MonkeyPatch, case: str) -> None:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("IR_RERANK_DEADLINE_MS", "200")
    over = threading.Event()

    def do(connection: socket.socket) -> None:
        if case == "hangs before reading":
            over.wait(60)
        elif case == "hangs after reading":
            connection.recv(65_536)
            over.wait(60)
        elif case == "resets":
            connection.recv(65_536)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    with socket_that(do) as url:
        pass_on = url if case != "nobody" else "http://127.0.0.1:1"
        monkeypatch.setenv("IR_RERANK_BASE_URL", pass_on)
        hits = ir.search(teas, "green tea", rerank="http:m")
        over.set()
    assert ids(hits) == ids(ir.search(teas, "green tea"))
    assert hits.meta["degraded"] == ["reranker"]


def test_a_passing_failure_is_asked_again_within_the_budget(teas: Any, server: Server) -> None:
    replies = [(503, {}, {"Retry-After": "0"})]
    server.behaviour = lambda path, body: replies.pop() if replies else (200, answer(body), {})
    hits = ir.search(teas, "green tea", rerank="http:three")
    assert hits.meta["reranked"]
    assert len(server.requests) == 2

    budget = RetryBudget(most=2, share=0.0)
    endpoint = Endpoint(server.url, "The server", RerankError, retries=5, backoff_s=0.0, budget=budget)
    server.behaviour = lambda path, body: (503, {}, {"Retry-After": "0"})
    for tries in (3, 1, 1):
        server.requests.clear()
        with pytest.raises(RerankError, match=f"after {tries} tries"):
            endpoint.post("/rerank", {}, 30)
        assert len(server.requests) == tries


def test_retries_can_be_turned_off(teas: Any, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_RERANK_RETRIES", "0")
    server.behaviour = lambda path, body: (503, {}, {"Retry-After": "0"})
    assert ir.search(teas, "green tea", rerank="http:four").meta["degraded"] == ["reranker"]
    assert len(server.requests) == 1


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_server_that_fails_again_and_again_is_left_alone_for_a_while(teas: Any, server: Server) -> None:
    clock = Clock()
    endpoint = Endpoint(f"{server.url}/v1", "The server", RerankError, retries=0)
    breaker = CircuitBreaker(failures=2, rest_s=30, clock=clock)
    reranker = HttpReranker(endpoint, "m", breaker=breaker, deadline_ms=60_000)
    server.behaviour = lambda path, body: (500, {}, {})
    for _ in range(2):
        assert "asked" not in ir.search(teas, "tea", rerank=reranker).meta["rerank"]
    assert len(server.requests) == 2

    hits = ir.search(teas, "tea", rerank=reranker)
    assert len(server.requests) == 2
    assert hits.meta["degraded"] == ["reranker"]
    assert hits.meta["rerank"]["asked"] is False
    assert "failed 2 times in a row and is not asked for another 30 s" in hits.meta["rerank"]["error"]

    clock.now = 31.0  # one try, which fails: another rest
    ir.search(teas, "tea", rerank=reranker)
    ir.search(teas, "tea", rerank=reranker)
    assert len(server.requests) == 3

    clock.now = 62.0
    server.behaviour = lambda path, body: (200, answer(body), {})
    for _ in range(3):
        assert ir.search(teas, "tea", rerank=reranker).meta["reranked"]
    assert len(server.requests) == 6


def test_a_server_by_name_is_left_alone_too_and_another_model_is_not(
    teas: Any, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_RERANK_FAILURES", "1")
    monkeypatch.setenv("IR_RERANK_REST_S", "3600")
    server.behaviour = lambda path, body: (400, {}, {})
    ir.search(teas, "tea", rerank="http:bad")
    assert ir.search(teas, "tea", rerank="http:bad").meta["rerank"]["asked"] is False
    server.behaviour = lambda path, body: (200, answer(body), {})
    assert ir.search(teas, "tea", rerank="http:good").meta["reranked"]


def test_of_many_threads_after_a_rest_one_asks() -> None:
    clock = Clock()
    breaker = CircuitBreaker(failures=1, rest_s=10, clock=clock)
    breaker.failed()
    clock.now = 10.0
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(lambda _: breaker.begins(), range(200))) == 1
    clock.now = 20.0  # nobody told how that one ended: another may ask
    assert breaker.begins()


def test_a_function_may_have_a_breaker_of_its_own(teas: Any) -> None:
    calls = []

    def broken(query: str, segments: Any) -> list[float]:
        calls.append(query)
        raise OSError("gone")

    broken.breaker = CircuitBreaker(failures=1, rest_s=60, clock=Clock())  # type: ignore[attr-defined]
    for _ in range(3):
        assert ir.search(teas, "tea", rerank=broken).meta["degraded"] == ["reranker"]
    assert len(calls) == 1


def test_an_unknown_or_odd_usage_costs_one_search() -> None:
    from ir.rerank.costs import Usage

    for told in (None, [], {"usage": 3}, {"usage": {"total_tokens": "many"}}, {"meta": {"billed_units": None}}):
        assert Usage.of_answer(told) == (1, None)
    assert Price(tokens=1.0).of(Usage(), 4_000_000) == pytest.approx(1.0)
