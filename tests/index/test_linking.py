"""Links come from the build: names are resolved across items, and again only where their meaning changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ir
from ir.base import IndexPlan, Surface, ledger_key
from ir.links import Edge, Node, Symbols, Use
from ir.sources import CorpusSource
from ir.store import CorpusStore
from ir.store.base import BaseStore


def embed(texts: list[str]) -> np.ndarray:
    return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)


embed._ir_id = "toy-2"  # type: ignore[attr-defined]


class Modules:
    """Files like ``def f: g h`` are modules: each line defines a function that calls others by name."""

    version = "1"

    def __init__(self) -> None:
        self.read: list[str] = []
        self.linked: list[str] = []

    def decompose(self, artifact_id: str, raw: str, metadata: Mapping[str, Any] | None = None) -> IndexPlan:
        self.read.append(artifact_id)
        plan = IndexPlan(nodes=[Node(artifact_id, "module")], symbols=None)
        defines: dict[str, list[str]] = {}
        uses = []
        for number, line in enumerate(raw.splitlines(), start=1):
            name, _, called = line.removeprefix("def ").partition(":")
            node = f"{artifact_id}::{name}"
            plan.nodes.append(Node(node, "function", {"line": number}))
            plan.edges.append(Edge(artifact_id, "contains", node))
            plan.surfaces.append(Surface(node, "function", line))
            defines.setdefault(name, []).append(node)
            uses += [Use(node, "calls", used, {"line": number}) for used in called.split()]
        plan.symbols = Symbols(defines, uses)
        return plan

    def link(self, item_id: str, symbols: Symbols, lookup: Any) -> Iterable[Edge]:
        """The function of this file, else the only one of that name, else the name itself."""
        self.linked.append(item_id)
        for use in symbols.uses:
            found: Sequence[str] = symbols.defines.get(use.name) or lookup(use.name)
            target = found[0] if len(found) == 1 else use.name
            yield Edge(use.source, use.type, target, None, use.properties)


def build(files: Mapping[str, str], store: BaseStore, strategy: Modules | None = None) -> Modules:
    strategy = strategy or Modules()
    source = CorpusSource.from_mapping(dict(files), name="code", strategy=strategy)
    ir.build(source, store=store, embedder=embed, floor=False)
    return strategy


def calls(store: BaseStore, node: str) -> list[tuple[str, str]]:
    with store.snapshot() as snapshot:
        (found,) = snapshot.neighbours([node], types=["calls"])
    return [(one.id, one.place) for one in found]


FILES = {"a": "def main: helper\ndef loop: loop", "b": "def helper: print", "c": "def other: helper"}


@pytest.fixture(params=["memory", "local"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> BaseStore:
    return CorpusStore.memory() if request.param == "memory" else CorpusStore.open(str(tmp_path / "corpus"))


def test_names_are_resolved_across_items(store: BaseStore) -> None:
    build(FILES, store)
    assert calls(store, "a::main") == [("b::helper", "here")]
    assert calls(store, "a::loop") == [("a::loop", "here")]
    assert calls(store, "b::helper") == [("print", "nowhere")]
    with store.snapshot() as snapshot:
        (found,) = snapshot.neighbours(["b::helper"], types=["calls"], direction="in")
        assert [(one.id, one.properties) for one in found] == [("a::main", {"line": 1}), ("c::other", {"line": 1})]
        assert snapshot.nodes(["a::main"])["a::main"] == Node("a::main", "function", {"line": 1})


def test_a_renamed_definition_leaves_its_callers_unresolved(store: BaseStore) -> None:
    build(FILES, store)
    strategy = build({**FILES, "b": "def assistant: print"}, store)
    assert strategy.read == ["b"]
    assert sorted(strategy.linked) == ["a", "b", "c"]
    assert calls(store, "a::main") == calls(store, "c::other") == [("helper", "nowhere")]
    again = build(FILES, store)
    assert again.read == ["b"]
    assert calls(store, "a::main") == [("b::helper", "here")]


def test_only_who_asked_for_a_changed_name_is_linked_again(store: BaseStore) -> None:
    build({**FILES, "d": "def far: away", "e": "def away: far"}, store)
    strategy = build({**FILES, "d": "def far: away\ndef new: away", "e": "def away: far"}, store)
    assert (strategy.read, strategy.linked) == (["d"], ["d"])
    corpus = ir.build(
        CorpusSource.from_mapping({**FILES, "e": "def away: far"}, name="code", strategy=Modules()),
        store=store,
        embedder=embed,
        floor=False,
    )
    assert corpus.report is not None
    assert (corpus.report.removed, corpus.report.relinked) == (["d"], 1)
    assert calls(store, "e::away") == [("far", "nowhere")]
    assert "d::far" not in {node.id for page in store.iter_nodes() for node in page}


def test_a_build_without_changes_reads_and_links_nothing(store: BaseStore) -> None:
    build(FILES, store)
    before = store.version
    strategy = build(FILES, store)
    assert (strategy.read, strategy.linked, store.version) == ([], [], before)


def test_one_item_becomes_many_artifacts(store: BaseStore) -> None:
    build(FILES, store)
    assert [record.text for record in ir.records_for_artifact(store, "a::loop")] == ["def loop: loop"]
    assert [record.artifact_id for record in ir.records_for_artifact(store, "a")] == ["a::main", "a::loop"]
    build({**FILES, "a": "def main: helper"}, store)
    assert store.get_ledger_entry(ledger_key("a::loop")) is None
    build({name: FILES[name] for name in ("b", "c")}, store)
    assert store.get_ledger_entry(ledger_key("a::main")) is None
    assert sorted({record.artifact_id for page in store.iter_records() for record in page}) == ["b::helper", "c::other"]


def test_a_report_counts_edges_that_lead_back(store: BaseStore) -> None:
    source = CorpusSource.from_mapping(dict(FILES), name="code", strategy=Modules())
    report = ir.build(source, store=store, embedder=embed, floor=False).report
    assert report is not None
    assert (report.edges, report.self_edges, report.relinked) == (8, 1, 0)


def test_a_strategy_without_rules_links_unique_names(store: BaseStore) -> None:
    class Plain(Modules):
        link = None  # type: ignore[assignment]

    build({**FILES, "d": "def helper: main"}, store, Plain())
    assert calls(store, "a::main") == [("helper", "nowhere")]  # two of that name: none is chosen
    assert calls(store, "d::helper") == [("a::main", "here")]


def test_links_that_cannot_be_drawn_are_reported_and_lose_nothing(store: BaseStore) -> None:
    class Broken(Modules):
        def link(self, item_id: str, symbols: Symbols, lookup: Any) -> Iterable[Edge]:
            if item_id == "b":
                raise RuntimeError("no rule")
            return super().link(item_id, symbols, lookup)

    source = CorpusSource.from_mapping(dict(FILES), name="code", strategy=Broken())
    report = ir.build(source, store=store, embedder=embed, floor=False).report
    assert report is not None
    assert [(problem.id, problem.reason) for problem in report.failed] == [
        ("b", "its links could not be drawn: RuntimeError: no rule")
    ]
    assert len(store) == 4
    assert calls(store, "a::main") == [("b::helper", "here")]


NAMES = ["f", "g", "h", "k"]
bodies = st.lists(
    st.tuples(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=2)),
    max_size=3,
    unique_by=lambda f: f[0],
).map(lambda functions: "\n".join(f"def {name}: {' '.join(used)}" for name, used in functions))
versions = st.dictionaries(st.sampled_from(["a", "b", "c"]), bodies, max_size=3)


def everything(store: BaseStore) -> tuple[Any, ...]:
    nodes = [node for page in store.iter_nodes() for node in page]
    edges = [entry for page in store.iter_edges() for entry in page]
    symbols = sorted(entry for page in store.iter_entries("symbols") for entry in page)
    return nodes, edges, symbols, store.content_version


@pytest.mark.slow
@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(versions, min_size=2, max_size=5))
def test_step_by_step_is_the_same_as_at_once(history: list[dict[str, str]]) -> None:
    store = CorpusStore.memory()
    for files in history:
        build(files, store)
    fresh = CorpusStore.memory()
    build(history[-1], fresh)
    assert everything(store) == everything(fresh)


def test_the_usual_extractor_is_not_asked_of_what_did_not_change(tmp_path: Path) -> None:
    def write(name: str, parent: str, time: int) -> None:
        path = tmp_path / f"{name}.md"
        path.write_text(f"---\nparent: {parent}\n---\n{name}\n")
        os.utime(path, (time, time))  # long enough ago for its stat to be relied on

    write("one", "suite", 1_000_000)
    write("two", "suite", 1_000_000)
    store = CorpusStore.open(str(tmp_path / "corpus"))
    read: list[str] = []

    def looked() -> list[str]:
        source = CorpusSource.from_files(tmp_path, name="notes", embedder=embed)
        scope = source.scope

        class Watched(type(scope)):  # type: ignore[misc]
            def __getitem__(self, name: str) -> Any:
                read.append(name)
                return super().__getitem__(name)

        scope.__class__ = Watched
        read.clear()
        ir.build(source, store=store, edge_extractor=ir.default_edge_extractor, floor=False)
        return sorted(read)

    assert looked() == ["one.md", "two.md"]
    assert store.get_links("one.md") == {"PARENT": ["suite"]}
    assert looked() == []
    write("two", "house", 1_000_100)
    assert looked() == ["two.md"]
    assert store.get_links("two.md") == {"PARENT": ["house"]}
    write("one", "house", 1_000_200)
    ir.build(CorpusSource.from_files(tmp_path, name="notes", embedder=embed), store=store, floor=False)
    assert store.get_links("one.md") == {"PARENT": ["suite"]}  # without an extractor links stay, also of what changed
    assert looked() == ["one.md"]
    assert store.get_links("one.md") == {"PARENT": ["house"]}
