"""A collector gets figures and spans if the user has named one. Nothing goes anywhere else, and none is waited for."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.telemetry.conftest import Collector, settings

from ir import telemetry
from ir.telemetry import LEAVING_S


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "notes"
    made.mkdir()
    (made / "tea.md").write_text("Steep green tea at 80 degrees.\n")
    return made


def ir(*words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "IR_EMBEDDER": "light", "IR_DAEMON": "off", **environ}
    command = [sys.executable, "-m", "ir", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=120)


def test_a_process_sends_to_the_collector_that_was_named(collector: Collector) -> None:
    telemetry.configure(settings(otlp_endpoint=f"{collector.url}/"))
    with telemetry.request("search", door="python"):
        pass
    telemetry.shutdown()
    assert {"ir.request.duration_ms", "retrieval.degraded"} <= collector.metrics()
    assert [span["name"] for span in collector.spans()] == ["ir.request"]


@pytest.mark.slow
def test_a_command_sends_what_it_measured_before_it_ends(collector: Collector, folder: Path) -> None:
    done = ir(
        *("search", str(folder), "green tea", "--json"),
        IR_TELEMETRY_ENABLED="true",
        IR_TELEMETRY_OTLP_ENDPOINT=collector.url,
    )
    assert done.returncode == 0, done.stderr
    assert {"ir.request.duration_ms", "ir.search.duration_ms"} <= collector.metrics()
    (request,) = [span for span in collector.spans() if span["name"] == "ir.request"]
    assert request["attributes"]["ir.operation"] == "search"
    assert request["attributes"]["ir.door"] == "cli"
    sent = b"".join(body for bodies in collector.bodies.values() for body in bodies)
    assert b"green tea" not in sent
    assert str(folder).encode() not in sent


@pytest.mark.slow
def test_an_address_alone_sends_nothing(collector: Collector, folder: Path) -> None:
    done = ir(
        *("search", str(folder), "green tea"),
        IR_TELEMETRY_OTLP_ENDPOINT=collector.url,
        OTEL_EXPORTER_OTLP_ENDPOINT=collector.url,
    )
    assert done.returncode == 0, done.stderr
    assert collector.bodies == {}


def test_what_others_set_for_opentelemetry_names_no_collector(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    telemetry.configure(settings())
    with telemetry.request("search", door="python"):
        pass
    telemetry.shutdown()
    assert collector.bodies == {}


@pytest.mark.slow
def test_a_collector_that_is_away_changes_nothing(folder: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    plain = ir("search", str(folder), "green tea", "--json")
    done = ir(
        *("search", str(folder), "green tea", "--json"),
        IR_TELEMETRY_ENABLED="true",
        IR_TELEMETRY_OTLP_ENDPOINT=address,
    )
    assert (done.returncode, done.stderr) == (plain.returncode, "")


@pytest.mark.slow
def test_a_collector_that_never_answers_is_not_waited_for(silent_socket: tuple[str, int]) -> None:
    telemetry.configure(settings(otlp_endpoint="http://{}:{}".format(*silent_socket)))
    with telemetry.request("search", door="python"):
        pass
    began = time.monotonic()
    telemetry.shutdown()
    assert time.monotonic() - began < LEAVING_S + 2
