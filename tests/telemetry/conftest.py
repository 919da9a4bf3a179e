"""Telemetry that is on, and off again after the test; and a collector that keeps what it is sent."""

from __future__ import annotations

import gzip
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from tests.extras import reason_for
from tests.query.conftest import making, rerank_server, shop, silent_socket

from ir import telemetry
from ir.config.settings import Settings

pytest.importorskip("opentelemetry.sdk", reason=reason_for("opentelemetry"))
pytest.importorskip("opentelemetry.exporter.prometheus", reason=reason_for("opentelemetry"))

__all__ = ["making", "rerank_server", "shop", "silent_socket"]

Figures = Callable[[], dict[str, float]]
_LINE = re.compile(r"^([a-zA-Z_:][\w:]*(?:\{.*\})?) (\S+)$")


@pytest.fixture(autouse=True)
def off_afterwards() -> Iterator[None]:
    yield
    telemetry.shutdown()


def settings(**values: Any) -> Settings:
    """The settings of somebody who has turned telemetry on."""
    given = {"telemetry.enabled": True, **{f"telemetry.{name}": value for name, value in values.items()}}
    return Settings.load(flags=given)


def read(text: bytes | None) -> dict[str, float]:
    """Every series of an exposition with its value."""
    assert text is not None
    found = [_LINE.match(line) for line in text.decode().splitlines() if not line.startswith("#")]
    return {one[1]: float(one[2]) for one in found if one}


@pytest.fixture
def figures() -> Figures:
    """Turns telemetry on; what it returns reads what was measured, by series."""
    assert telemetry.configure(settings())
    return lambda: read(telemetry.metrics_text())


class Collector:
    """Takes what is sent over OTLP, on loopback; ``bodies`` by path."""

    def __init__(self) -> None:
        self.bodies: dict[str, list[bytes]] = {}
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                owner.bodies.setdefault(self.path, []).append(body)
                self.send_response(200)
                self.send_header("Content-Type", "application/x-protobuf")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def metrics(self) -> set[str]:
        """The names of all metrics that arrived."""
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

        return {
            metric.name
            for body in self.bodies.get("/v1/metrics", ())
            for part in ExportMetricsServiceRequest.FromString(body).resource_metrics
            for scope in part.scope_metrics
            for metric in scope.metrics
        }

    def spans(self) -> list[Mapping[str, Any]]:
        """All spans that arrived: name, parent and attributes."""
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

        return [
            {
                "name": span.name,
                "id": span.span_id,
                "parent": span.parent_span_id,
                "attributes": {
                    one.key: getattr(one.value, one.value.WhichOneof("value") or "") for one in span.attributes
                },
            }
            for body in self.bodies.get("/v1/traces", ())
            for part in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in part.scope_spans
            for span in scope.spans
        ]

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.stop()
