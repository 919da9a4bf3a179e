from __future__ import annotations

import itertools
import json
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ir
from ir.base import SearchHit
from ir.errors import InvalidInput
from ir.graph import REF, CorpusGraph
from ir.store import CorpusStore
from ir.traverse import WalkState, collapsed_tree_policy, reverse_dependency_policy, traverse

Triple = tuple[int, int, float]


class Wanderer:
    """Walks a graph of integers without ever wanting to stop."""

    def __init__(self, edges: dict[int, list[int]], seeds: Iterable[int], emits: bool = True) -> None:
        self.edges = edges
        self.seeds = seeds
        self.emits = emits

    def seed(self, state: WalkState, store: Any) -> Iterable[int]:
        return self.seeds

    def score(self, state: WalkState, node: int, store: Any) -> float:
        return 1.0 / (1 + node)

    def select(self, state: WalkState, scored: Sequence[Triple]) -> Sequence[Triple]:
        return [*scored, *scored]

    def expand(self, state: WalkState, node: int, store: Any) -> Iterable[int]:
        state.budget = 10**9  # a policy cannot talk itself out of the bounds
        state.max_depth = 10**9
        return self.edges.get(node, [])

    def node_id(self, node: int) -> Hashable:
        return node

    def stop(self, state: WalkState) -> bool:
        return False

    def to_hit(self, state: WalkState, node: int, score: float, depth: int) -> SearchHit | None:
        return SearchHit(str(node), "node", score, "") if self.emits else None


@given(
    edges=st.dictionaries(st.integers(0, 15), st.lists(st.integers(0, 15), max_size=5), max_size=16),
    seeds=st.lists(st.integers(0, 15), max_size=6),
    max_depth=st.integers(0, 5),
    node_budget=st.integers(1, 20),
    k=st.integers(1, 20),
)
def test_bounds_hold_on_any_graph(
    edges: dict[int, list[int]], seeds: list[int], max_depth: int, node_budget: int, k: int
) -> None:
    hits = traverse("q", None, policy=Wanderer(edges, seeds), max_depth=max_depth, node_budget=node_budget, k=k)
    ids = [int(hit.artifact_id) for hit in hits]
    assert len(ids) == len(set(ids)) <= min(node_budget, k)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    distance = dict.fromkeys(seeds, 0)
    for depth in range(1, 20):
        for node in [node for node, at in distance.items() if at == depth - 1]:
            for target in edges.get(node, []):
                distance.setdefault(target, depth)
    for hit in hits:
        node = int(hit.artifact_id)
        assert distance[node] <= hit.metadata["walk_depth"] <= max_depth
        assert hit.metadata["seed"] in seeds
    reachable = {node for node, at in distance.items() if at <= max_depth}
    if len(reachable) <= min(node_budget, k):
        assert set(ids) == reachable


@pytest.mark.slow
@settings(deadline=None, max_examples=5)
@given(start=st.integers(0, 9))
def test_seeds_and_expansions_that_never_end_are_cut(start: int) -> None:
    class Endless(Wanderer):
        def expand(self, state: WalkState, node: int, store: Any) -> Iterable[int]:
            return itertools.count(node + 1)

    hits = traverse("q", None, policy=Endless({}, itertools.count(start)), node_budget=20, k=50)
    assert [hit.artifact_id for hit in hits] == [str(node) for node in range(start, start + 20)]
    same = traverse("q", None, policy=Endless({}, itertools.repeat(start)), node_budget=20, max_depth=3, k=50)
    assert len(same) == 20


def test_the_policy_may_stop_early_and_choose_a_beam() -> None:
    class Beam(Wanderer):
        def select(self, state: WalkState, scored: Sequence[Triple]) -> Sequence[Triple]:
            return scored[:1]

        def stop(self, state: WalkState) -> bool:
            return len(state.results) >= 2

    edges = {0: [5, 6], 5: [7]}
    hits = traverse("q", None, policy=Beam(edges, [0, 1]), max_depth=9)
    assert [hit.artifact_id for hit in hits] == ["0", "5"]


