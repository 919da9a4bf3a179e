from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import ir
from ir.base import SearchHit
from ir.errors import InvalidInput
from ir.graph import CHILD, NEXT, PARENT, PREV, REF, CorpusGraph, GraphStore, canonical_node_id, dep_boost
from ir.store import CorpusStore


@pytest.fixture
def graph() -> CorpusGraph:
    store = CorpusStore.memory()
    store.set_links("app", {REF: ["lib", "core", "lib"], PARENT: ["suite"], NEXT: [["skills", "deploy"]]})
    store.set_links("cli", {REF: ["core"]})
    store.set_links("lib", {REF: ["core", "Numpy".lower()]})
    return CorpusGraph(store)


def test_edge_types_are_constants() -> None:
    assert len({NEXT, PREV, PARENT, CHILD, REF}) == 5


def test_neighbors_are_listed_once_as_they_are_stored(graph: CorpusGraph) -> None:
    assert graph.neighbors("app") == ["lib", "core", "suite", ["skills", "deploy"]]
    assert graph.neighbors("app", edge_type=REF) == ["lib", "core"]
    assert graph.neighbors("app", edge_type=CHILD) == []
    assert graph.neighbors("unknown") == []
    assert sorted(graph.edge_types("app")) == sorted([REF, PARENT, NEXT])
    assert graph.edge_types("unknown") == []


def test_edges_are_read_backwards_too(graph: CorpusGraph) -> None:
    assert graph.reverse_neighbors("core") == ["app", "cli", "lib"]
    assert graph.reverse_neighbors("suite", edge_type=PARENT) == ["app"]
    assert graph.reverse_neighbors("suite", edge_type=REF) == []
    assert graph.fan_in("core") == 3
    assert graph.fan_in("app") == 0
    assert graph.max_fan_in(edge_type=REF) == 3
    assert graph.reverse_neighbors("NumPy") == ["lib"]


def test_new_links_are_seen(graph: CorpusGraph) -> None:
    assert graph.fan_in("core") == 3
    graph.store.set_links("web", {REF: ["core"]})
    assert graph.fan_in("core") == 4


def test_targets_in_other_corpora_are_not_taken_for_ones_here(graph: CorpusGraph) -> None:
    assert graph.reverse_neighbors("deploy") == []


def test_a_store_without_links_has_no_edges() -> None:
    graph = CorpusGraph(object())
    assert graph.neighbors("a") == []
    assert graph.reverse_neighbors("a") == []
    assert graph.source is None


def test_the_graph_is_a_graph_store(graph: CorpusGraph) -> None:
    assert isinstance(graph, GraphStore)
    assert not isinstance({}, GraphStore)


def test_canonical_ids() -> None:
    assert canonical_node_id("dol", source="packages") == ("packages", "dol")
    assert canonical_node_id(["skills", "deploy"], source="packages") == ("skills", "deploy")
    assert canonical_node_id(("skills", "deploy"), source=None) == ("skills", "deploy")
    for bad in (7, ["a"], ["a", "b", "c"], ["a", 7], [7, "a"], None):
        with pytest.raises(InvalidInput, match="target"):
            canonical_node_id(bad, source=None)


@pytest.mark.parametrize(
    ("fields", "edges"),
    [
        (
            {"deps": ["dol>=1.0", "Rich [all]", "a @ http://x", "b;python_version<'3'", "c~=2", "d!=1"]},
            "dol rich a b c d",
        ),
        ({"deps": ["AA", "aa>1", "", "  ", None, "x", "X"]}, "x"),
        ({"deps": "single==1"}, "single"),
        ({"deps": None}, ""),
        ({}, ""),
    ],
)
def test_the_default_extractor_reads_dependencies(fields: Mapping[str, Any], edges: str) -> None:
    assert ir.default_edge_extractor("aa", fields) == ({REF: edges.split()} if edges else {})


def test_the_default_extractor_reads_the_parent() -> None:
    assert ir.default_edge_extractor("deploy", {"parent": "devops"}) == {PARENT: ["devops"]}
    assert ir.default_edge_extractor("devops", {"parent": "DevOps"}) == {}
    assert ir.default_edge_extractor("devops", {"parent": " "}) == {}


def embed(texts: Any, *, input_type: str = "document") -> Any:
    return np.array([[1.0, text.count("app") + 0.1] for text in texts], dtype=np.float32)


@pytest.fixture
def packages() -> ir.Corpus:
    raw = {
        name: {"name": name, "description": f"{name} app", "deps": deps}
        for name, deps in {"app": ["core>=1"], "cli": ["core", "requests"], "core": [], "lone": []}.items()
    }
    source = ir.CorpusSource.from_mapping(raw, name="packages", strategy=ir.Package())
    store = CorpusStore.memory()
    return ir.build(source, store=store, embedder=embed, edge_extractor=ir.default_edge_extractor)


def test_a_build_writes_the_links(packages: ir.Corpus) -> None:
    graph = ir.CorpusGraph(packages)
    assert graph.source == "packages"
    assert graph.neighbors("cli", edge_type=REF) == ["core", "requests"]
    assert graph.reverse_neighbors("core") == ["app", "cli"]
    assert [record.artifact_id for record in graph["core"]] == ["core"]
    with pytest.raises(KeyError):
        graph["requests"]


def test_what_others_depend_on_is_boosted(packages: ir.Corpus) -> None:
    boost = dep_boost(packages, weight=0.5)
    assert boost(SearchHit("core", "description", 0.1, "")) == 0.5
    assert boost(SearchHit("lone", "description", 0.1, "")) == 0.0
    plain = {hit.artifact_id: hit.score for hit in packages.search("app")}
    boosted = packages.search("app", graph_boost=boost)
    assert boosted[0].artifact_id == "core"
    assert boosted[0].score == pytest.approx(plain["core"] + 0.5)


def test_a_boost_without_links_changes_nothing() -> None:
    assert dep_boost(CorpusStore.memory())(SearchHit("a", "document", 0.1, "")) == 0.0
    with pytest.raises(InvalidInput, match="weight"):
        dep_boost(CorpusStore.memory(), weight=-1)
