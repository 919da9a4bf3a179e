from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ir
from ir.base import Hits, SearchHit
from ir.errors import InvalidInput
from ir.select import STRATEGIES, Selection, abs_threshold, rel_threshold, score_gap, select, top_k


def ranked(*scores: float) -> list[SearchHit]:
    return [SearchHit(f"a{place}", "document", score, f"text {place}") for place, score in enumerate(scores)]


def fused(*channels: tuple[float, float], ordinal: bool = True) -> list[SearchHit]:
    """Hits as a hybrid search returns them that fuses by rank: raw scores beside the fused ones."""
    return [
        SearchHit(
            f"a{place}",
            "document",
            2 / (61 + place),
            "",
            channels={
                "dense": {"rank": place + 1, "score": cosine},
                "lexical": {"rank": place + 1, "score": bm25},
            },
            ordinal=ordinal,
        )
        for place, (cosine, bm25) in enumerate(channels)
    ]


def test_conservative_keeps_hits_near_the_top() -> None:
    selection = select(ranked(0.9, 0.85, 0.5, 0.4))
    assert selection.selected_ids == ["a0", "a1"]
    assert selection.reason == "rel_threshold"
    assert selection.sufficient
    assert not selection.abstained
    assert selection.signals["top_score"] == 0.9
    assert selection.signals["n_candidates"] == 4
    assert selection.signals["n_selected"] == 2
    assert selection.signals["min_ratio"] == pytest.approx(0.85 / 0.9)
    assert [hit.artifact_id for hit in selection.candidates] == ["a0", "a1", "a2", "a3"]


def test_max_k_caps_and_says_so() -> None:
    selection = select(ranked(0.9, 0.89, 0.88, 0.87))
    assert selection.selected_ids == ["a0", "a1", "a2"]
    assert selection.reason == "max_k"


def test_keeping_every_candidate_has_a_reason_of_its_own() -> None:
    assert select(ranked(0.9, 0.89)).reason == "exhausted"


def test_abstains_below_the_floor_and_on_no_hits() -> None:
    below = select(ranked(0.4, 0.39), min_score=0.5)
    assert (below.abstained, below.selected, below.reason) == (True, [], "abstain:below_floor")
    assert below.signals["floor"] == 0.5
    assert below.signals["top_score"] == 0.4
    assert not below.sufficient
    nothing = select([])
    assert (nothing.abstained, nothing.reason) == (True, "abstain:no_candidates")
    assert select(ranked(0.5), min_score=0.5).selected_ids == ["a0"]


@pytest.mark.parametrize("scores", [(-0.1, -0.2), (0.0, 0.0), (-5.0, -5.5, -90.0)])
@pytest.mark.parametrize("strategy", ["conservative", "rel_threshold", "score_gap"])
def test_a_top_score_that_is_not_positive_does_not_invert_the_ratio(scores: tuple[float, ...], strategy: str) -> None:
    selection = select(ranked(*scores), strategy=strategy)
    assert selection.selected_ids == ["a0"]
    assert selection.reason == "nonpositive_top"


@pytest.mark.parametrize(
    ("strategy", "options", "kept", "reason"),
    [
        ("top_k", {}, 3, "top_k"),
        ("top_k", {"max_k": 1}, 1, "top_k"),
        ("abs_threshold", {"min_score": 0.6}, 2, "abs_threshold"),
        ("rel_threshold", {"rel": 0.5}, 3, "max_k"),
        ("rel_threshold", {"rel": 0.8}, 2, "rel_threshold"),
        ("score_gap", {"gap_ratio": 0.8}, 2, "score_gap"),
        ("score_gap", {"gap_ratio": 0.5, "max_k": 9}, 4, "exhausted"),
    ],
)
def test_each_named_strategy(strategy: str, options: dict[str, Any], kept: int, reason: str) -> None:
    selection = select(ranked(0.9, 0.8, 0.55, 0.5), strategy=strategy, **options)
    assert selection.selected_ids == [f"a{place}" for place in range(kept)]
    assert selection.reason == reason


