"""DR-13: the names, labels and buckets that rules and dashboards are written against do not change."""

from __future__ import annotations

from typing import Any

from tests.telemetry.conftest import Figures

from ir import telemetry
from ir.query import HybridQueryOptions, OntologyQuery, Parts, VersionedCache, ontology_query
from ir.telemetry.measures import BUCKETS_MS, MEASURES, prometheus_name

#: Who changes one of these breaks the rules and dashboards of others; a new one is added here.
GOLDEN = {
    "retrieval.query.duration_ms": ("histogram", "hybrid reranked followLinks backend cacheHit shape"),
    "retrieval.candidates.dense": ("counter", ""),
    "retrieval.candidates.sparse": ("counter", ""),
    "retrieval.fusion.duration_ms": ("histogram", ""),
    "retrieval.rerank.duration_ms": ("histogram", ""),
    "retrieval.rerank.cost_usd": ("counter", "workspace"),
    "retrieval.graph_expansion.duration_ms": ("histogram", ""),
    "retrieval.cache.hit": ("counter", ""),
    "retrieval.cache.miss": ("counter", ""),
    "retrieval.degraded": ("counter", "sink"),
    "ir.search.duration_ms": ("histogram", "mode reranked"),
    "ir.search.stage.duration_ms": ("histogram", "stage"),
    "ir.request.duration_ms": ("histogram", "door operation outcome"),
    "ir.request.active": ("level", "door"),
    "ir.workspace.requests": ("counter", "workspace"),
    "ir.http.duration_ms": ("histogram", "route status"),
}


def test_the_names_and_labels_are_those_of_the_contract() -> None:
    assert {name: (one.kind, " ".join(one.labels)) for name, one in MEASURES.items()} == GOLDEN


def test_times_are_counted_from_a_quarter_of_a_millisecond_to_five_seconds() -> None:
    assert (BUCKETS_MS[0], BUCKETS_MS[-1]) == (0.25, 5000)
    assert {400, 500} <= set(BUCKETS_MS)
    assert list(BUCKETS_MS) == sorted(BUCKETS_MS)


def test_prometheus_reads_the_names_without_unit_or_scope(shop: Any, figures: Figures) -> None:
    parts = Parts(reranker=lambda query, segments: [1.0] * len(segments), cache=VersionedCache(), shape="concept")
    ontology_query(shop, OntologyQuery("how are receipts mailed", follow_links=True), HybridQueryOptions(), parts)
    shop.search("receipt")
    with telemetry.request("search", door="python"):
        pass
    text = (telemetry.metrics_text() or b"").decode()
    assert "otel_scope" not in text
    assert "millisecond" not in text.replace("Milliseconds of", "")
    told = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    expected = {prometheus_name(name) for name in GOLDEN} - {"retrieval_rerank_cost_usd_total", "ir_http_duration_ms"}
    assert expected <= told
    assert told - expected <= {"target_info"} | {one for one in told if one.startswith("process_")}
    labels = '{backend="embedded",cacheHit="false",followLinks="true",hybrid="true",reranked="true",shape="concept"}'
    assert figures()[f"retrieval_query_duration_ms_count{labels}"] == 1
    bounds = [line.split('le="')[1].split('"')[0] for line in text.splitlines() if "fusion_duration_ms_bucket" in line]
    assert [float(bound) for bound in bounds[:-1]] == list(BUCKETS_MS)
    assert bounds[-1] == "+Inf"


def test_a_counter_is_there_before_its_first_count(figures: Figures) -> None:
    told = figures()
    sinks = ("dense", "keyword", "reranker", "graphExpansion", "version")
    assert all(told[f'retrieval_degraded_total{{sink="{sink}"}}'] == 0 for sink in sinks)
    assert told["retrieval_cache_hit_total"] == told["retrieval_cache_miss_total"] == 0
