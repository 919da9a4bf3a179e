"""Figures go to the provider that was configured, and to no other."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from tests.telemetry.conftest import settings

from ir import telemetry
from ir.config.settings import Settings
from ir.errors import InvalidInput
from ir.query import HybridQueryOptions, OntologyQuery, ontology_query


def names_in(reader: InMemoryMetricReader) -> dict[str, str]:
    """The metrics that a reader got, with the name of the meter of each."""
    data = reader.get_metrics_data()
    parts = [] if data is None else [scope for part in data.resource_metrics for scope in part.scope_metrics]
    return {metric.name: scope.scope.name for scope in parts for metric in scope.metrics}


def test_the_meter_is_made_by_the_provider_that_was_given(shop: Any) -> None:
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    assert telemetry.configure(meter_provider=provider)
    ontology_query(shop, OntologyQuery("order"), HybridQueryOptions())
    heard = names_in(reader)
    assert heard["retrieval.query.duration_ms"] == heard["retrieval.degraded"] == "ir"
    assert telemetry.metrics_text() is None  # whoever gave the provider reads it
    telemetry.shutdown()
    ontology_query(shop, OntologyQuery("order"), HybridQueryOptions())
    assert _count(reader) == 1
    provider.shutdown()


def _count(reader: InMemoryMetricReader) -> int:
    data = reader.get_metrics_data()
    assert data is not None
    points: Any = [
        point
        for part in data.resource_metrics
        for scope in part.scope_metrics
        for metric in scope.metrics
        if metric.name == "retrieval.query.duration_ms"
        for point in metric.data.data_points
    ]
    return sum(point.count for point in points)


def test_what_is_made_here_is_nobody_elses() -> None:
    before = metrics.get_meter_provider(), trace.get_tracer_provider()
    assert telemetry.configure(settings())
    assert (metrics.get_meter_provider(), trace.get_tracer_provider()) == before


def test_configuring_twice_measures_once(shop: Any) -> None:
    telemetry.configure(settings())
    telemetry.configure(settings())
    ontology_query(shop, OntologyQuery("order"), HybridQueryOptions())
    text = (telemetry.metrics_text() or b"").decode()
    assert [line.rsplit(" ")[1] for line in text.splitlines() if "query_duration_ms_count" in line] == ["1.0"]


def test_settings_that_turn_it_off_end_it() -> None:
    assert telemetry.configure(settings())
    assert telemetry.is_on()
    assert not telemetry.configure(Settings.defaults())
    assert telemetry.metrics_text() is None


@pytest.mark.parametrize("address", ["collector:4318", "file:///tmp/x", "http://"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match="otlp_endpoint"):
        telemetry.configure(settings(otlp_endpoint=address))
    assert not telemetry.is_on()


def test_a_project_cannot_turn_it_on(tmp_path: Any) -> None:
    (tmp_path / "ir.toml").write_text('[telemetry]\notlp_endpoint = "https://example.org"\n')
    with pytest.raises(InvalidInput, match="cannot be set"):
        Settings.load(cwd=tmp_path)


OFF = """
import sys
import ir
from ir import telemetry
from ir.app.session import Session
from ir.query import HybridQueryOptions, OntologyQuery, ontology_query

corpus = ir.build(ir.CorpusSource.from_mapping({"a": "tea", "b": "bread"}, name="rows", embedder="light"))
corpus.search("tea")
ontology_query(corpus, OntologyQuery("tea"), HybridQueryOptions())
with Session() as session:
    session.call("search", {"query": "tea", "target": "rows"}, door="http")
from ir.cli.main import run
assert run(["search", "rows", "tea", "--json"]) == 0
assert telemetry.setup() is False and telemetry.metrics_text() is None
loaded = sorted(name for name in sys.modules if name.split(".")[0] in ("opentelemetry", "prometheus_client"))
assert not loaded, loaded
assert "ir.telemetry.recorder" not in sys.modules
"""


@pytest.mark.slow
def test_while_it_is_off_nothing_of_it_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", OFF], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
