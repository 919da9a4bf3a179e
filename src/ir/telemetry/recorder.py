"""Takes what happens in queries, as figures and as spans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter, time_ns
from typing import TYPE_CHECKING, Any

from ir.events import SINKS, Event, listen
from ir.telemetry.labels import Labels
from ir.telemetry.measures import BUCKETS_MS, MEASURES, STEPS, Measure
from ir.telemetry.requests import Request

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter
    from opentelemetry.trace import Tracer

    from ir.telemetry import Seen
    from ir.telemetry.providers import Providers

__all__ = ["Recorder"]

#: The spans that events end.
_SPANS = {"retrieval.query.duration_ms": "retrieval.query", "ir.search.duration_ms": "ir.search"}

Take = Callable[[float, Mapping[str, str | bool]], None]


class Recorder:
    """One meter and one tracer, made by the providers that were configured. It hears every event until ``deafen``."""

    def __init__(self, providers: Providers, *, query_text: bool = False) -> None:
        from ir import __version__

        self._providers = providers
        self._query_text = query_text
        self.labels = Labels()
        self._take: dict[str, Take] = {}
        if providers.meters is not None:
            meter = providers.meters.get_meter("ir", __version__)
            self._take = {name: _instrument(meter, name, measure) for name, measure in MEASURES.items()}
        self.tracer: Tracer | None = None
        if providers.tracers is not None:
            self.tracer = providers.tracers.get_tracer("ir", __version__)
        self._begin_at_zero()
        self.deafen = listen(self.hear)

    def _begin_at_zero(self) -> None:
        """Show the counters whose labels are known: of one that appears with its first count, no rate can be told."""
        for sink in SINKS:
            self.record("retrieval.degraded", 0, sink=sink)
        for name, measure in MEASURES.items():
            if measure.kind == "counter" and not measure.labels:
                self.record(name, 0)

    def record(self, name: str, value: float, /, **labels: Any) -> None:
        """Take one value of a measure."""
        take = self._take.get(name)
        if take is not None:
            take(value, self.labels.bounded(labels))

    def hear(self, event: Event) -> None:
        """Take an event of a query."""
        self.record(event.name, event.value, **event.labels)
        if self.tracer is not None and event.name in _SPANS:
            self._span(self.tracer, event)

    def request(self, seen: Seen, operation: str, door: str, query: str | None) -> Request:
        return Request(self, seen, operation, door, query if self._query_text else None)

    def text(self) -> bytes | None:
        return None if self._providers.text is None else self._providers.text()

    def close(self) -> None:
        for end in self._providers.close:
            end()

    def _span(self, tracer: Tracer, event: Event) -> None:
        """The span of a query that has just ended, with its steps below it."""
        from opentelemetry.trace import set_span_in_context

        now, clock = time_ns(), perf_counter()
        began = now - int(event.value * 1e6)
        whole = tracer.start_span(_SPANS[event.name], attributes=self.labels.bounded(event.labels), start_time=began)
        below = set_span_in_context(whole)
        for step in event.steps:
            began = now - int((clock - step.began) * 1e9)
            tracer.start_span(STEPS[step.name], below, start_time=began).end(began + int(step.ms * 1e6))
        whole.end(now)


def _instrument(meter: Meter, name: str, measure: Measure) -> Take:
    """What takes the values of a measure. None has a unit: Prometheus would write it into the name once more."""
    if measure.kind == "histogram":
        return meter.create_histogram(
            name, description=measure.doc, explicit_bucket_boundaries_advisory=BUCKETS_MS
        ).record
    if measure.kind == "level":
        return meter.create_up_down_counter(name, description=measure.doc).add
    return meter.create_counter(name, description=measure.doc).add
