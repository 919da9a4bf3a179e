"""Scores over the whole corpus, as the reference document computes them, through the doors of a search."""

from __future__ import annotations

import re
from collections import Counter
from math import log
from typing import Any

import numpy as np
import pytest

import ir
from ir.book import retrieve
from ir.errors import InvalidInput
from ir.retrieve import whole
from ir.retrieve.whole import combined

from .conftest import Made

TEXTS = {"one": "fireball deals fire damage", "two": "general spell overview", "three": "fireball fireball"}
COSINES = {"one": 0.2, "two": 0.9, "three": 0.6}


def searched(corpus: ir.Corpus, query: str, **options: Any) -> ir.Hits:
    return ir.search(corpus, query, mode="hybrid", fusion="minmax_corpus", **options)


def by_hand(texts: list[str], cosines: list[float], query: str) -> np.ndarray:
    """The document's formulas, written out once more."""
    tokens = [re.findall(r"[A-Za-z0-9]+", text.lower()) for text in texts]
    average = sum(map(len, tokens)) / len(tokens)
    lexical = np.zeros(len(texts))
    for word in re.findall(r"[A-Za-z0-9]+", query.lower()):
        having = sum(word in some for some in tokens)
        idf = log((len(texts) - having + 0.5) / (having + 0.5) + 1)
        for place, some in enumerate(tokens):
            tf = Counter(some)[word]
            lexical[place] += idf * tf * 2.5 / (tf + 1.5 * (0.25 + 0.75 * len(some) / average)) if tf else 0.0

    def scaled(values: np.ndarray) -> np.ndarray:
        low, high = values.min(), values.max()
        return (values - low) / (high - low) if high > low else np.zeros(len(values))

    return 0.4 * scaled(lexical) + 0.6 * scaled(np.array(cosines))


def test_the_worked_example_of_bm25(made: Made) -> None:
    found = {
        one.chunk.artifact_id: one
        for one in retrieve(made(COSINES, texts=TEXTS), "fireball", 3, fusion="minmax_corpus")
    }
    assert [round(found[name].lexical_score, 10) for name in TEXTS] == [0.4086988080, 0, 0.7520058068]


def test_the_worked_example_of_the_fusion() -> None:
    assert combined([2, 0, 1, 4], [0.9, 0.5, 0.7, 0.1]).round(10).tolist() == [0.8, 0.3, 0.55, 0.4]
    assert combined([3, 3], [1, 1]).tolist() == [0, 0]


@pytest.mark.parametrize("query", ["fireball", "Fire damage spell", "nothing of that", "fireball fireball overview"])
def test_every_score_is_the_documents(made: Made, query: str) -> None:
    corpus = made(COSINES, texts=TEXTS)
    scores = {hit.artifact_id: hit.score for hit in searched(corpus, query, k=3)}
    expected = by_hand(list(TEXTS.values()), list(COSINES.values()), query)
    assert [scores[name] for name in TEXTS] == pytest.approx(expected.tolist(), abs=2e-4)  # halves keep three digits


def test_equal_scores_come_in_corpus_order(made: Made) -> None:
    corpus = made(dict.fromkeys("dbca", 0.5), texts=dict.fromkeys("dbca", "the same"))
    assert [hit.artifact_id for hit in searched(corpus, "the same", k=4)] == ["d", "b", "c", "a"]


def test_a_filter_drops_records_and_changes_no_score(made: Made) -> None:
    about = {name: {"kind": "spell" if name != "two" else "rule"} for name in TEXTS}
    corpus = made(COSINES, texts=TEXTS, metadata=about)
    everything = {hit.artifact_id: hit.score for hit in searched(corpus, "fireball", k=3)}
    some = {hit.artifact_id: hit.score for hit in searched(corpus, "fireball", k=3, filter={"kind": "spell"})}
    assert some == {name: everything[name] for name in ("one", "three")}
    assert list(searched(corpus, "fireball", filter={"kind": "none"})) == []


def test_what_was_written_since_is_scored_too(made: Made) -> None:
    corpus = made(COSINES, texts=TEXTS)
    assert len(searched(corpus, "fireball")) == 3
    corpus.store.delete_record(corpus.store.record_ids()[0])
    assert len(searched(corpus, "fireball")) == 2


def test_a_corpus_that_is_too_large_is_refused_with_what_to_do(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole, "MOST_RECORDS", 2)
    with pytest.raises(InvalidInput, match=r"'plane' has 3 records.*fusion='minmax'"):
        searched(made(COSINES, texts=TEXTS), "fireball")


def test_weights_of_ones_own_and_an_empty_corpus(made: Made) -> None:
    corpus = made(COSINES, texts=TEXTS)
    assert searched(corpus, "fireball", alpha=0.0)[0].artifact_id == "three"
    assert searched(corpus, "fireball", alpha=1.0)[0].artifact_id == "two"


def test_results_say_where_their_score_comes_from(made: Made) -> None:
    corpus = made(COSINES, [("two", "one")], texts=TEXTS)
    found = retrieve(corpus, "fireball", fusion="minmax_corpus", graph="additive")
    assert len(found) == 3
    for one in found:
        assert one.score == pytest.approx(one.base_score + one.graph_boost)
        assert set(one.to_dict()) == {
            *("chunk", "score", "base_score", "graph_boost", "lexical_score", "semantic_score")
        }
    by_name = {one.chunk.artifact_id: one for one in found}
    assert by_name["one"].graph_boost == by_name["two"].graph_boost == pytest.approx(0.05)
    assert by_name["two"].semantic_score == pytest.approx(0.9, abs=1e-3)


def test_four_results_unless_told_otherwise(made: Made) -> None:
    corpus = made({str(number): 0.1 * number for number in range(8)})
    assert len(retrieve(corpus, "text")) == 4
    with pytest.raises(InvalidInput, match="graph_boost_source"):
        retrieve(corpus, "text", graph_boost_source="bottom")
