"""What happens in a query, told to whoever listens: names, labels and values that do not change between versions.

Telemetry is a listener; without one nothing is measured twice and nothing is sent.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = [
    "HTTP_METRICS",
    "METRICS",
    "SEARCH_METRICS",
    "SINKS",
    "Event",
    "Metric",
    "Step",
    "emit",
    "is_heard",
    "listen",
]

log = logging.getLogger("ir.query")

#: What a query may have to do without.
SINKS = ("dense", "keyword", "reranker", "graphExpansion", "version")


class Metric(NamedTuple):
    """How the values of an event add up (``histogram`` or ``counter``), and its labels."""

    kind: str
    labels: tuple[str, ...] = ()


#: Those of composed queries. What reranking costs and what is degraded is told of every search under these names.
METRICS: Mapping[str, Metric] = {
    "retrieval.query.duration_ms": Metric(
        "histogram", ("hybrid", "reranked", "followLinks", "backend", "cacheHit", "shape")
    ),
    "retrieval.candidates.dense": Metric("counter"),
    "retrieval.candidates.sparse": Metric("counter"),
    "retrieval.fusion.duration_ms": Metric("histogram"),
    "retrieval.rerank.duration_ms": Metric("histogram"),
    "retrieval.rerank.cost_usd": Metric("counter", ("workspace",)),
    "retrieval.graph_expansion.duration_ms": Metric("histogram"),
    "retrieval.cache.hit": Metric("counter"),
    "retrieval.cache.miss": Metric("counter"),
    "retrieval.degraded": Metric("counter", ("sink",)),
}

#: Those of plain searches, each of one corpus: ``search``, ``discover`` and ``ask`` make them.
SEARCH_METRICS: Mapping[str, Metric] = {
    "ir.search.duration_ms": Metric("histogram", ("mode", "reranked")),
    "ir.search.stage.duration_ms": Metric("histogram", ("stage",)),
}

#: Those of a server: every request that came over HTTP, also those that no operation was asked for.
HTTP_METRICS: Mapping[str, Metric] = {"ir.http.duration_ms": Metric("histogram", ("route", "status"))}

_KNOWN = {**METRICS, **SEARCH_METRICS, **HTTP_METRICS}


class Step(NamedTuple):
    """A part of what an event tells of: when it began, by :func:`time.perf_counter`, and how long it took."""

    name: str
    began: float
    ms: float


@dataclass(frozen=True)
class Event:
    """One value of a metric, with its labels. That of a whole query has its ``steps``."""

    name: str
    value: float
    labels: Mapping[str, Any] = field(default_factory=dict)
    steps: Sequence[Step] = ()


Listener = Callable[[Event], None]
_listeners: tuple[Listener, ...] = ()
_lock = threading.Lock()


def listen(listener: Listener) -> Callable[[], None]:
    """Tell a function of every event from now on; what is returned ends that."""
    global _listeners
    with _lock:
        _listeners = (*_listeners, listener)

    def stop() -> None:
        global _listeners
        with _lock:
            _listeners = tuple(one for one in _listeners if one is not listener)

    return stop


def is_heard() -> bool:
    """Whether anybody listens; who has much to tell asks first."""
    return bool(_listeners)


def emit(name: str, value: float = 1.0, steps: Sequence[Step] = (), /, **labels: Any) -> None:
    """Tell of an event; a listener that fails is logged, for no query may end by being watched."""
    listeners = _listeners
    if not listeners:
        return
    if tuple(labels) != _KNOWN[name].labels:
        raise ValueError(f"The labels of {name} are {_KNOWN[name].labels}, not {tuple(labels)}.")
    event = Event(name, float(value), labels, steps)
    for listener in listeners:
        try:
            listener(event)
        except Exception:
            log.exception("a listener of %s failed", name)
