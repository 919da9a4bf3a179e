"""Scoring and sweeping selectors."""

from __future__ import annotations

import json
from typing import Any

import pytest

import ir.retrieve
from ir.errors import InvalidInput
from ir.eval import (
    DiscoveryCase,
    SelectionSweep,
    calibrate_min_score,
    evaluate_selection,
    sweep_selector,
)
from ir.eval.sweep import SelectionGridPoint
from ir.index import Corpus

BOTH = "green tea leaves with bread dough"


@pytest.fixture
def cases(off_topic: tuple[str, ...]) -> list[DiscoveryCase]:
    gold = [
        DiscoveryCase("green tea leaves", "tea"),
        DiscoveryCase(BOTH, ("bread", "tea")),
        DiscoveryCase("flat bike tyre", "absent"),
    ]
    return [*gold, *(DiscoveryCase(query) for query in off_topic)]


def test_top_one_on_two_answers_has_full_precision_and_half_recall(corpus: Corpus) -> None:
    report = evaluate_selection(corpus, [DiscoveryCase(BOTH, ("bread", "tea"))], strategy="top_k", max_k=1)
    assert report.selection_precision == 1.0
    assert report.selection_recall == 0.5
    assert report.selection_f1 == pytest.approx(2 / 3)
    assert report.mean_selected_size == 1.0
    assert report.conditional_commit_rate == 1.0


def test_keeping_all_of_five_has_low_precision(corpus: Corpus) -> None:
    report = evaluate_selection(
        corpus, [DiscoveryCase("green tea leaves", "tea")], strategy="top_k", max_k=5, mode="dense"
    )
    assert report.selection_precision == pytest.approx(1 / 5)
    assert report.selection_recall == 1.0
    assert report.mean_selected_size == 5.0


def test_a_miss_of_retrieval_is_not_blamed_on_the_selector(corpus: Corpus, cases: list[DiscoveryCase]) -> None:
    report = evaluate_selection(corpus, cases)
    assert (report.n_gold, report.n_gold_retrieved, report.n_abstention) == (3, 2, 4)
    assert report.conditional_commit_rate == 1.0


def test_recall_is_of_the_retrieved_gold(corpus: Corpus) -> None:
    report = evaluate_selection(corpus, [DiscoveryCase("green tea leaves", ("tea", "absent"))])
    assert report.selection_recall == 1.0


def test_a_selector_that_keeps_nothing(corpus: Corpus, cases: list[DiscoveryCase]) -> None:
    report = evaluate_selection(corpus, cases, min_score=99.0)
    assert report.selection_precision is None
    assert (report.selection_recall, report.selection_f1, report.conditional_commit_rate) == (0.0, 0.0, 0.0)
    assert report.abstention_accuracy == 1.0
    assert "–" in report.table()


def test_the_calibrated_floor_refuses_off_topic_queries(corpus: Corpus, cases: list[DiscoveryCase]) -> None:
    with pytest.raises(InvalidInput, match="No calibration"):
        evaluate_selection(corpus, cases, min_score="auto")
    calibrate_min_score(corpus, cases, persist=True)
    report = evaluate_selection(corpus, cases, min_score="auto")
    assert (report.abstention_accuracy, report.conditional_commit_rate) == (1.0, 1.0)
    with pytest.raises(InvalidInput, match="'auto'"):
        evaluate_selection(corpus, cases, min_score="high")


def test_a_callable_selector_is_named(corpus: Corpus, cases: list[DiscoveryCase]) -> None:
    def keep_first(hits: Any) -> Any:
        return hits[:1]

    assert evaluate_selection(corpus, cases, strategy=keep_first).strategy == "keep_first"


def test_a_sweep_searches_each_query_once(
    corpus: Corpus, cases: list[DiscoveryCase], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    search = ir.retrieve.search

    def counting(corpus: Any, query: str, **keywords: Any) -> Any:
        asked.append(query)
        return search(corpus, query, **keywords)

    monkeypatch.setattr(ir.retrieve, "search", counting)
    sweep = sweep_selector(corpus, cases)
    assert asked == [case.query for case in cases]
    assert len(sweep.points) == 30


def test_a_point_of_a_sweep_is_what_evaluate_selection_says(corpus: Corpus, cases: list[DiscoveryCase]) -> None:
    sweep = sweep_selector(corpus, cases, max_k_grid=(1, 3), rel_grid=(0.5, 0.9), min_score_grid=(None, 0.2))
    for point in sweep.points:
        assert point.report == evaluate_selection(corpus, cases, **point.params)


def test_best_frontier_table_and_dict(corpus: Corpus, cases: list[DiscoveryCase]) -> None:
    sweep = sweep_selector(corpus, cases, max_k_grid=(1, 2, 5), rel_grid=(0.05, 0.9))
    best = sweep.best()
    assert best.value("selection_f1") == max(point.value("selection_f1") or 0 for point in sweep.points)
    assert sweep.best("mean_selected_size").report.mean_selected_size == 1.0
    assert sweep.best("mean_selected_size", minimize=False).report.mean_selected_size != 1.0
    assert len(sweep.table().splitlines()) == 1 + len(sweep.points)
    data = json.loads(json.dumps(sweep.to_dict()))
    assert data["best"]["max_k"] == best.max_k
    assert len(data["points"]) == 6


def _dominates(p: SelectionGridPoint, q: SelectionGridPoint) -> bool:
    one = (p.report.selection_recall or 0, p.report.selection_precision or 0)
    two = (q.report.selection_recall or 0, q.report.selection_precision or 0)
    return one != two and one[0] >= two[0] and one[1] >= two[1]


def test_the_frontier_holds_just_the_undominated(corpus: Corpus, cases: list[DiscoveryCase]) -> None:
    sweep: SelectionSweep = sweep_selector(corpus, cases, max_k_grid=(1, 2, 3, 5), rel_grid=(0.01, 0.1, 0.5, 0.9))
    front = sweep.frontier()
    expected = [p for p in sweep.points if not any(_dominates(q, p) for q in sweep.points)]
    assert {id(p) for p in front} == {id(p) for p in expected}
    recalls = [p.report.selection_recall for p in front]
    assert recalls == sorted(recalls)  # type: ignore[type-var]


@pytest.mark.parametrize("options", [{"objective": "beauty"}, {"max_k_grid": ()}, {"rel_grid": ()}])
def test_bad_sweeps_are_refused(corpus: Corpus, cases: list[DiscoveryCase], options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        sweep_selector(corpus, cases, **options)
