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


def test_several_corpora_are_searched_and_merged_by_rank(corpus: ir.Corpus) -> None:
    source = ir.CorpusSource.from_mapping({"kettle": "boil water for tea"}, name="tools")
    other = ir.build(source, store=CorpusStore.memory(), embedder=embed)
    answer = json.loads(json.dumps(search("tea", corpus=[corpus, other], k=3)))
    assert (answer["corpus"], answer["corpora"]) == (None, ["kitchen notes", "tools"])
    assert {result["source"] for result in answer["results"]} == {"kitchen notes", "tools"}
    tool = make_search([corpus, other], k=2)
    assert (tool.__name__, len(tool("tea")["results"])) == ("search_kitchen_notes_tools", 2)
    with pytest.raises(ValueError, match="different scales"):
        search("tea", corpus=[corpus, other], min_score=0.4)


def test_a_tool_abstains_below_the_floor_and_says_so() -> None:
    docs = {"tea": "Steep green tea at 80 degrees.", "bread": "Knead the dough and let it rise."}
    light = ir.build(ir.CorpusSource.from_mapping(docs, name="notes"), store=CorpusStore.memory(), embedder="light")
    refused = search("asdfqwerzxcv", corpus=light, min_score="auto")
    assert (refused["abstained"], refused["reason"], refused["results"]) == (True, "abstain:below_floor", [])
    assert refused["per_source"]["notes"]["floor_from"] == "probes"
    assert any("Off topic" in note for note in refused["notes"])
    found = search("green tea", corpus=light, min_score="auto")
    assert (found["abstained"], found["reason"], found["results"][0]["artifact_id"]) == (False, None, "tea")
    assert search("green tea", corpus=light, min_score=0.99)["abstained"]
    assert not search("asdfqwerzxcv", corpus=light)["abstained"]
    nothing = search("zyzzyva", corpus=light, mode="lexical")
    assert (nothing["abstained"], nothing["reason"]) == (True, "abstain:no_candidates")
