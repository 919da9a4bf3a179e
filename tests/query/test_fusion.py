"""DR-2: one ranking of several, by ranks or by where scores lie."""

from __future__ import annotations

from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ir.errors import InvalidInput
from ir.query.fusion import RankedCandidate, distribution, ranked_list, reciprocal
from ir.retrieve.candidates import Found, union
from ir.retrieve.fusion import fuse

#: A busy machine is no fault of what is tested.
steady = settings(deadline=None, derandomize=True, max_examples=100, suppress_health_check=list(HealthCheck))
IDS = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


def scores(results: object) -> list[tuple[str, float]]:
    return [(one.document_id, one.fused_score) for one in results]  # type: ignore[attr-defined]


def test_two_lists_that_agree_are_fused_as_the_worked_example_says() -> None:
    fused = reciprocal([ranked_list(["A", "B", "C"]), ranked_list(["B", "A", "D"])])
    assert scores(fused) == [
        ("A", 0.03252247488101534),
        ("B", 0.03252247488101534),
        ("C", 0.015873015873015872),
        ("D", 0.015873015873015872),
    ]
    assert [one.fused_rank for one in fused] == [1, 2, 3, 4]


def test_ranks_may_have_gaps_as_the_second_worked_example_has() -> None:
    first = [RankedCandidate("A", 1), RankedCandidate("B", 7)]
    assert scores(reciprocal([first, [RankedCandidate("B", 2)]])) == [
        ("B", 0.031054405392392875),
        ("A", 0.01639344262295082),
    ]


def test_weights_are_as_the_worked_example_says() -> None:
    fused = reciprocal([ranked_list(["a", "b", "c"]), ranked_list(["c", "b", "d"])], weights=[1, 0.5], top_k=3)
    assert scores(fused)[:2] == [("b", 0.024193548387096774), ("c", 0.024069737184491284)]
    assert fused[2].document_id == "a"


def test_one_list_comes_back_as_it_was_ranked_from_one() -> None:
    fused = reciprocal([[RankedCandidate("x", 4), RankedCandidate("y", 9)]])
    assert [(one.document_id, one.fused_rank) for one in fused] == [("x", 1), ("y", 2)]


def test_source_ranks_say_where_each_result_stood() -> None:
    fused = reciprocal([ranked_list(["a", "b"]), ranked_list(["b"])], names=["dense", "keyword"])
    assert {one.document_id: one.source_ranks for one in fused} == {
        "b": {"dense": 2, "keyword": 1},
        "a": {"dense": 1},
    }


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"k": 0}, "above 0"),
        ({"k": -1}, "above 0"),
        ({"weights": [1, -1]}, "at least 0"),
        ({"weights": [1]}, "2 lists"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        reciprocal([ranked_list(["a"]), ranked_list(["b"])], **options)  # type: ignore[arg-type]


@steady
@given(st.lists(IDS, max_size=5), st.integers(0, 9))
def test_fusion_is_the_sum_of_reciprocal_ranks_for_any_number_of_lists(lists: list[list[str]], top_k: int) -> None:
    fused = reciprocal([ranked_list(ids) for ids in lists], top_k=top_k)
    sums: dict[str, float] = {}
    for ids in lists:
        for rank, name in enumerate(ids, start=1):
            sums[name] = sums.get(name, 0.0) + 1 / (60 + rank)
    expected = sorted(sums.items(), key=lambda one: (-one[1], one[0]))[:top_k]
    assert scores(fused) == expected
    assert fused == reciprocal([ranked_list(ids) for ids in lists], top_k=top_k)


@steady
@given(IDS, IDS)
def test_it_gives_the_scores_of_the_fusion_inside_a_corpus(dense: list[str], lexical: list[str]) -> None:
    from ir.options import SearchOptions

    found = {
        name: Found(np.array([ord(one) for one in ids], dtype=np.int64), np.ones(len(ids), dtype=np.float32), True)
        for name, ids in (("dense", dense), ("lexical", lexical))
    }
    candidates = union(found)
    fuse(candidates, SearchOptions(mode="hybrid", fusion="rrf"), 35.0)
    inside = {chr(ref): score for ref, score in zip(candidates.refs.tolist(), candidates.scores.tolist(), strict=True)}
    assert dict(scores(reciprocal([ranked_list(dense), ranked_list(lexical)]))) == pytest.approx(inside)


def test_distribution_places_scores_by_mean_and_spread_without_clamping() -> None:
    values = [9.0, 3.0, 2.0, 1.0]
    fused = dict(scores(distribution([ranked_list("abcd", values)])))
    low, spread = fmean(values) - 3 * stdev(values), stdev(values)
    assert fused == pytest.approx({name: (v - low) / (6 * spread) for name, v in zip("abcd", values, strict=True)})


def test_distribution_gives_a_half_where_there_is_no_spread() -> None:
    assert scores(distribution([ranked_list("a", [3.0])])) == [("a", 0.5)]
    assert scores(distribution([ranked_list("ab", [3.0, 3.0 + 1e-12])])) == [("a", 0.5), ("b", 0.5)]
