"""Every door that takes a corpus takes it by name, path or value alike, and refuses it in the same words."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ir
from ir.base import SearchHit
from ir.errors import CorpusNotBuilt, InvalidInput
from ir.eval import validate_cases
from ir.eval.cases import DiscoveryCase
from ir.expand import expand
from ir.index import as_corpus, as_store
from ir.tools import search as search_tool
from ir.traverse import collapsed_tree_policy, reverse_dependency_policy, traverse

_HIT = SearchHit("a", "document", 1.0, "one", {}, None, 0)
_CASE = DiscoveryCase("one", ("a",))

#: Those that search, and so need a corpus.
_SEARCHING: dict[str, Callable[[Any], Any]] = {
    "ir.search": lambda corpus: ir.search(corpus, "one", mode="lexical"),
    "ir.retrieve.search": lambda corpus: ir.retrieve.search(corpus, "one", mode="lexical"),
    "as_retriever": lambda corpus: ir.as_retriever(corpus)("one", mode="lexical"),
    "discover": lambda corpus: ir.discover(corpus, "one", mode="lexical"),
    "discover several": lambda corpus: ir.discover([corpus], "one", mode="lexical"),
    "tools.search": lambda corpus: search_tool("one", corpus=corpus, mode="lexical"),
    "traverse": lambda corpus: traverse("one", corpus, policy=collapsed_tree_policy()),
    "validate_cases": lambda corpus: validate_cases(corpus, [_CASE]),
    "as_corpus": lambda corpus: as_corpus(corpus),
}
#: Those that only read, and so take a store as well.
_READING: dict[str, Callable[[Any], Any]] = {
    "records_for_artifact": lambda corpus: ir.records_for_artifact(corpus, "a"),
    "expand": lambda corpus: expand(_HIT, corpus),
    "CorpusGraph": lambda corpus: ir.graph.CorpusGraph(corpus)["a"],
    "dependents": lambda corpus: traverse("one", corpus, policy=reverse_dependency_policy(seeds=["a"])),
    "as_store": lambda corpus: as_store(corpus),
}
_DOORS = {**_SEARCHING, **_READING}


@pytest.fixture
def notes() -> ir.Corpus:
    source = ir.CorpusSource.from_mapping({"a": "one", "b": "two"}, name="notes", embedder="light")
    return ir.build(source)


@pytest.mark.parametrize("door", _DOORS)
def test_a_corpus_may_be_named_by_value_by_name_and_by_path(door: str, notes: ir.Corpus) -> None:
    ask = _DOORS[door]
    folder = Path(os.fspath(notes.store.path))  # type: ignore[attr-defined]
    for given in (notes, "notes", str(folder), folder):
        ask(given)


@pytest.mark.parametrize("door", _READING)
def test_where_nothing_is_embedded_a_store_does(door: str, notes: ir.Corpus) -> None:
    _READING[door](notes.store)


@pytest.mark.parametrize("door", _DOORS)
def test_a_corpus_that_was_never_built_is_refused_in_the_same_words(door: str) -> None:
    with pytest.raises(CorpusNotBuilt) as told:
        _DOORS[door]("nowhere")
    assert str(told.value) == "The corpus 'nowhere' has not been built. Build it with: ir build nowhere"


@pytest.mark.parametrize("door", _DOORS)
def test_an_empty_name_is_refused_in_the_same_words(door: str) -> None:
    with pytest.raises(InvalidInput, match=r"^The name of the corpus is empty"):
        _DOORS[door](" ")


@pytest.mark.parametrize("door", _SEARCHING)
@pytest.mark.parametrize("given", [None, 5])
def test_what_is_no_corpus_is_refused_in_the_same_words(door: str, given: Any) -> None:
    with pytest.raises(InvalidInput, match=f"^{given!r} is not a corpus"):
        _SEARCHING[door](given)