def test_factories_are_the_same_rules_as_callables() -> None:
    hits = ranked(0.9, 0.8, 0.55, 0.2)
    assert top_k(2)(hits) == hits[:2]
    assert abs_threshold(0.55)(hits) == hits[:3]
    assert rel_threshold(0.85)(hits) == hits[:2]
    assert score_gap(0.5)(hits) == hits[:3]
    assert select(hits, strategy=rel_threshold(0.85)).selected_ids == ["a0", "a1"]


def test_a_callable_may_choose_any_hits_and_is_capped_in_its_own_order() -> None:
    hits = ranked(0.9, 0.8, 0.7, 0.6)
    selection = select(hits, strategy=lambda given: [given[3], replace(given[1], score=7.0), given[0]], max_k=2)
    assert selection.selected == [hits[1], hits[3]]
    assert selection.reason == "max_k"
    assert select(hits, strategy=lambda given: [given[2]]).reason == "custom"
    nothing = select(hits, strategy=lambda given: [])
    assert (nothing.abstained, nothing.reason) == (True, "abstain:custom")


def test_a_callable_may_not_invent_hits() -> None:
    with pytest.raises(InvalidInput, match="not one of the hits"):
        select(ranked(0.9), strategy=lambda given: [SearchHit("z", "document", 1.0, "")])


def test_ratios_read_raw_channels_where_the_score_only_ranks() -> None:
    hits = fused((0.8, 20.0), (0.3, 2.0), (0.79, 19.0))
    selection = select(hits)
    assert selection.selected_ids == ["a0", "a2"]
    assert selection.signals["scale"] == "magnitude"
    blend = 0.4 + 0.5 * 20 / 55
    assert selection.signals["top_score"] == pytest.approx(blend)
    assert select(hits, min_score=blend + 0.01).reason == "abstain:below_floor"
    assert not select(hits, min_score=blend - 0.01).abstained


def test_a_score_that_is_not_ordinal_is_read_as_it_is() -> None:
    assert select(fused((0.8, 20.0), (0.3, 2.0), ordinal=False)).selected_ids == ["a0", "a1"]


@pytest.mark.parametrize(
    "rerank", [None, lambda query, segments: [1.0 / (1 + place) for place in range(len(segments))]]
)
@pytest.mark.parametrize("fusion", ["blend", "rrf", "minmax", "dbsf"])
def test_a_copied_list_of_hits_is_selected_as_the_list_itself(fusion: str, rerank: Any, kitchen: ir.Corpus) -> None:
    hits = ir.search(kitchen, "bread flour water", mode="hybrid", fusion=fusion, rerank=rerank, rrf_k=7)
    whole, copied = select(hits, rel=0.7), select(list(hits), rel=0.7)
    assert whole.signals == copied.signals
    assert whole.selected_ids == copied.selected_ids
    assert whole.signals["scale"] == ("score" if fusion == "blend" or rerank else "magnitude")
    assert select(sorted(hits, key=lambda hit: -hit.score), rel=0.7).selected_ids == whole.selected_ids


def test_a_selection_as_a_dict_has_what_a_caller_of_a_service_needs() -> None:
    told = json.loads(json.dumps(select(ranked(0.9, 0.85, 0.2)).to_dict()))
    assert list(told) == [
        *("selected", "selected_ids", "candidates", "n_candidates", "abstained", "sufficient", "reason", "signals"),
    ]
    assert told["selected_ids"] == ["a0", "a1"]
    assert (told["n_candidates"], told["abstained"], told["sufficient"]) == (3, False, True)
    assert [hit["artifact_id"] for hit in told["candidates"]] == ["a0", "a1", "a2"]


