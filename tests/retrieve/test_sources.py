"""Merging the rankings of several sources."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir.base import SearchHit
from ir.errors import InvalidInput
from ir.retrieve import fuse_hits


def hits(*names: str, start: float = 1.0) -> list[SearchHit]:
    return [
        SearchHit(name, "document", start - index / 10, name, {"url": name.lower()}) for index, name in enumerate(names)
    ]


def url(hit: SearchHit) -> Any:
    return hit.metadata["url"]


def test_sums_of_reciprocal_ranks_by_identity() -> None:
    fused = fuse_hits({"one": hits("A", "B", "C"), "two": hits("B", "A", "D")}, identity=url)
    assert [hit.artifact_id for hit in fused] == ["A", "B", "C", "D"]
    assert [hit.score for hit in fused] == [
        0.03252247488101534,
        0.03252247488101534,
        0.015873015873015872,
        0.015873015873015872,
    ]
    assert fused[0].metadata["fused_sources"] == ["one", "two"]
    assert fused[0].metadata["source_rank"] == 1


def test_weights_scale_a_source() -> None:
    fused = fuse_hits({"one": hits("a", "b", "c"), "two": hits("c", "b", "d")}, identity=url, weights={"two": 0.5}, k=3)
    assert [(hit.artifact_id, hit.score) for hit in fused[:2]] == [
        ("b", 0.024193548387096774),
        ("c", 0.024069737184491284),
    ]
    assert len(fused) == 3


def test_without_identity_equal_ids_of_two_sources_stay_apart() -> None:
    fused = fuse_hits({"one": hits("x"), "two": hits("x")})
    assert [(hit.source, hit.artifact_id) for hit in fused] == [("one", "x"), ("two", "x")]


def test_one_source_passes_through_with_raw_scores() -> None:
    fused = fuse_hits({"one": hits("a", "b", "a")})
    assert [(hit.artifact_id, hit.score) for hit in fused] == [("a", 1.0), ("b", 0.9)]
    assert "source_score" not in fused[0].metadata


def test_duplicates_within_a_source_count_once() -> None:
    fused = fuse_hits({"one": hits("a", "a", "b"), "two": hits("c")})
    assert {hit.artifact_id: hit.score for hit in fused} == pytest.approx({"a": 1 / 61, "c": 1 / 61, "b": 1 / 62})


def test_existing_tags_win_over_keys() -> None:
    tagged = [SearchHit("a", "document", 1.0, "", source="real")]
    fused = fuse_hits({"alias": tagged, "other": tagged})
    assert [(hit.source, hit.score) for hit in fused] == [("real", 1.0)]


def test_the_untagged_source_stays_unattributed() -> None:
    fused = fuse_hits({None: hits("a"), "two": hits("b")})
    assert [hit.source for hit in fused] == [None, "two"]


def test_weights_may_name_a_source_by_its_key_or_by_the_tag_of_its_hits() -> None:
    tagged = [SearchHit("a", "document", 1.0, "", source="real")]
    for name in ("alias", "real"):
        fused = fuse_hits({"two": hits("b"), "alias": tagged}, weights={name: 5.0})
        assert [(hit.artifact_id, hit.score) for hit in fused] == [("a", 5 / 61), ("b", 1 / 61)]
        assert [hit.metadata["source_weight"] for hit in fused] == [5.0, 1.0]
    both = fuse_hits({"two": hits("b"), "alias": tagged}, weights={"alias": 5.0, "real": 0.5})
    assert [hit.artifact_id for hit in both] == ["b", "a"], "the source's own name goes before the key it came under"
    plain = fuse_hits({"two": hits("b"), "alias": tagged})
    assert not any("source_weight" in hit.metadata for hit in plain)


def test_the_identity_pointer_merges_hits_that_point_at_one_file() -> None:
    def at(name: str, path: str | None) -> SearchHit:
        return SearchHit(name, "document", 1.0, "", {"path": path} if path is not None else {})

    fused = fuse_hits(
        {"one": [at("a", "/x/a.md"), at("b", None)], "two": [at("c", "/x/a.md"), at("b", "")]}, identity="pointer"
    )
    assert [hit.artifact_id for hit in fused] == ["a", "b", "b"]
    assert fused[0].metadata["fused_sources"] == ["one", "two"]
    assert fused[0].score == pytest.approx(2 / 61)


@pytest.mark.parametrize("identity", ["url", "nonsense", 7])
def test_an_unknown_identity_is_refused(identity: Any) -> None:
    for found in ({"one": hits("a"), "two": hits("a")}, {"one": hits("a")}, {}):
        with pytest.raises(InvalidInput, match=r"Unknown identity .*; use None, 'pointer' or a function of the hit"):
            fuse_hits(found, identity=identity)


def test_weights_of_absent_sources_are_ignored_and_bad_ones_refused() -> None:
    assert fuse_hits({"one": hits("a")}, weights={"absent": 2.0})
    with pytest.raises(InvalidInput, match="at least 0"):
        fuse_hits({"one": hits("a")}, weights={"one": -1.0})
    with pytest.raises(InvalidInput, match="rrf_k must be above 0"):
        fuse_hits({"one": hits("a")}, rrf_k=0)


@given(
    st.dictionaries(
        st.sampled_from(["s1", "s2", "s3"]),
        st.lists(st.sampled_from("abcdef"), max_size=6, unique=True),
        min_size=1,
    ),
    st.randoms(use_true_random=False),
)
def test_the_order_of_sources_only_breaks_ties(lists: dict[str, list[str]], chance: object) -> None:
    given_order = {name: hits(*items) for name, items in lists.items()}
    shuffled = dict(sorted(given_order.items(), reverse=True))
    one, two = fuse_hits(given_order), fuse_hits(shuffled)
    scores_one = {(hit.source, hit.artifact_id): hit.score for hit in one}
    scores_two = {(hit.source, hit.artifact_id): hit.score for hit in two}
    assert scores_one == scores_two
    assert [hit.score for hit in one] == [hit.score for hit in two]


@pytest.mark.parametrize("k", [0, -1, True, 1.5])
@pytest.mark.parametrize("sources", [["one"], ["one", "two"]])
def test_fewer_than_one_hit_cannot_be_asked_for(k: Any, sources: list[str]) -> None:
    with pytest.raises(InvalidInput, match="k must be a whole number of at least 1"):
        fuse_hits({name: [SearchHit("a", "document", 1.0, "")] for name in sources}, k=k)
