"""Every operation is a request, counted once, by door, name and outcome."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.telemetry.conftest import Figures

import ir
from ir import telemetry
from ir.app.context import Caller
from ir.app.session import Session
from ir.config.workspace import in_workspace
from ir.errors import Cancelled, CorpusNotBuilt


@pytest.fixture
def session() -> Any:
    rows = {"a": "tea with milk", "b": "bread and butter"}
    ir.build(ir.CorpusSource.from_mapping(rows, name="rows", embedder="light"))
    with Session() as made:
        yield made


def requests(figures: Figures) -> dict[str, float]:
    told = figures()
    name = "ir_request_duration_ms_count"
    return {series.removeprefix(name): count for series, count in told.items() if series.startswith(name)}


def series(door: str, operation: str, outcome: str = "ok") -> str:
    return f'{{door="{door}",operation="{operation}",outcome="{outcome}"}}'


def test_an_operation_is_counted_by_its_door(session: Session, figures: Figures) -> None:
    session.call("search", {"query": "tea", "target": "rows"}, door="http", caller=Caller(corpora=None))
    session.call("search", {"query": "tea", "target": "rows"})
    session.call("discover", {"query": "tea", "targets": ["rows"]}, door="mcp")
    assert requests(figures) == {
        series("http", "search"): 1,
        series("python", "search"): 1,
        series("mcp", "discover"): 1,
    }
    assert figures()['ir_request_active{door="http"}'] == 0
    assert figures()['ir_search_duration_ms_count{mode="hybrid",reranked="false"}'] == 3


def test_an_error_is_counted_by_its_code(session: Session, figures: Figures) -> None:
    with pytest.raises(CorpusNotBuilt):
        session.call("search", {"query": "tea", "target": "nowhere"})
    with pytest.raises(Cancelled):
        session.call("search", {"query": "tea", "target": "rows"}, cancelled=lambda: True)
    assert requests(figures) == {
        series("python", "search", "corpus_not_built"): 1,
        series("python", "search", "cancelled"): 1,
    }


def test_the_time_while_it_runs_is_seen(session: Session, figures: Figures) -> None:
    with telemetry.request("ask", door="http"):
        assert figures()['ir_request_active{door="http"}'] == 1
    assert figures()['ir_request_active{door="http"}'] == 0


def test_a_door_around_an_operation_is_the_same_request(session: Session, figures: Figures) -> None:
    async def served() -> None:
        with telemetry.request("search", door="http"):
            team = Caller(workspace="default")
            await asyncio.to_thread(
                session.call, "search", {"query": "tea", "target": "rows"}, door="http", caller=team
            )

    asyncio.run(served())
    assert requests(figures) == {series("http", "search"): 1}


def test_an_error_that_a_door_turns_into_an_answer_is_still_one(session: Session, figures: Figures) -> None:
    with telemetry.request("search", door="http"), pytest.raises(CorpusNotBuilt):
        session.call("search", {"query": "tea", "target": "nowhere"}, door="python")
    with telemetry.request("search", door="http") as seen:
        seen.outcome = "too_many_requests"
    counts = requests(figures)
    assert counts[series("http", "search", "corpus_not_built")] == 1
    assert counts[series("http", "search", "too_many_requests")] == 1


def test_the_workspace_is_the_one_in_which_the_operation_ran(session: Session, figures: Figures) -> None:
    with telemetry.request("ls", door="http"):
        session.call("ls", {}, caller=Caller(workspace="team-a"))
    with in_workspace("team-b"):
        session.call("ls", {})
    told = figures()
    assert told['ir_workspace_requests_total{workspace="team-a"}'] == 1
    assert told['ir_workspace_requests_total{workspace="team-b"}'] == 1
    assert 'ir_workspace_requests_total{workspace="default"}' not in told


def test_a_stream_that_is_closed_from_elsewhere_is_counted(figures: Figures) -> None:
    def stream() -> Any:
        with telemetry.request("ask", door="http"):
            yield 1
            yield 2

    import contextvars

    one = stream()
    contextvars.copy_context().run(next, one)
    contextvars.copy_context().run(one.close)
    assert requests(figures) == {series("http", "ask", "cancelled"): 1}
    with telemetry.request("ls", door="http"):
        pass
    assert requests(figures)[series("http", "ls")] == 1


def test_a_job_that_goes_on_after_the_request_that_began_it_is_counted_by_itself(
    session: Session, figures: Figures
) -> None:
    import contextvars

    with telemetry.request("build", door="http"):
        kept = contextvars.copy_context()
    kept.run(session.call, "search", {"query": "tea", "target": "rows"})
    assert requests(figures) == {series("http", "build"): 1, series("python", "search"): 1}


def test_threads_lose_no_count(session: Session, figures: Figures) -> None:
    def work(number: int) -> None:
        session.call("search", {"query": "tea", "target": "rows"})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(80)))
    assert requests(figures) == {series("python", "search"): 80}


def test_callers_cannot_make_series_without_end(session: Session, figures: Figures) -> None:
    for number in range(100):
        arguments = {"semantic_query": "tea", "target": "rows", "shape": f"shape-{number}"}
        session.call("ontology-query", arguments)
    session.call("ontology-query", {"semantic_query": "tea", "target": "rows", "shape": "my password is hunter2"})
    session.call("ontology-query", {"semantic_query": "bread", "target": "rows", "shape": "concept"})
    shapes = {one.split('shape="')[1].split('"')[0] for one in figures() if "query_duration_ms_count" in one}
    assert len(shapes) <= 21
    assert {"other", "concept"} <= shapes
    assert not any("hunter2" in one for one in figures())


def test_no_figure_holds_what_was_asked(session: Session, figures: Figures) -> None:
    session.call("search", {"query": "milkyway", "target": "rows"})
    session.call("ontology-query", {"semantic_query": "milkyway", "target": "rows"})
    text = (telemetry.metrics_text() or b"").decode()
    assert "milkyway" not in text
    assert "rows" not in text  # nor which corpus
