"""Rules and dashboard are about figures that a server really shows, and warn when they should."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.deploy.conftest import DEPLOY, documents, run, tool
from tests.extras import reason_for
from tests.query.conftest import RerankServer
from tests.telemetry.serving import serving

from ir.telemetry.measures import MEASURES, prometheus_name

PROMETHEUS = DEPLOY / "prometheus"
RULES = PROMETHEUS / "ir.rules.yml"
FROM = "the Debian package prometheus, or prometheus.io"
#: What Grafana and Prometheus add to every series.
ADDED = {"instance", "job", "le"}
#: Thresholds that would be wrong, in place of those that are right.
OTHERWISE = (
    ("ir.rules.test.yml", "> 500", "> 700"),
    ("ir.rules.test.yml", "> 500", "> 400"),
    ("ir.rules.test.yml", "> 0.05", "> 0.06"),
    ("ir.rules.test.yml", "> 0.05", "> 0.03"),
    ("ir.cost.test.yml", "> 7", "> 8"),
    ("ir.cost.test.yml", "> 7", "> 6.9"),
)


@pytest.fixture(scope="module")
def exposition() -> str:
    """What a server shows that has done everything once."""
    pytest.importorskip("opentelemetry.exporter.prometheus", reason=reason_for("opentelemetry"))
    pytest.importorskip("fastapi", reason="needs fastapi, of the extra serve: pip install 'ir-substrate[serve]'")
    reranker = RerankServer()
    with tempfile.TemporaryDirectory() as home, pytest.MonkeyPatch.context() as environ:
        for kind in ("CONFIG", "DATA", "CACHE", "RUNTIME"):
            environ.setenv(f"IR_{kind}_DIR", str(Path(home) / kind.lower()))
        import ir

        rows = {"a": "tea with milk", "b": "bread and butter"}
        ir.build(ir.CorpusSource.from_mapping(rows, name="rows", embedder="light"))
        with serving(
            IR_TELEMETRY_ENABLED="true",
            IR_RETRIEVAL_RERANKER="http:some-model",
            IR_RERANK_BASE_URL=reranker.url,
            IR_RERANK_USD_PER_1000_SEARCHES="2",
        ) as server:
            asked = {"semantic_query": "milk", "target": "rows", "shape": "concept", "follow_links": True}
            for _ in range(2):  # the second comes from the cache
                assert server.ask("/v1/ontology-query", asked)[0] == 200
            assert server.ask("/v1/search", {"query": "milk", "target": "rows"})[0] == 200
            status, _, text = server.ask("/metrics")
    reranker.stop()
    assert status == 200
    return text


def families(text: str) -> dict[str, set[str]]:
    """The names of all series, with their labels."""
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, _, labels = line.rpartition(" ")[0].partition("{")
            found.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    return found


def recorded() -> set[str]:
    (rules,) = documents(RULES)
    return {rule["record"] for group in rules["groups"] for rule in group["rules"] if "record" in rule}


def alerts() -> dict[str, Any]:
    (rules,) = documents(RULES)
    return {rule["alert"]: rule for group in rules["groups"] for rule in group["rules"] if "alert" in rule}


def names_in(expression: str) -> set[str]:
    """The metrics that an expression reads."""
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]|\b\w+ by \([^)]*\)|\b\w+(?=\()", " ", expression)
    return set(re.findall(r"[a-z_]\w*(?::\w+)*", bare)) - {"by"}


def labels_in(expression: str) -> set[str]:
    """The labels that an expression chooses or groups by."""
    chosen = [name for part in re.findall(r"\{([^}]*)\}", expression) for name in re.findall(r"(\w+)\s*[=!]~?", part)]
    grouped = [name.strip() for part in re.findall(r"\bby \(([^)]*)\)", expression) for name in part.split(",")]
    return {*chosen, *grouped}


def test_the_reading_of_expressions_is_right() -> None:
    asked = 'histogram_quantile(0.9, sum by (le, shape) (rate(a_b_bucket{x=~"1|2",y!="z"}[5m]))) / ir:c:d_10m > 500'
    assert names_in(asked) == {"a_b_bucket", "ir:c:d_10m"}
    assert labels_in(asked) == {"le", "shape", "x", "y"}


@pytest.mark.slow
def test_the_server_shows_every_measure_and_promtool_reads_it(exposition: str) -> None:
    shown = families(exposition)
    for name, measure in MEASURES.items():
        series = prometheus_name(name) + ("_bucket" if measure.kind == "histogram" else "")
        assert set(measure.labels) == shown[series] - {"le"}, name
    done = run_on_text(exposition, tool("promtool", FROM), "check", "metrics")
    # The contract has `_ms` in names, and labels such as cacheHit; promtool has other tastes. Nothing else is remarked.
    assert {line.split(" ", 1)[1] for line in done.splitlines() if line} <= {
        "metric names should not contain abbreviated units",
        "label names should be written in 'snake_case' not 'camelCase'",
    }


def run_on_text(text: str, *command: str) -> str:
    import subprocess

    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode in (0, 3), done.stderr  # 3: it read everything and has a remark
    return done.stdout + done.stderr


def test_promtool_takes_the_rules_and_their_tests_pass() -> None:
    promtool = tool("promtool", FROM)
    assert run(promtool, "check", "rules", RULES).returncode == 0
    done = run(promtool, "test", "rules", "ir.rules.test.yml", "ir.cost.test.yml", cwd=PROMETHEUS)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_tests_of_the_rules_would_notice_another_threshold(tmp_path: Path) -> None:
    promtool = tool("promtool", FROM)
    text = RULES.read_text("utf-8")
    for tests, before, after in OTHERWISE:
        shutil.copy(PROMETHEUS / tests, tmp_path)
        assert before in text
        (tmp_path / "ir.rules.yml").write_text(text.replace(before, after))
        assert run(promtool, "test", "rules", tests, cwd=tmp_path).returncode != 0, after


def test_the_three_warnings_have_the_thresholds_that_were_agreed() -> None:
    assert {name: rule["expr"] for name, rule in alerts().items()} == {
        "IrConceptQueriesSlow": "ir:concept_query_duration_ms:p95_10m > 500",
        "IrRerankerDegraded": "ir:rerank_degraded:ratio_10m > 0.05",
        "IrRerankingCostly": "ir:rerank_cost_usd:sum_30d > 7",
    }
    for rule in alerts().values():
        assert {"summary", "description"} <= set(rule["annotations"])
        assert names_in(rule["expr"]) <= recorded()


@pytest.mark.slow
def test_rules_read_what_the_server_shows(exposition: str) -> None:
    shown = families(exposition)
    (rules,) = documents(RULES)
    for rule in (rule for group in rules["groups"] for rule in group["rules"] if "record" in rule):
        for name in names_in(rule["expr"]):
            assert name in shown, f"{rule['record']} reads {name}, which no server shows"
        assert labels_in(rule["expr"]) <= ADDED | {label for name in names_in(rule["expr"]) for label in shown[name]}


def test_prometheus_takes_its_configuration(tmp_path: Path) -> None:
    promtool = tool("promtool", FROM)
    shutil.copy(RULES, tmp_path)
    text = (PROMETHEUS / "prometheus.yml").read_text("utf-8")
    (tmp_path / "token").write_text("x")
    (tmp_path / "prometheus.yml").write_text(text.replace("/etc/prometheus/ir-token", str(tmp_path / "token")))
    done = run(promtool, "check", "config", tmp_path / "prometheus.yml")
    assert done.returncode == 0, done.stdout + done.stderr


# -- the dashboard -----------------------------------------------------------------------------------------------------


def board() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((DEPLOY / "grafana" / "ir.json").read_text("utf-8"))
    return loaded


def expressions() -> list[tuple[str, str]]:
    """The title of each panel with each of its expressions, as Prometheus would get them."""
    found = []
    for panel in board()["panels"]:
        for target in panel.get("targets", ()):
            asked = target["expr"].replace("$__rate_interval", "5m").replace("$instance", ".*")
            assert "$" not in asked, panel["title"]
            found.append((panel["title"], asked))
    return found


def test_the_dashboard_has_panels_with_titles_units_and_places_of_their_own() -> None:
    panels = board()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert len({panel["title"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells
        if panel["type"] != "row":
            assert panel["fieldConfig"]["defaults"]["unit"]
            assert panel["datasource"]["uid"] == "${datasource}"
    assert {one["name"] for one in board()["templating"]["list"]} == {"datasource", "instance"}


@pytest.mark.slow
def test_every_expression_of_the_dashboard_reads_what_is_there(exposition: str) -> None:
    shown = families(exposition)
    read = set()
    for title, expression in expressions():
        names = names_in(expression)
        assert names, title
        for name in names:
            assert name in shown or name in recorded(), f"{title}: nobody shows {name}"
        read |= names
        known = ADDED | {"workspace"} | {label for name in names for label in shown.get(name, ())}
        assert labels_in(expression) <= known, title
    # Whatever is measured can be seen.
    unseen = {name for name in MEASURES if not any(one.startswith(prometheus_name(name)) for one in read)}
    assert unseen == set()
    variable = board()["templating"]["list"][1]["query"]["query"]
    assert "process_start_time_seconds" in variable
    assert "process_start_time_seconds" in shown


def test_prometheus_can_read_every_expression_of_the_dashboard(tmp_path: Path) -> None:
    promtool = tool("promtool", FROM)
    rules = [{"record": f"panel:{number}", "expr": asked} for number, (_, asked) in enumerate(expressions())]
    (tmp_path / "panels.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    done = run(promtool, "check", "rules", tmp_path / "panels.yml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(rules)} rules found" in done.stdout
