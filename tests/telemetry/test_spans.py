"""Spans say what ran and for how long, and what was asked for only if the user wants that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.telemetry.conftest import settings

import ir
from ir import telemetry
from ir.app.session import Session
from ir.errors import CorpusNotBuilt
from ir.query import HybridQueryOptions, OntologyQuery, Parts, ontology_query

KEY = "sk-proj-" + "a1B2" * 12
Spans = Callable[[], dict[str, ReadableSpan]]


@pytest.fixture
def kept() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry.configure(tracer_provider=provider)
    yield exporter
    provider.shutdown()


def by_name(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in exporter.get_finished_spans()}


@pytest.fixture
def session() -> Iterator[Session]:
    rows = {"a": "tea with milk", "b": "bread and butter"}
    ir.build(ir.CorpusSource.from_mapping(rows, name="rows", embedder="light"))
    with Session() as made:
        yield made


def test_the_steps_of_a_query_are_below_it(shop: Any, kept: InMemorySpanExporter) -> None:
    parts = Parts(reranker=lambda query, segments: [1.0] * len(segments), shape="concept")
    with telemetry.request("ontology-query", door="mcp"):
        asked = OntologyQuery("how are receipts mailed", follow_links=True)
        ontology_query(shop, asked, HybridQueryOptions(), parts)
    spans = by_name(kept)
    steps = {"dense", "keyword", "fusion", "rank", "rerank", "graph_expansion"}
    assert set(spans) == {"ir.request", "retrieval.query", *(f"retrieval.{step}" for step in steps)}
    query, request = spans["retrieval.query"], spans["ir.request"]
    assert request.parent is None
    assert query.parent is not None
    assert query.parent.span_id == request.context.span_id
    for step in steps:
        span = spans[f"retrieval.{step}"]
        assert span.parent is not None
        assert span.parent.span_id == query.context.span_id
        assert span.start_time is not None
        assert span.end_time is not None
        assert query.start_time is not None
        assert query.end_time is not None
        assert query.start_time - 1_000_000 <= span.start_time <= span.end_time <= query.end_time + 1_000_000
    assert spans["retrieval.rerank"].start_time >= spans["retrieval.fusion"].end_time - 1_000_000  # type: ignore[operator]
    assert dict(query.attributes or {}) == {
        "hybrid": True,
        "reranked": True,
        "followLinks": True,
        "backend": "embedded",
        "cacheHit": False,
        "shape": "concept",
    }


def test_a_plain_search_is_below_its_request(session: Session, kept: InMemorySpanExporter) -> None:
    session.call("search", {"query": "tea", "target": "rows"}, door="http")
    spans = by_name(kept)
    search, request = spans["ir.search"], spans["ir.request"]
    assert search.parent is not None
    assert search.parent.span_id == request.context.span_id
    assert dict(request.attributes or {}) == {
        "ir.door": "http",
        "ir.operation": "search",
        "ir.outcome": "ok",
        "ir.workspace": "default",
    }


def test_what_fails_is_marked_without_its_message(session: Session, kept: InMemorySpanExporter) -> None:
    with pytest.raises(CorpusNotBuilt):
        session.call("search", {"query": "tea", "target": "hidden-name"})
    (span,) = kept.get_finished_spans()
    assert not span.status.is_ok
    assert span.attributes is not None
    assert span.attributes["ir.outcome"] == "corpus_not_built"
    assert "hidden-name" not in span.to_json()


def test_nothing_that_was_asked_or_found_is_in_a_span(session: Session, kept: InMemorySpanExporter) -> None:
    for operation, asked in (("search", "query"), ("ontology-query", "semantic_query")):
        session.call(operation, {asked: "milky tea", "target": "rows"})
    session.call("discover", {"query": "milky tea", "targets": ["rows"]})
    told = "".join(span.to_json() for span in kept.get_finished_spans())
    assert "ir.request" in told
    for word in ("milky", "butter", "rows"):
        assert word not in told


def test_what_was_asked_is_there_if_the_user_wants_it_with_stars_for_keys(session: Session) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry.configure(settings(query_text=True), tracer_provider=provider)
    with telemetry.request("search", door="http"):
        session.call("search", {"query": f"tea {KEY}", "target": "rows"}, door="http")
    attributes = by_name(exporter)["ir.request"].attributes or {}
    assert str(attributes["ir.query"]).startswith("tea sk-proj-***")
    assert KEY not in str(attributes)
    provider.shutdown()
