"""Where figures and spans go: what of OpenTelemetry's SDK is made, and for whom."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ir.errors import InvalidInput, MissingExtra
from ir.secrets.addresses import masked

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.trace import TracerProvider

__all__ = ["Providers", "given_providers", "own_providers"]

#: How long, in seconds, a collector is given for one parcel.
_EXPORT_S = 10


@dataclass(frozen=True)
class Providers:
    """Who makes meters and tracers; ``None`` where nobody would read them. ``text`` writes all figures down."""

    meters: MeterProvider | None = None
    tracers: TracerProvider | None = None
    text: Callable[[], bytes] | None = None
    close: tuple[Callable[[], Any], ...] = field(default=())


def given_providers(meters: Any, tracers: Any) -> Providers:
    """Those of an application that has its own; it also ends them."""
    return Providers(meters, tracers)


def own_providers(settings: Mapping[str, Any]) -> Providers:
    """Those that the settings ask for, apart from any that the process has: nothing of others goes with ours."""
    endpoint = settings["telemetry.otlp_endpoint"]
    address = None if endpoint is None else _checked(endpoint)
    try:
        from opentelemetry.exporter.prometheus import PrometheusMetricReader
        from opentelemetry.sdk.metrics import MeterProvider
        from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
    except ImportError as error:
        raise MissingExtra("opentelemetry-exporter-prometheus", "telemetry", "Telemetry") from error
    # Who embeds this and has no log gets no word of a collector that is away on its stderr.
    logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
    resource = _resource()
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    readers: list[Any] = [PrometheusMetricReader(scope_info_enabled=False, registry=registry)]
    if address is not None:
        readers.append(_metrics_to(address))
    meters = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
    tracers = None if address is None else _traces_to(address, resource)
    ends = [meters.shutdown, *([] if tracers is None else [tracers.shutdown])]
    return Providers(meters, tracers, lambda: bytes(generate_latest(registry)), tuple(ends))


def _checked(endpoint: str) -> str:
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput(
            f"telemetry.otlp_endpoint must be the address of a collector, not {masked(endpoint)!r}.",
            remedy="Write it with its scheme and port, such as http://localhost:4318.",
        )
    return endpoint.rstrip("/")


def _resource() -> Resource:
    """Who sends: the package and its version, and what ``OTEL_RESOURCE_ATTRIBUTES`` adds."""
    from opentelemetry.sdk.resources import Resource

    from ir import __version__

    return Resource.create({"service.name": "ir", "service.version": __version__})


def _metrics_to(address: str) -> Any:
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

    try:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    except ImportError as error:
        raise _missing_exporter() from error
    return PeriodicExportingMetricReader(OTLPMetricExporter(f"{address}/v1/metrics", timeout=_EXPORT_S))


def _traces_to(address: str, resource: Resource) -> Any:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError as error:
        raise _missing_exporter() from error
    tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{address}/v1/traces", timeout=_EXPORT_S)))
    return tracers


def _missing_exporter() -> MissingExtra:
    return MissingExtra("opentelemetry-exporter-otlp-proto-http", "telemetry", "Sending telemetry to a collector")
