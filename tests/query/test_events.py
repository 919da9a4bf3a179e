"""DR-13 and DR-14 d: what happens in a query is told under names and labels that do not change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ir.events import emit
from ir.query import METRICS, Event, HybridQueryOptions, OntologyQuery, Parts, VersionedCache, listen, ontology_query

NAMES = {
    "retrieval.query.duration_ms",
    "retrieval.candidates.dense",
    "retrieval.candidates.sparse",
    "retrieval.fusion.duration_ms",
    "retrieval.rerank.duration_ms",
    "retrieval.rerank.cost_usd",
    "retrieval.graph_expansion.duration_ms",
    "retrieval.cache.hit",
    "retrieval.cache.miss",
    "retrieval.degraded",
}


@pytest.fixture
def heard() -> Iterator[list[Event]]:
    events: list[Event] = []
    stop = listen(events.append)
    yield events
    stop()


def test_the_names_and_labels_are_those_of_the_contract() -> None:
    assert set(METRICS) == NAMES
    assert METRICS["retrieval.query.duration_ms"].labels == (
        *("hybrid", "reranked", "followLinks", "backend", "cacheHit", "shape"),
    )
    assert METRICS["retrieval.degraded"].labels == ("sink",)
    kinds = {name: metric.kind for name, metric in METRICS.items()}
    assert {name for name, kind in kinds.items() if kind == "histogram"} == {
        name for name in NAMES if name.endswith("_ms")
    }


def test_a_query_tells_of_each_of_its_steps(shop: Any, heard: list[Event]) -> None:
    parts = Parts(reranker=lambda query, segments: [1.0] * len(segments), cache=VersionedCache(), shape="concept")
    asked = OntologyQuery("how are receipts mailed", follow_links=True)
    ontology_query(shop, asked, HybridQueryOptions(), parts)
    assert {event.name for event in heard} == NAMES - {
        "retrieval.rerank.cost_usd",
        "retrieval.cache.hit",
        "retrieval.degraded",
    }
    told = {event.name: event for event in heard}
    assert told["retrieval.query.duration_ms"].labels == {
        "hybrid": True,
        "reranked": True,
        "followLinks": True,
        "backend": "embedded",
        "cacheHit": False,
        "shape": "concept",
    }
    assert told["retrieval.candidates.dense"].value > 0
    assert told["retrieval.candidates.sparse"].value > 0
    heard.clear()
    ontology_query(shop, asked, HybridQueryOptions(), parts)
    assert [event.name for event in heard] == ["retrieval.query.duration_ms", "retrieval.cache.hit"]
    assert heard[0].labels["cacheHit"] is True


def test_the_shape_is_unknown_unless_the_caller_says_it(shop: Any, heard: list[Event]) -> None:
    ontology_query(shop, OntologyQuery("order"))
    assert heard[0].labels["shape"] == "unknown"


def test_the_cost_of_a_reranking_is_told_by_workspace(shop: Any, heard: list[Event]) -> None:
    from ir.rerank.report import Reranked

    class Report:
        note = None
        scored = 0

        def __init__(self, segments: int) -> None:
            self.scored = segments

        def to_dict(self) -> dict[str, Any]:
            return {"cost_usd": 0.002}

    def paid(query: str, segments: Any) -> Reranked:
        return Reranked([1.0] * len(segments), Report(len(segments)))  # type: ignore[arg-type]

    ontology_query(shop, OntologyQuery("order"), HybridQueryOptions(), Parts(reranker=paid, workspace="team"))
    (cost,) = [event for event in heard if event.name == "retrieval.rerank.cost_usd"]
    assert (cost.value, cost.labels) == (0.002, {"workspace": "team"})


def test_a_listener_that_fails_ends_no_query(shop: Any) -> None:
    def fails(event: Event) -> None:
        raise RuntimeError("no room on the disk")

    stop = listen(fails)
    try:
        assert ontology_query(shop, OntologyQuery("order")).results
    finally:
        stop()


def test_other_labels_than_those_of_the_contract_are_refused(heard: list[Event]) -> None:
    with pytest.raises(ValueError, match="sink"):
        emit("retrieval.degraded", 1.0, part="dense")
