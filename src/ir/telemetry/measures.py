"""All that is measured: names, kinds, labels and what each means. These do not change between versions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ir.events import HTTP_METRICS, METRICS, SEARCH_METRICS, Metric

__all__ = ["BUCKETS_MS", "MEASURES", "STEPS", "Measure", "prometheus_name"]


class Measure(NamedTuple):
    """``kind`` is ``histogram``, ``counter`` or ``level``, which goes up and down."""

    kind: str
    labels: tuple[str, ...]
    doc: str


#: Between which times, in ms, a histogram counts: 400 is the goal of a composed query and 500 what is warned of.
BUCKETS_MS = (0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 200, 300, 400, 500, 750, 1000, 2500, 5000)

_REQUESTS: Mapping[str, Metric] = {
    "ir.request.duration_ms": Metric("histogram", ("door", "operation", "outcome")),
    "ir.request.active": Metric("level", ("door",)),
    "ir.workspace.requests": Metric("counter", ("workspace",)),
}

_DOCS = {
    "retrieval.query.duration_ms": "Milliseconds of a composed query, from the check of its parameters to its answer.",
    "retrieval.candidates.dense": "Candidates that composed queries found by meaning.",
    "retrieval.candidates.sparse": "Candidates that composed queries found by words.",
    "retrieval.fusion.duration_ms": "Milliseconds of making one ranking of both lists of a composed query.",
    "retrieval.rerank.duration_ms": "Milliseconds of a reranking, also of one that failed.",
    "retrieval.rerank.cost_usd": "US dollars that reranking cost, by the prices that were set.",
    "retrieval.graph_expansion.duration_ms": "Milliseconds of following the links of a composed query's results.",
    "retrieval.cache.hit": "Composed queries that an earlier answer was kept for.",
    "retrieval.cache.miss": "Composed queries that no earlier answer was kept for.",
    "retrieval.degraded": "Queries that went on without a part that failed.",
    "ir.search.duration_ms": "Milliseconds of a plain search of one corpus.",
    "ir.search.stage.duration_ms": "Milliseconds of a stage of such a search.",
    "ir.request.duration_ms": "Milliseconds of an operation, from its request to its response.",
    "ir.request.active": "Requests that are being answered.",
    "ir.workspace.requests": "Requests of a workspace.",
    "ir.http.duration_ms": "Milliseconds of a request over HTTP, from its head to the end of its answer.",
}

MEASURES: Mapping[str, Measure] = {
    name: Measure(metric.kind, metric.labels, _DOCS[name])
    for name, metric in {**METRICS, **SEARCH_METRICS, **_REQUESTS, **HTTP_METRICS}.items()
}

#: The spans below ``retrieval.query``, by the step of a composed query.
STEPS = {
    "dense": "retrieval.dense",
    "keyword": "retrieval.keyword",
    "fusion": "retrieval.fusion",
    "rank": "retrieval.rank",
    "rerank": "retrieval.rerank",
    "graphExpansion": "retrieval.graph_expansion",
}


def prometheus_name(name: str) -> str:
    """What Prometheus calls a measure; a histogram's has ``_bucket``, ``_sum`` or ``_count`` after it.

    >>> prometheus_name("retrieval.query.duration_ms"), prometheus_name("retrieval.degraded")
    ('retrieval_query_duration_ms', 'retrieval_degraded_total')
    """
    return name.replace(".", "_") + ("_total" if MEASURES[name].kind == "counter" else "")
