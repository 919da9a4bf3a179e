"""What links add to scores: the worked examples of the reference document, and bounds for any graph."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir.book.spreading import Neighbours, additive, expanded, frontier, propagated
from ir.errors import InvalidInput

CHUNKS = [f"c{number}" for number in range(6)]
#: A chain of chunks, and an entity between its ends.
CHAIN = [(f"c{number}", f"c{number + 1}") for number in range(5)] + [("c0", "e"), ("e", "c5")]
BASE = dict(zip(CHUNKS, (0.9, 0.8, 0.7, 0.6, 0.5, 0.4), strict=True))


def graph(edges: Sequence[tuple[str, str]]) -> Neighbours:
    near: dict[str, list[str]] = {}
    for one, other in edges:
        near.setdefault(one, []).append(other)
        near.setdefault(other, []).append(one)
    return lambda nodes: [near.get(node, []) for node in nodes]


def gained(gains: dict[str, float]) -> list[float]:
    return [round(gains.get(chunk, 0.0), 10) for chunk in CHUNKS]


def test_additive_from_one_seed_lifts_its_neighbours() -> None:
    assert gained(additive(BASE, graph(CHAIN), seeds=1, depth=1)) == [0, 0.05, 0, 0, 0, 0]


def test_additive_contributions_of_two_seeds_add_up_and_a_seed_gives_itself_nothing() -> None:
    assert gained(additive(BASE, graph(CHAIN), seeds=2, depth=1)) == [0.05, 0.05, 0.05, 0, 0, 0]


def test_additive_decays_with_depth_and_goes_through_what_is_no_chunk() -> None:
    assert gained(additive(BASE, graph(CHAIN), seeds=1, depth=2, decay=0.5)) == [0, 0.05, 0.025, 0, 0, 0.025]


def test_frontier_with_the_recommended_set() -> None:
    assert gained(frontier(BASE, graph(CHAIN))) == [0.05, 0.05, 0.05, 0.02, 0.008, 0.008]


def test_frontier_lifts_nothing_outside_of_the_first() -> None:
    assert gained(frontier(BASE, graph(CHAIN), top_k=4)) == [0.05, 0.05, 0.05, 0.02, 0, 0]


def test_propagated_shares_less_the_more_links_there_are() -> None:
    star = graph([("c0", chunk) for chunk in CHUNKS[1:5]])
    assert gained(propagated(BASE, star, hits=1)) == [0, *[round(0.6 * 0.9 / 2, 10)] * 4, 0]


def test_expanded_puts_what_is_linked_behind_the_hit_that_leads_to_it() -> None:
    linked = graph([("c0", "c4"), ("c0", "c5"), ("c0", "c3"), ("c1", "e")])
    assert expanded(BASE, linked, hits=2, each=2) == ["c0", "c3", "c4", "c1", "c2", "c5"]


@pytest.mark.parametrize("options", [{"seeds": 0}, {"depth": -1}, {"boost": -1}, {"decay": float("nan")}])
def test_options_that_make_no_sense_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InvalidInput):
        additive(BASE, graph(CHAIN), **options)  # type: ignore[arg-type]


nodes = st.sampled_from([*CHUNKS, "e", "f"])
graphs = st.lists(st.tuples(nodes, nodes).filter(lambda pair: pair[0] != pair[1]), max_size=20).map(graph)
scores = st.dictionaries(st.sampled_from(CHUNKS), st.floats(0.01, 1), min_size=1)


@given(scores, graphs, st.integers(1, 6), st.integers(0, 3))
def test_gains_are_bounded_and_only_chunks_gain(
    base: dict[str, float], near: Neighbours, seeds: int, depth: int
) -> None:
    added = additive(base, near, seeds=seeds, depth=depth, boost=0.05, decay=0.5)
    assert set(added) <= set(base)
    assert all(0 < gain <= 0.05 * seeds + 1e-12 for gain in added.values())
    once = frontier(base, near, seeds=seeds, depth=depth, boost=0.05, decay=0.4, top_k=3)
    assert set(once) <= set(base)
    assert len(once) <= 3
    assert all(0 <= gain <= 0.05 for gain in once.values())
    handed = propagated(base, near, hits=seeds, share=0.6)
    assert set(handed) <= set(base)
    assert all(gain <= 0.6 * max(base.values()) for gain in handed.values())


@given(scores, graphs, st.integers(1, 4), st.integers(0, 3))
def test_expanding_loses_nothing_and_keeps_the_first(
    base: dict[str, float], near: Neighbours, hits: int, each: int
) -> None:
    order = expanded(base, near, hits=hits, each=each)
    assert sorted(order) == sorted(base)
    assert base[order[0]] == max(base.values())
