"""What the stages of a search report, and the seams between them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import ir
from ir.base import Meta, SearchHit
from ir.errors import InvalidInput
from ir.options import SearchKeywords, SearchOptions
from ir.retrieve import Pool, search

Make = Callable[[Any], ir.Corpus]
ROWS = [
    ("east", "document", "the lighthouse in the east", [1.0, 0.0], {}),
    ("east", "note", "a lighthouse keeper", [0.9, 0.1], {}),
    ("north", "document", "ice and wind", [0.0, 1.0], {}),
    ("west", "document", "the harbour in the evening", [-1.0, 0.1], {}),
]
NAMES = ["channels", "fusion", "code", "graph", "boosts", "exit", "rerank", "final_boosts", "collapse", "expansion"]


def ran(hits: ir.Hits) -> list[str]:
    return [stage["name"] for stage in hits.meta["stages"] if stage["ran"]]


def why(hits: ir.Hits, name: str) -> str | None:
    return next(stage["why"] for stage in hits.meta["stages"] if stage["name"] == name)


def by_length(query: str, segments: Any) -> list[float]:
    return [float(len(segment["text"])) for segment in segments]


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
@pytest.mark.parametrize("options", [{}, {"surface_weights": {"note": 2.0}}, {"rerank": by_length}, {"fusion": "rrf"}])
def test_every_search_reports_every_stage(corpus_of: Make, mode: str, options: dict[str, Any]) -> None:
    hits = search(corpus_of(ROWS), "1 0 lighthouse", mode=mode, **options)
    stages = hits.meta["stages"]
    assert [stage["name"] for stage in stages] == NAMES
    assert all(set(stage) == {"name", "ran", "why", "ms", "degraded"} for stage in stages)
    assert all(stage["ran"] or stage["why"] for stage in stages), "what did not run says why"
    assert all(stage["ms"] >= 0 for stage in stages)
    assert stages[0]["ms"] > 0
    assert ("fusion" in ran(hits)) == (mode == "hybrid")
    assert ("rerank" in ran(hits)) == ("rerank" in options) == hits.meta["reranked"]
    assert json.loads(json.dumps(hits.meta)) == hits.meta
    assert set(hits.meta) <= set(Meta.__annotations__)


def test_the_times_of_the_stages_add_up_to_less_than_the_whole(corpus_of: Make) -> None:
    for options in ({}, {"rerank": by_length, "dep_boost": lambda hit: 0.1}):
        meta = search(corpus_of(ROWS), "1 0 lighthouse", mode="hybrid", **options).meta  # type: ignore[arg-type]
        assert sum(stage["ms"] for stage in meta["stages"]) <= meta["timings"]["total_ms"]


def test_meta_has_the_content_version_which_writes_of_other_things_leave_alone(corpus_of: Make) -> None:
    corpus = corpus_of(ROWS)
    before = search(corpus, "1 0").meta
    corpus.store.set_calibration("dense", {"min_score": 0.1})
    after = search(corpus, "1 0").meta
    assert before["content_version"] == after["content_version"] == corpus.store.content_version
    assert before["version"] != after["version"]
    corpus.store.set_links("east", {"REF": ["north"]})
    assert search(corpus, "1 0").meta["content_version"] != before["content_version"]


def test_a_reranker_that_fails_is_a_stage_that_is_degraded(corpus_of: Make) -> None:
    def broken(query: str, segments: Any) -> list[float]:
        raise KeyError("model")

    hits = search(corpus_of(ROWS), "1 0", rerank=broken)
    (stage,) = [stage for stage in hits.meta["stages"] if stage["degraded"]]
    assert (stage["name"], stage["ran"]) == ("rerank", False)
    assert hits.meta["notes"] == [stage["why"]]
    assert hits.meta["degraded"] == ["reranker"]


def test_several_queries_are_one_report(corpus_of: Make) -> None:
    hits = search(corpus_of(ROWS), "1 0", formulate=lambda query: [query, "0 1"], rerank=by_length)
    assert [stage["name"] for stage in hits.meta["stages"]] == NAMES
    assert ran(hits) == ["channels", "rerank", "collapse"]


# -- exit ------------------------------------------------------------------------------------------------------------


def test_an_exit_skips_the_reranker_and_says_why(corpus_of: Make) -> None:
    read: list[str] = []

    def reader(query: str, segments: Any) -> list[float]:
        read.append(query)
        return by_length(query, segments)

    def clear_winner(pool: Pool) -> str | None:
        first, second = sorted(pool.scores, reverse=True)[:2]
        return f"the best leads by {first - second:.2f}" if first - second > 0.5 else None

    corpus = corpus_of([ROWS[0], ROWS[2]])
    plain = search(corpus, "1 0")
    hits = search(corpus, "1 0", rerank=reader, exit_when=clear_winner)
    assert (list(hits), read) == (list(plain), [])
    assert hits.meta["reranked"] is False
    assert hits.meta["degraded"] == []
    assert "exit" in ran(hits)
    assert why(hits, "rerank") == why(hits, "exit") == "the best leads by 1.00"
    hits = search(corpus, "1 1", rerank=reader, exit_when=clear_winner)
    assert read == ["1 1"]
    assert hits.meta["reranked"] is True
    assert why(hits, "exit") == "the first stage's result is not good enough"


def test_nothing_exits_by_itself_nor_where_there_is_no_reranker(corpus_of: Make) -> None:
    assert why(search(corpus_of(ROWS), "1 0", rerank=by_length), "exit") == "no exit was given"
    hits = search(corpus_of(ROWS), "1 0", exit_when=lambda pool: 1 / 0)
    assert why(hits, "exit") == "there is no reranker to skip"


def test_boosts_come_before_the_exit_and_dep_boost_after_it(corpus_of: Make) -> None:
    seen: list[float] = []
    hits = search(
        corpus_of([ROWS[0], ROWS[2]]),
        "1 0",
        rerank=by_length,
        boosts=lambda pool: [1.0] * len(pool),
        exit_when=lambda pool: seen.append(max(pool.scores)) or True,  # type: ignore[func-returns-value]
        dep_boost=lambda hit: 10.0,
    )
    assert seen == [pytest.approx(2.0, abs=1e-3)]
    assert hits[0].score == pytest.approx(12.0, abs=1e-3)


# -- boosts ----------------------------------------------------------------------------------------------------------


def test_a_boost_sees_the_whole_pool_and_the_graph(corpus_of: Make) -> None:
    corpus = corpus_of(ROWS)
    corpus.store.set_links("east", {"calls": ["west"]})

    def near_the_best(pool: Pool) -> list[float]:
        best = pool.artifact_ids[int(np.argmax(pool.scores))]
        near = ir.graph.spread(pool.snapshot, [best], types=["calls"])
        return [3 * near[node] if node in near and node != best else 0.0 for node in pool.artifact_ids]

    hits = search(corpus, "1 0", boosts=near_the_best, explain=True)
    assert [hit.artifact_id for hit in hits] == ["east", "west", "north"]
    assert [hit.artifact_id for hit in search(corpus, "1 0")] == ["east", "north", "west"]
    west = next(hit for hit in hits if hit.artifact_id == "west")
    assert west.explanation is not None
    assert west.explanation["boosts"] == {"near_the_best": 1.5}
    assert "boosts" in ran(hits)


def test_a_pool_is_consistent(corpus_of: Make) -> None:
    pools: list[Pool] = []

    def look(pool: Pool) -> Any:
        pools.append(pool)
        assert pool.query == "1 0 lighthouse"
        assert [hit.artifact_id for hit in pool.hits] == pool.artifact_ids == [row.artifact_id for row in pool.rows]
        assert [hit.score for hit in pool.hits] == pool.scores.tolist()
        assert pool.scores.tolist() == sorted(pool.scores.tolist(), reverse=True), "the best come first"
        return np.zeros(len(pool))

    corpus = corpus_of(ROWS)
    hits = search(corpus, "1 0 lighthouse", mode="hybrid", boosts=[look, look], k=2)
    assert len(pools) == 2
    assert len(pools[0]) == 4
    assert [hit.artifact_id for hit in pools[0].best] == [hit.artifact_id for hit in hits]
    assert hits == search(corpus, "1 0 lighthouse", mode="hybrid", k=2)


def test_a_boost_sees_more_records_than_are_returned(corpus_of: Make) -> None:
    def lift_west(pool: Pool) -> list[float]:
        return [5.0 if node == "west" else 0.0 for node in pool.artifact_ids]

    hits = search(corpus_of(ROWS), "1 0", boosts=lift_west, per_artifact=False, k=1)
    assert hits[0].artifact_id == "west"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"boosts": 5}, "boosts must be a function of the pool, or a list of such functions, not 5"),
        ({"boosts": [5]}, "boosts must be a function of the pool"),
        ({"boosts": lambda pool: [1.0]}, "returned 1 numbers for 4 candidates; it must return one for each"),
        ({"boosts": lambda pool: None}, "must return a list with a number for each candidate"),
        ({"boosts": lambda pool: [float("nan")] * len(pool)}, "a number that is not finite"),
        ({"exit_when": 5}, "exit_when must be callable, not 5"),
        ({"expansion": 5}, "expansion must be callable, not 5"),
        ({"expansion": lambda pool: 5}, "expansion must return a list of hits, not 5"),
        ({"expansion": lambda pool: [5]}, "expansion must return a list of hits; 5 is none"),
        ({"space": 5}, "space must be the name of a space of vectors, not 5"),
    ],
)
def test_what_stages_are_given_is_checked(corpus_of: Make, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        search(corpus_of(ROWS), "1 0", **options)


# -- expansion -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_an_expansion_adds_hits_after_the_best(corpus_of: Make, mode: str) -> None:
    corpus = corpus_of(ROWS)
    corpus.store.set_links("east", {"calls": ["west", "east"]})

    def called(pool: Pool) -> list[SearchHit]:
        found = pool.snapshot.neighbours([hit.artifact_id for hit in pool.best])
        return [SearchHit(one.id, "called", 0.0, "") for some in found for one in some if one.place == "here"]

    plain = search(corpus, "1 0 lighthouse", mode=mode, k=1)
    hits = search(corpus, "1 0 lighthouse", mode=mode, k=1, expansion=called)
    assert list(hits[:1]) == list(plain)
    assert [(hit.artifact_id, hit.surface_kind, hit.source) for hit in hits[1:]] == [
        ("west", "called", "plane"),
        ("east", "called", "plane"),
    ]
    assert why(hits, "expansion") == "2 added"
    two = search(corpus, "1 0", k=1, expansion=called, formulate=lambda query: [query, "0.9 0.1"])
    assert [hit.artifact_id for hit in two] == ["east", "west", "east"], "each is added once"


# -- signatures ------------------------------------------------------------------------------------------------------


def test_searches_show_their_keywords_and_agree() -> None:
    known = {item.name: item.default for item in fields(SearchOptions)}
    shown = inspect.signature(ir.search).parameters
    assert list(shown)[:2] == ["corpus", "query"]
    assert {name: shown[name].default for name in list(shown)[2:]} == known
    assert all(shown[name].kind is inspect.Parameter.KEYWORD_ONLY for name in known)
    assert set(SearchKeywords.__annotations__) == set(known), "what editors and type checkers see"
    assert "space: 'str | None' = None" in str(inspect.signature(ir.search))
    for other in (search, ir.Corpus.search):
        assert list(inspect.signature(other).parameters.values())[2:] == list(shown.values())[2:]
    assert "Any" not in str(inspect.get_annotations(ir.Corpus.search)["keywords"])
