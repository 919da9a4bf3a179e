from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import ir
from ir.store import CorpusStore
from ir.tools import make_search, search


def embed(texts: Sequence[str], *, input_type: str = "document") -> Any:
    return np.array([[text.count("tea") + 0.01, text.count("bread") + 0.01] for text in texts], dtype=np.float32)


@pytest.fixture
def corpus() -> ir.Corpus:
    docs = {"drink": "tea with milk", "bake": "bread with butter", "both": "tea and bread"}
    source = ir.CorpusSource.from_mapping(docs, name="kitchen notes")
    return ir.build(source, store=CorpusStore.memory(), embedder=embed)


def test_search_answers_in_json(corpus: ir.Corpus) -> None:
    answer = json.loads(json.dumps(search("tea", corpus=corpus, k=2)))
    assert answer["results"][0]["artifact_id"] == "drink"
    assert (answer["query"], answer["corpus"], answer["mode"]) == ("tea", "kitchen notes", "hybrid")
    assert answer["n_results"] == len(answer["results"]) == 2
    assert answer["notes"] == []
    assert answer["degraded"] == []


def test_a_bound_tool_shows_only_what_the_caller_may_choose(corpus: ir.Corpus) -> None:
    tool = make_search(corpus, k=1, mode="lexical")
    assert tool.__name__ == "search_kitchen_notes"
    assert "kitchen notes" in (tool.__doc__ or "")
    assert list(inspect.signature(tool).parameters) == ["query", "k"]
    assert [result["artifact_id"] for result in tool("butter")["results"]] == ["bake"]
    assert len(tool("tea bread", k=3)["results"]) == 3
    named = make_search(corpus, name="find", description="Finds.")
    assert (named.__name__, named.__doc__) == ("find", "Finds.")


def test_bad_input_raises(corpus: ir.Corpus) -> None:
    with pytest.raises(ValueError, match="k must be"):
        search("tea", corpus=corpus, k=0)
    with pytest.raises(ValueError, match="mode"):
        search("tea", corpus=corpus, mode="psychic")
    with pytest.raises(ValueError, match="empty"):
        make_search(corpus)("  ")
