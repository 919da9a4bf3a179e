from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import ir
from ir.base import SearchHit
from ir.errors import InvalidInput
from ir.graph import (
    CHILD,
    NEXT,
    PARENT,
    PREV,
    REF,
    CorpusGraph,
    GraphStore,
    canonical_node_id,
    dep_boost,
    dependency_evidence_boost,
    spread,
)
from ir.links import Node
from ir.store import CorpusStore
from ir.traverse import reverse_dependency_policy


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


def test_edges_between_packages_are_found_by_their_normal_names() -> None:
    deps = {
        "app": ["foo_bar.BAZ[x]>=1; os_name == 'nt'", "My.Lib"],
        "Foo.Bar_baz": ["my_lib"],
        "My_Lib": [],
        "my-lib": [],
    }
    raw = {name: {"name": name, "description": name, "deps": needs} for name, needs in deps.items()}
    source = ir.CorpusSource.from_mapping(raw, name="packages", strategy=ir.Package(), embedder="light")
    corpus = ir.build(source, store=CorpusStore.memory(), edge_extractor=ir.default_edge_extractor)
    graph = CorpusGraph(corpus)
    assert graph.neighbors("app", edge_type=REF) == ["Foo.Bar_baz", "my-lib"]
    assert graph["Foo.Bar_baz"]
    for way in ("Foo.Bar_baz", "foo-bar-baz", "FOO_BAR_BAZ"):
        assert graph.reverse_neighbors(way) == ["app"]
    assert graph.fan_in("my-lib", edge_type=REF) == 2
    assert graph.fan_in("My_Lib", edge_type=REF) == 0  # the one that is called just so is meant
    hits = ir.traverse("who needs it", graph, policy=reverse_dependency_policy(seeds=["MY.LIB"]))
    assert {hit.artifact_id for hit in hits} == {"app", "Foo.Bar_baz"}


def test_a_name_that_is_no_package_here_stays_as_it_is(graph: CorpusGraph) -> None:
    assert graph.resolve("Scikit_Learn") == "Scikit_Learn"
    assert graph.neighbors("lib") == ["core", "numpy"]


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


def test_dependencies_are_evidence_for_what_is_meant() -> None:
    boost = dependency_evidence_boost(["Typing_Extensions", "rich"], weight=0.4, saturate=2)

    def boosted(deps: Any) -> float:
        return boost(SearchHit("a", "description", 0.1, "", {"deps": deps}))

    assert boosted(["typing-extensions>=4; python_version < '3.12'", "Rich[jupyter]", "numpy"]) == pytest.approx(0.4)
    assert boosted("typing.extensions") == pytest.approx(0.2)
    assert (boosted(None), boosted([]), boosted([3])) == (0.0, 0.0, 0.0)
    for wrong in ({"relevant_libs": "rich", "weight": 1.0}, {"relevant_libs": [], "weight": float("inf")}):
        with pytest.raises(ValueError, match="must be a"):
            dependency_evidence_boost(**wrong)  # type: ignore[arg-type]


# -- through the snapshot ---------------------------------------------------------------------------------------------


def test_edges_tell_where_they_lead(packages: ir.Corpus) -> None:
    packages.store.set_links("cli", {REF: ["core", "requests", ["skills", "deploy"], ["packages", "app"]]})
    found = CorpusGraph(packages).edges("cli")
    assert [(one.id, one.place, one.corpus) for one in found] == [
        ("core", "here", None),
        ("requests", "nowhere", None),
        ("deploy", "elsewhere", "skills"),
        ("app", "here", "packages"),
    ]
    both = CorpusGraph(packages).edges("core", direction="both")
    assert [(one.id, one.direction) for one in both] == [("app", "in"), ("cli", "in")]
    assert len(CorpusGraph(packages).edges("core", direction="in", limit=1)) == 1


def test_a_package_that_is_called_otherwise_is_here() -> None:
    raw = {"Foo.Bar": {"name": "Foo.Bar", "description": "x"}, "app": {"name": "app", "deps": ["foo_bar"]}}
    source = ir.CorpusSource.from_mapping(raw, name="p", strategy=ir.Package(), embedder="light")
    corpus = ir.build(source, store=CorpusStore.memory(), edge_extractor=ir.default_edge_extractor)
    (one,) = CorpusGraph(corpus).edges("app")
    assert (one.id, one.place) == ("Foo.Bar", "here")
    assert CorpusGraph(corpus).in_degrees(["Foo.Bar", "foo-bar", "app"], edge_type=REF) == [1, 1, 0]