@pytest.mark.parametrize(
    "options",
    [
        {"strategy": "boldest"},
        {"strategy": None},
        {"max_k": 0},
        {"max_k": True},
        {"rel": 1.1},
        {"rel": -0.1},
        {"rel": float("nan")},
        {"gap_ratio": 2},
        {"min_score": float("nan")},
        {"min_score": "auto"},
        {"strategy": "abs_threshold"},
    ],
)
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must|needs|Unknown"):
        select(ranked(0.9), **options)


def test_an_unknown_strategy_is_answered_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match=r"'conservative', 'top_k'.*Did you mean 'score_gap'"):
        select([], strategy="score_gaps")


def test_scores_without_end_and_fields_of_the_same_name_do_no_harm() -> None:
    assert select(ranked(float("inf"), 1.0)).selected_ids == ["a0"]
    assert select(ranked(float("nan"), float("nan"))).selected_ids == ["a0"]
    own = [SearchHit("a", "document", 0.5, "", {"source_score": "high"}), SearchHit("b", "document", 0.1, "")]
    assert select(own).selected_ids == ["a"]
    assert select(ranked(0.9, 0.0, -0.1), rel=0.0).selected_ids == ["a0", "a1"]


def test_a_selection_is_json_clean() -> None:
    hits = [SearchHit("a", "document", 0.5, "t", {"tags": {"x"}, "at": (1, 2)})]
    data = json.loads(json.dumps(select(hits).to_dict()))
    assert data["selected"][0]["metadata"] == {"tags": ["x"], "at": [1, 2]}
    assert data["reason"] == "exhausted"


finite = st.floats(-10, 10, allow_nan=False)


@st.composite
def hit_lists(draw: st.DrawFn) -> list[SearchHit]:
    hits = []
    for place in range(draw(st.integers(0, 12))):
        channels: dict[str, dict[str, Any]] = {}
        if draw(st.booleans()):
            channels = {
                "dense": {"rank": place + 1, "score": draw(st.floats(-1, 1))},
                "lexical": {"rank": None, "score": draw(st.floats(0, 60))},
            }
        metadata: dict[str, Any] = {}
        if draw(st.booleans()):
            metadata = {"source_score": draw(finite), "source_rank": place + 1}
            if draw(st.booleans()):
                metadata["source_weight"] = draw(st.floats(0, 3))
        source = draw(st.sampled_from(["notes", "code"]))
        made = SearchHit(f"a{place}", "document", draw(finite), "", metadata, source, channels=channels)
        hits.append(replace(made, ordinal=draw(st.booleans())))
    return Hits(hits) if draw(st.booleans()) else hits


@pytest.mark.slow
@given(
    hits=hit_lists(),
    strategy=st.sampled_from([*STRATEGIES, top_k(2), rel_threshold(0.7), lambda given: given[::-2]]),
    max_k=st.integers(1, 15),
    rel=st.floats(0, 1),
    gap_ratio=st.floats(0, 1),
    floor=st.none() | finite,
)
def test_every_selection_is_an_ordered_part_of_its_candidates(
    hits: list[SearchHit], strategy: Any, max_k: int, rel: float, gap_ratio: float, floor: float | None
) -> None:
    if strategy == "abs_threshold" and floor is None:
        floor = 0.0
    selection = select(hits, strategy=strategy, max_k=max_k, rel=rel, gap_ratio=gap_ratio, min_score=floor)
    places = [hits.index(hit) for hit in selection.selected]
    assert len(places) <= max_k
    assert places == sorted(set(places))
    assert selection.abstained == (not selection.selected) == selection.reason.startswith("abstain:")
    assert selection.signals["n_selected"] == len(places)
    assert selection.candidates == list(hits)
    if hits and floor is None and strategy in ("conservative", "rel_threshold", "score_gap", "top_k"):
        assert not selection.abstained
    json.dumps(selection.to_dict())


def test_selection_keeps_its_documented_fields() -> None:
    hit = SearchHit("a", "document", 1.0, "")
    assert Selection([hit], [hit], False, "top_k").signals == {}