def test_a_policy_selects_among_triples_of_node_depth_and_score() -> None:
    seen: list[Triple] = []

    class Watching(Wanderer):
        def select(self, state: WalkState, scored: Sequence[Triple]) -> Sequence[Triple]:
            seen.extend(scored)
            return [(node, depth, score) for node, depth, score in scored if node != 1]

    hits = traverse("q", None, policy=Watching({0: [3], 1: [4]}, [1, 0]))
    assert seen == [(0, 0, 1.0), (1, 0, 0.5), (3, 1, 0.25)]
    assert [hit.artifact_id for hit in hits] == ["0", "3"]


def test_whether_something_is_a_walk_policy_can_be_asked() -> None:
    assert isinstance(Wanderer({}, []), ir.WalkPolicy)
    assert isinstance(collapsed_tree_policy(), ir.WalkPolicy)
    assert isinstance(reverse_dependency_policy(), ir.WalkPolicy)
    assert not isinstance(object(), ir.WalkPolicy)
    with pytest.raises(InvalidInput, match="'nonsense' is no walk policy; it lacks seed, score, select"):
        traverse("q", None, policy="nonsense")  # type: ignore[arg-type]


def test_nodes_that_only_lead_the_way_are_not_results() -> None:
    assert traverse("q", None, policy=Wanderer({0: [1]}, [0], emits=False)) == []


def test_select_cannot_bring_in_strangers() -> None:
    class Stranger(Wanderer):
        def select(self, state: WalkState, scored: Sequence[Triple]) -> Sequence[Triple]:
            return [(99, 0, 9.0), *scored]

    assert [hit.artifact_id for hit in traverse("q", None, policy=Stranger({}, [3]))] == ["3"]


@pytest.mark.parametrize("bounds", [{"max_depth": -1}, {"node_budget": 0}, {"k": 0}, {"k": 1.5}, {"max_depth": True}])
def test_bad_bounds_are_refused(bounds: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="whole number"):
        traverse("q", None, policy=Wanderer({}, [0]), **bounds)
    with pytest.raises(InvalidInput, match="query is empty"):
        traverse(" ", None, policy=Wanderer({}, [0]))


TOPICS = ("tea", "bread", "music")


def embed(texts: Sequence[str], *, input_type: str = "document") -> Any:
    return np.array([[text.count(topic) + 0.01 for topic in TOPICS] for text in texts], dtype=np.float32)


DOCS = {
    "drinks": "tea " * 40 + "\n\n" + "bread " * 40 + "\n\n" + "tea bread " * 20,
    "baking": "bread " * 100,
    "songs": "music " * 100,
}


def corpus_of(strategy: Any, docs: dict[str, Any] | None = None) -> ir.Corpus:
    source = ir.CorpusSource.from_mapping(docs or DOCS, name="notes", strategy=strategy)
    return ir.build(source, store=CorpusStore.memory(), embedder=embed)


@pytest.fixture
def routed() -> ir.Corpus:
    chunked = ir.Chunked(chunk_size=200, overlap=20)
    summaries = {"drinks": "tea", "baking": "bread", "songs": "music"}
    return corpus_of(
        ir.with_synopsis(chunked, synthesize=lambda artifact: summaries[artifact.id], synthesizer_id="fixed")
    )


def test_summaries_route_to_the_leaves_of_their_artifacts(routed: ir.Corpus) -> None:
    hits = traverse("tea", routed, policy=collapsed_tree_policy(seed_k=1))
    assert {hit.artifact_id for hit in hits} == {"drinks"}
    assert {hit.surface_kind for hit in hits} == {"chunk"}
    assert {hit.metadata["seed"] for hit in hits} == {"drinks"}
    assert {hit.metadata["walk_depth"] for hit in hits} == {1}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert hits[0].score > 0.9
    assert hits[0].source == "notes"
    json.dumps([hit.to_dict() for hit in hits])


def test_leaves_are_scored_as_a_search_scores_them(routed: ir.Corpus) -> None:
    walked = {hit.surface_index: hit.score for hit in traverse("tea", routed, policy=collapsed_tree_policy(seed_k=1))}
    found = routed.search("tea", surfaces=["chunk"], per_artifact=False, k=50)
    scores = {hit.surface_index: hit.score for hit in found if hit.artifact_id == "drinks"}
    assert walked
    for index, score in walked.items():
        assert score == pytest.approx(scores[index], abs=1e-5)


