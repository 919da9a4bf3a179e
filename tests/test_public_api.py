"""The public page: exactly these names, each found, nothing heavy loaded for them."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module
from operator import attrgetter
from typing import Any

import pytest

import ir

PUBLIC = {
    *("Artifact", "Chunked", "Corpus", "CorpusGraph", "CorpusSource", "CorpusStore", "Disclosure", "DiscoveryResult"),
    *("EdgeExtractor", "Formulator", "GraphStore", "Hits", "IndexPlan", "IndexingStrategy", "IrError"),
    *("NeighborhoodPolicy", "Package", "Passage", "Record", "Retriever", "SearchHit", "Selection", "Skill", "Surface"),
    *("Synthesizer", "WalkPolicy", "WalkState", "WholeText", "as_retriever", "branch_corpus", "build", "build_corpus"),
    *("canonical_node_id", "collapsed_tree_policy", "corpora", "default_edge_extractor", "disclose", "discover"),
    *("expand", "fuse_hits", "make_llm_formulator", "make_llm_synthesizer", "open_corpus", "parent_policy"),
    *("records_for_artifact", "register", "retriever_for", "retrievers", "search", "select"),
    *("sentence_window_policy", "tag_source", "traverse", "with_synopsis"),
}

MODULES = (
    *("base", "strategy", "sources", "embed", "store", "index", "retrieve", "select", "expand", "traverse", "graph"),
    *("formulate", "synopsis", "registry", "eval", "eval_gen", "config", "cli"),
)


#: What a caller who says nothing gets, where that decides about an answer.
DEFAULTS: dict[str, dict[str, Any]] = {
    "build": {"store": None, "embedder": None, "full": True, "batch_size": 256, "edge_extractor": None},
    "collapsed_tree_policy": {"leaf_kinds": ("chunk", "readme_chunk"), "seed_k": 10},
    "disclose": {"level": "body", "loader": None, "store": None, "expand": None, "corpus": None},
    "discover": {"k": 10, "mode": "hybrid", "strategy": "conservative", "disclose_level": "metadata", "max_k": 3}
    | {"rel": 0.9, "gap_ratio": 0.5, "min_score": None, "merge": "rrf", "merge_weights": None, "merge_rrf_k": None},
    "fuse_hits": {"rrf_k": 60, "weights": None, "identity": None, "k": None},
    "retrieve.search": {"k": 10, "filter": None, "surfaces": None, "per_artifact": True, "mode": "dense", "rrf_k": 60}
    | {"alpha": 0.5, "bm25_sat_k": None, "fetch_k": None, "rerank": None, "bm25": None, "formulate": None},
    "select": {"strategy": "conservative", "max_k": 3, "rel": 0.9, "gap_ratio": 0.5, "min_score": None},
    "traverse": {"max_depth": 2, "node_budget": 64, "k": 10},
}


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults_are_those_that_are_promised(name: str) -> None:
    parameters = inspect.signature(attrgetter(name)(ir)).parameters
    assert {key: parameters[key].default for key in DEFAULTS[name]} == DEFAULTS[name]


def test_all_is_exactly_the_public_names() -> None:
    assert set(ir.__all__) == PUBLIC
    assert len(set(ir.__all__)) == len(ir.__all__)


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(ir, name) is not None
    assert name in dir(ir)


@pytest.mark.parametrize("name", MODULES)
def test_every_documented_module_imports(name: str) -> None:
    assert import_module(f"ir.{name}").__name__ == f"ir.{name}"
    assert getattr(ir, name).__name__.startswith("ir.")


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = ir.nonsense  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["select", "expand", "traverse"])
@pytest.mark.parametrize(
    "imports",
    [
        "import ir, ir.{0}",
        "import ir.{0}, ir",
        "import ir; ir.{0}; import ir.{0}",
        "from ir.{0} import {0} as inner; import ir",
        "import ir; from ir import {0} as top; from ir.{0} import {0} as inner",
        "from ir import *; import ir, ir.{0}",
        "import ir.{0} as module; import ir",
    ],
)
def test_functions_that_share_a_modules_name_work_in_any_import_order(name: str, imports: str) -> None:
    check = (
        f"import inspect; from ir.{name} import {name} as function;"
        f"assert callable(ir.{name}); assert inspect.isfunction(function);"
        f"assert inspect.signature(ir.{name}) == inspect.signature(function);"
        f"assert ir.{name}.{name} is function; print('ok')"
    )
    assert python(f"{imports.format(name)}; {check}") == "ok"


def test_select_is_called_through_either_door() -> None:
    hits = [ir.SearchHit("a", "document", 0.9, "one"), ir.SearchHit("b", "document", 0.1, "two")]
    from ir.select import select

    assert ir.select(hits).selected_ids == select(hits).selected_ids == ["a"]


def test_import_loads_nothing_heavy() -> None:
    heavy = {"numpy", "faiss", "tantivy", "rich", "typer", "pydantic", "yaml", "sqlite3"}
    loaded = set(python("import ir, sys; print(' '.join(sys.modules))").split())
    assert not heavy & loaded
    assert {name for name in loaded if name.startswith("ir.")} == set()


def test_search_takes_a_corpus_or_its_name() -> None:
    source = ir.CorpusSource.from_mapping({"a": "green tea", "b": "rye bread"}, name="drinks", embedder="light")
    corpus = ir.build(source)
    by_value = ir.search(corpus, "tea", mode="lexical")
    by_name = ir.search("drinks", "tea", mode="lexical")
    assert [hit.artifact_id for hit in by_value] == [hit.artifact_id for hit in by_name] == ["a"]
    assert isinstance(by_name, ir.Hits)
    assert by_name[0].source == "drinks"


def test_build_corpus_builds_what_is_registered(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    (folder / "tea.md").write_text("# Tea\n\nGreen tea is steeped at 80 degrees.\n")
    ir.register("kitchen", "files", embedder="light", root=str(folder))
    assert "kitchen" in ir.corpora()
    corpus = ir.build_corpus("kitchen")
    assert corpus.name == "kitchen"
    assert [hit.artifact_id for hit in corpus.search("tea")] == ["tea.md"]
