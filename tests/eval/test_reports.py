"""Measures and reports of retrieval and discovery."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable

import pytest

from ir.errors import InvalidInput, MissingExtra
from ir.eval import (
    DiscoveryCase,
    as_doc_retriever,
    corpus_artifact_ids,
    evaluate_discovery,
    per_query_values,
    retrieval_report,
    validate_cases,
)
from ir.index import Corpus

ALL_MEASURES = {f"{name}@{k}" for name in ("ndcg", "recall", "precision", "mrr", "map") for k in (1, 5, 10)}


def test_measures_agree_with_their_definitions() -> None:
    ranking = ["x", "a", "y", "b"]
    values = per_query_values(
        {"q": ranking}, {"q": {"a": 1, "b": 1, "c": 1}}, ["ndcg@4", "recall@4", "precision@4", "mrr@4", "map@4"]
    )["q"]
    ideal = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert values["ndcg@4"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / ideal)
    assert values["recall@4"] == pytest.approx(2 / 3)
    assert values["precision@4"] == pytest.approx(0.5)
    assert values["mrr@4"] == pytest.approx(0.5)
    assert values["map@4"] == pytest.approx((1 / 2 + 2 / 4) / 3)


def test_a_judged_query_without_a_ranking_scores_zero() -> None:
    assert per_query_values({}, {"q": {"a": 1}}, ["ndcg@10", "mrr@10"]) == {"q": {"ndcg@10": 0.0, "mrr@10": 0.0}}


@pytest.mark.parametrize("name", ["foo@3", "ndcg@0", "ndcg@-1", "ndcg@x", "", "ERR@10", "nDCG(dcg='exp-log2')@10"])
def test_an_unknown_measure_names_the_known_ones(name: str) -> None:
    with pytest.raises(InvalidInput, match="ndcg"):
        per_query_values({"q": ["a"]}, {"q": {"a": 1}}, [name])


def test_judgements_must_be_whole() -> None:
    with pytest.raises(InvalidInput, match="whole"):
        per_query_values({"q": ["a"]}, {"q": {"a": 0.5}}, ["ndcg@10"])


def test_without_the_measures_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(MissingExtra, match=r"ir-substrate\[eval\]"):
        per_query_values({"q": ["a"]}, {"q": {"a": 1}}, ["ndcg@10"])


def test_doc_retriever_gives_ids_best_first(corpus: Corpus) -> None:
    retriever = as_doc_retriever(corpus, mode="dense")
    assert retriever("green tea", limit=2)[0] == "tea"
    assert len(retriever("green tea", limit=2)) == 2
    assert set(retriever("green tea")) == corpus_artifact_ids(corpus)


def test_retrieval_report_has_the_promised_figures(corpus: Corpus) -> None:
    cases = [DiscoveryCase("off topic"), DiscoveryCase("green tea", "tea"), DiscoveryCase("green tea", "chess")]
    report = retrieval_report(corpus, cases, mode="dense")
    assert set(report.metrics) == ALL_MEASURES
    assert report.n_queries == 2
    assert set(report.per_query) == {"q00001", "q00002"}
    assert report.per_query["q00001"]["recall@1"] == 1.0
    assert report.per_query["q00002"]["recall@1"] == 0.0
    assert report.metrics["recall@1"] == 0.5
    assert report.primary_at(10) == report.metrics["ndcg@10"] == report.primary
    assert report.primary_at(3) is None
    assert json.loads(json.dumps(report.to_dict()))["n_queries"] == 2
    assert "ndcg" in report.table()


def test_a_report_without_gold_is_an_error(corpus: Corpus) -> None:
    with pytest.raises(InvalidInput, match="No case has gold"):
        retrieval_report(corpus, [DiscoveryCase("q")])


@pytest.mark.parametrize("options", [{"k_values": (0,)}, {"metrics": ("nonsense",)}, {"mode": "psychic"}])
def test_bad_options_are_refused(corpus: Corpus, options: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        retrieval_report(corpus, [DiscoveryCase("q", "tea")], **options)  # type: ignore[arg-type]


def test_drifted_gold_is_found(corpus: Corpus) -> None:
    cases = [DiscoveryCase("q", "tea"), DiscoveryCase("q", ("tea", "gone", "lost")), DiscoveryCase("q")]
    assert validate_cases(corpus, cases) == {1: ["gone", "lost"]}


def test_failure_classes_follow_the_rank_of_the_gold(corpus: Corpus) -> None:
    cases = [
        DiscoveryCase("green tea leaves", "tea"),
        DiscoveryCase("green tea leaves in water with bread", ("bread", "nothing")),
        DiscoveryCase("green tea leaves", "absent"),
        DiscoveryCase("mortgage"),
    ]
    report = evaluate_discovery(corpus, cases, mode="dense")
    assert report.per_case == ("hit_rank_1", "surfaced_low_rank", "retrieval_miss", "abstention_unscored")
    assert report.failure_classes == dict.fromkeys(report.per_case, 1)
    assert (report.n_cases, report.n_gold, report.n_abstention) == (4, 3, 1)
    assert report.abstention_accuracy is None
    assert report.primary == report.retrieval.metrics["ndcg@10"]


def test_gold_beyond_primary_k_is_a_miss(corpus: Corpus) -> None:
    cases = [DiscoveryCase("green tea leaves in water with bread", "bread")]
    report = evaluate_discovery(corpus, cases, mode="dense", primary_k=1)
    assert report.per_case == ("retrieval_miss",)
    assert report.retrieval.k_values == (1, 5, 10)


def test_abstention_is_scored_on_the_raw_channel_score(corpus: Corpus, off_topic: tuple[str, ...]) -> None:
    cases = [DiscoveryCase(query) for query in (*off_topic, "green tea leaves")]
    for fusion in ("rrf", "blend"):
        report = evaluate_discovery(corpus, cases, mode="hybrid", fusion=fusion, abstain_threshold=0.4)
        assert report.failure_classes == {"abstention_ok": len(off_topic), "false_action": 1}
        assert report.abstention_accuracy == pytest.approx(len(off_topic) / (len(off_topic) + 1))
        assert report.primary is None


def test_discovery_report_is_json_and_text(corpus: Corpus) -> None:
    report = evaluate_discovery(corpus, [DiscoveryCase("green tea", "tea"), DiscoveryCase("mortgage")])
    assert json.loads(json.dumps(report.to_dict()))["failure_classes"]["hit_rank_1"] == 1
    assert "hit_rank_1" in str(report)


def test_no_cases_give_an_empty_report(make_corpus: Callable[..., Corpus]) -> None:
    report = evaluate_discovery(make_corpus({"a": "only text"}), [])
    assert (report.n_cases, report.primary, report.failure_classes) == (0, None, {})
