"""``ir serve`` shows what it measured at /metrics, to whoever may see it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tests.telemetry.conftest import read
from tests.telemetry.serving import serving

import ir

pytest.importorskip("fastapi", reason="needs fastapi, of the extra serve: pip install 'ir-substrate[serve]'")
pytestmark = pytest.mark.slow


@pytest.fixture
def rows() -> None:
    ir.build(ir.CorpusSource.from_mapping({"a": "tea with milk", "b": "bread"}, name="rows", embedder="light"))


def test_requests_searches_and_refusals_are_counted(rows: None) -> None:
    with serving(IR_TELEMETRY_ENABLED="true") as server:
        assert server.ask("/v1/search", {"query": "milk", "target": "rows"})[0] == 200
        assert server.ask("/v1/ontology-query", {"semantic_query": "milk", "target": "rows", "shape": "2"})[0] == 200
        assert server.ask("/v1/search", {"query": "milk", "target": "nowhere"})[0] == 404
        assert server.ask("/v1/search", {"quary": "milk"})[0] == 422
        assert server.ask("/some/milk", {})[0] == 404
        status, kind, text = server.ask("/metrics")
    assert (status, kind) == (200, "text/plain; version=0.0.4; charset=utf-8")
    told = read(text.encode())
    assert told['ir_http_duration_ms_count{route="search",status="200"}'] == 1
    assert told['ir_http_duration_ms_count{route="search",status="404"}'] == 1
    assert told['ir_http_duration_ms_count{route="search",status="422"}'] == 1
    assert told['ir_http_duration_ms_count{route="none",status="404"}'] == 1
    requests = {series: count for series, count in told.items() if series.startswith("ir_request_duration_ms_count")}
    assert requests == {
        'ir_request_duration_ms_count{door="http",operation="search",outcome="ok"}': 1,
        'ir_request_duration_ms_count{door="http",operation="search",outcome="corpus_not_built"}': 1,
        'ir_request_duration_ms_count{door="http",operation="ontology-query",outcome="ok"}': 1,
    }
    assert (
        sum(count for series, count in told.items() if "query_duration_ms_count{" in series and 'shape="2"' in series)
        == 1
    )
    assert "milk" not in text


def test_without_telemetry_there_are_no_metrics(rows: None) -> None:
    with serving() as server:
        status, _, text = server.ask("/metrics")
    assert (status, json.loads(text)["code"]) == (404, "no_metrics")


def test_once_there_are_tokens_metrics_need_one_for_administration(rows: None) -> None:
    from ir.access import open_access

    access = open_access()
    _, reading = access.create("reader", scopes=["read"])
    _, watching = access.create("prometheus", workspace="watching", scopes=["admin"])
    access.close()
    with serving(IR_TELEMETRY_ENABLED="true") as server:
        assert server.ask("/metrics")[0] == 401
        assert server.ask("/metrics", token=reading)[0] == 403
        status, _, text = server.ask("/metrics", token=watching)
        assert server.ask("/v1/search", {"query": "milk", "target": "rows"}, token=watching)[0] == 404
        assert server.ask("/healthz")[0] == server.ask("/readyz")[0] == 200
    assert status == 200
    assert read(text.encode())['ir_http_duration_ms_count{route="metrics",status="403"}'] == 1
    assert reading not in text
    assert watching not in text


def test_a_server_that_cannot_measure_as_it_was_told_does_not_start() -> None:
    command = [sys.executable, "-m", "ir", "serve", "--port", "0"]
    wrong = {"IR_TELEMETRY_ENABLED": "true", "IR_TELEMETRY_OTLP_ENDPOINT": "nonsense"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **wrong}, timeout=60)
    assert done.returncode == 2
    assert "otlp_endpoint" in done.stderr
