"""The process that works for agents is measured like any other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.serve.conftest import no_daemon_stays, notes
from tests.serve.world import Client
from tests.telemetry.conftest import read

__all__ = ["no_daemon_stays", "notes"]
pytestmark = pytest.mark.slow


def daemon_metrics() -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ir", "daemon", "metrics"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_daemon_tells_what_it_measured(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (daemon_metrics().returncode, daemon_metrics().stdout) == (1, "no daemon runs\n")
    monkeypatch.setenv("IR_TELEMETRY_ENABLED", "true")
    with Client() as client:
        client.call("search", query="tea", corpus="notes")
        client.call("ontology_query", semanticQuery="tea", corpus="notes")
        told = read(daemon_metrics().stdout.encode())
    assert told['ir_request_duration_ms_count{door="mcp",operation="search",outcome="ok"}'] == 1
    assert told['ir_request_duration_ms_count{door="mcp",operation="ontology-query",outcome="ok"}'] == 1
    assert sum(count for series, count in told.items() if series.startswith("retrieval_query_duration_ms_count")) == 1


def test_a_daemon_that_measures_nothing_says_so(notes: Path) -> None:
    with Client() as client:
        client.call("search", query="tea", corpus="notes")
        done = daemon_metrics()
    assert (done.returncode, done.stdout) == (1, "")
    assert "telemetry.enabled" in done.stderr


def test_a_wrong_address_of_a_collector_keeps_nobody_from_an_answer(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_TELEMETRY_ENABLED", "true")
    monkeypatch.setenv("IR_TELEMETRY_OTLP_ENDPOINT", "nonsense")
    with Client() as client:
        assert not client.call("search", query="tea", corpus="notes").get("isError")