def test_a_corpus_of_summaries_alone_gives_them_as_results() -> None:
    hits = traverse("tea", corpus_of(ir.WholeText()), policy=collapsed_tree_policy())
    assert hits[0].artifact_id == "drinks"
    assert {hit.surface_kind for hit in hits} == {"document"}
    assert len(hits) == 3


def test_a_corpus_of_leaves_alone_is_searched_by_them() -> None:
    hits = traverse("tea", corpus_of(ir.Chunked(chunk_size=200, overlap=20)), policy=collapsed_tree_policy())
    assert hits[0].artifact_id == "drinks"
    assert hits[0].metadata["walk_depth"] == 0


def test_without_depth_the_summaries_themselves_are_results(routed: ir.Corpus) -> None:
    hits = traverse("tea", routed, policy=collapsed_tree_policy(), max_depth=0)
    assert {hit.surface_kind for hit in hits} == {"synopsis"}


def test_an_empty_or_foreign_corpus_gives_nothing() -> None:
    assert traverse("tea", corpus_of(ir.WholeText(kind="odd")), policy=collapsed_tree_policy()) == []
    with pytest.raises(InvalidInput, match="seed_k"):
        collapsed_tree_policy(seed_k=0)


@pytest.fixture
def packages() -> ir.Corpus:
    deps = {"core": [], "lib": ["core"], "app": ["lib", "requests"], "core-tea": ["app"], "lone": []}
    raw = {name: {"name": name, "description": f"{name} tea", "deps": list(names)} for name, names in deps.items()}
    raw["core"]["deps"] = ["core-tea"]  # a cycle
    source = ir.CorpusSource.from_mapping(raw, name="packages", strategy=ir.Package())
    return ir.build(source, store=CorpusStore.memory(), embedder=embed, edge_extractor=ir.default_edge_extractor)


def test_dependents_are_found_through_others_and_cycles_end(packages: ir.Corpus) -> None:
    policy = reverse_dependency_policy(seeds=["core"], proximity_weight=1.0)
    hits = traverse("what breaks", CorpusGraph(packages), policy=policy, max_depth=9)
    assert [hit.artifact_id for hit in hits] == ["lib", "app", "core-tea"]
    assert [hit.metadata["walk_depth"] for hit in hits] == [1, 2, 3]
    assert {hit.metadata["seed"] for hit in hits} == {"core"}
    near = traverse("what breaks", packages, policy=policy, max_depth=1)
    assert [hit.artifact_id for hit in near] == ["lib"]


def test_a_seed_need_not_be_indexed(packages: ir.Corpus) -> None:
    policy = reverse_dependency_policy(seeds=[("packages", "requests"), ("elsewhere", "core")])
    hits = traverse("q", CorpusGraph(packages), policy=policy, max_depth=1)
    assert [hit.artifact_id for hit in hits] == ["app"]


def test_a_bare_store_ranks_by_nearness_and_fan_in(packages: ir.Corpus) -> None:
    graph = CorpusGraph(packages.store)
    policy = reverse_dependency_policy(seeds=["core"], fan_in_weight=0.1)
    hits = traverse("q", graph, policy=policy, max_depth=2)
    assert [hit.artifact_id for hit in hits] == ["lib", "app"]
    assert hits[0].score == pytest.approx(0.5 + 0.1)
    with pytest.raises(InvalidInput, match="Without seeds"):
        traverse("q", graph, policy=reverse_dependency_policy())


def test_without_seeds_the_query_finds_them(packages: ir.Corpus) -> None:
    hits = traverse("tea", CorpusGraph(packages), policy=reverse_dependency_policy(seed_k=5))
    assert hits == []  # every package is a seed itself
    hits = traverse("tea", CorpusGraph(packages), policy=reverse_dependency_policy(seed_k=1, edge_type=REF))
    assert len({hit.artifact_id for hit in hits}) == len(hits)