def test_edges_backwards_do_not_read_every_link(packages: ir.Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = CorpusGraph(packages)

    def refuse(*args: Any) -> Any:
        raise AssertionError("all links were read")

    for name in ("link_items", "iter_edges"):
        monkeypatch.setattr(packages.store, name, refuse)
    assert graph.reverse_neighbors("core") == ["app", "cli"]
    assert graph.reverse_neighbors("requests", edge_type=REF) == ["cli"]
    assert (graph.fan_in("core"), graph.neighbors("app"), graph.edge_types("app")) == (2, ["core"], [REF])


def test_a_boost_of_dependencies_asks_for_the_whole_pool_at_once(packages: ir.Corpus) -> None:
    boost = dep_boost(packages, weight=0.5)
    hits = packages.search("app", graph_boost=boost, explain=True)
    by_hit = {hit.artifact_id: boost(hit) for hit in hits}
    told = {hit.artifact_id: (hit.explanation or {})["boosts"].get("graph", 0.0) for hit in hits}
    assert by_hit == told == {"core": 0.5, "app": 0.0, "cli": 0.0, "lone": 0.0}
    packages.store.set_links("lone", {REF: ["app", "core"]})
    assert boost(SearchHit("app", "description", 0.1, "")) == pytest.approx(0.25), "new links are seen"


def web() -> CorpusStore:
    store = CorpusStore.memory()
    store.put_nodes([Node(name) for name in "abcdefg"])
    store.set_links("a", {"calls": ["b", "c", "gone", ["other", "f"]], "owns": ["g"]})
    store.set_links("b", {"calls": ["d"]})
    store.set_links("c", {"calls": ["d", "a"]})
    store.set_links("d", {"calls": ["e"]})
    return store


@pytest.mark.parametrize(
    ("seeds", "options", "reached"),
    [
        (["a"], {}, {"a": 1, "b": 0.5, "c": 0.5, "d": 0.25, "g": 0.5}),
        (["a"], {"types": ["calls"], "depth": 1}, {"a": 1, "b": 0.5, "c": 0.5}),
        (["a"], {"types": ["calls"], "depth": 9}, {"a": 1, "b": 0.5, "c": 0.5, "d": 0.25, "e": 0.125}),
        (["d"], {"direction": "in"}, {"d": 1, "b": 0.5, "c": 0.5, "a": 0.25}),
        (["e"], {"direction": "both", "depth": 1}, {"e": 1, "d": 0.5}),
        ({"b": 0.1, "a": 1.0}, {"types": ["calls"]}, {"b": 0.5, "a": 1, "c": 0.5, "d": 0.25, "e": 0.025}),
        (["a"], {"depth": 0}, {"a": 1}),
        (["a"], {"limit": 1}, {"a": 1, "b": 0.5, "d": 0.25}),
        (["nobody"], {}, {"nobody": 1}),
        ([], {}, {}),
        (["a"], {"decay": 0}, {"a": 1}),
    ],
)
def test_nearness_spreads_from_the_seeds(seeds: Any, options: dict[str, Any], reached: dict[str, float]) -> None:
    with web().snapshot() as snapshot:
        assert spread(snapshot, seeds, **options) == pytest.approx(reached)


def test_spreading_asks_once_for_each_step_and_checks_what_it_is_given() -> None:
    class Counted:
        asked = 0

        def __init__(self, snapshot: Any) -> None:
            self.snapshot = snapshot

        def neighbours(self, *args: Any, **options: Any) -> Any:
            self.asked += 1
            return self.snapshot.neighbours(*args, **options)

    with web().snapshot() as snapshot:
        counted: Any = Counted(snapshot)
        spread(counted, ["a"], depth=3)
        assert counted.asked == 3
        with pytest.raises(InvalidInput, match="decay must be a number from 0 to 1, not 2"):
            spread(snapshot, ["a"], decay=2)
        with pytest.raises(InvalidInput, match="depth must be a whole number of at least 0"):
            spread(snapshot, ["a"], depth=-1)
