"""Our BM25 is the one of the search engine beneath the embedded store."""

from __future__ import annotations

import random

import numpy as np
import pytest
import tantivy

from ir.store.bm25 import LENGTHS, Postings, idf, rounded_lengths, term_weights

LONG = [1, 2, 5, 23, 24, 25, 39, 40, 41, 43, 57, 100, 500, 3000]


def random_documents(seed: int, count: int) -> list[list[str]]:
    draw = random.Random(seed)
    return [
        [draw.choice("abcdefghij") * draw.randint(1, 4) for _ in range(length)]
        for length in draw.choices(LONG, k=count)
    ]


def tantivy_scores(documents: list[list[str]], terms: list[str]) -> dict[int, float]:
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("text", tokenizer_name="whitespace")
    schema.add_unsigned_field("number", stored=True)
    index = tantivy.Index(schema.build())
    writer = index.writer(heap_size=15_000_000, num_threads=1)
    for number, document in enumerate(documents):
        entry = tantivy.Document()
        entry.add_text("text", " ".join(document))
        entry.add_unsigned("number", number)
        writer.add_document(entry)
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    hits = searcher.search(index.parse_query(" ".join(terms), ["text"]), limit=len(documents)).hits
    return {searcher.doc(address)["number"][0]: score for score, address in hits}


@pytest.mark.parametrize("query", ["a", "bb ccc", "dddd a ee jjjj", "absent", "a absent"])
def test_scores_agree_with_tantivy(query: str) -> None:
    documents, terms = random_documents(7, 250), query.split()
    ours = Postings(documents).scores(dict.fromkeys(terms, 1.0))
    theirs = tantivy_scores(documents, terms)
    assert {number: ours[number] for number in theirs} == pytest.approx(theirs, abs=1e-4)
    assert set(np.flatnonzero(ours > 0).tolist()) == set(theirs)


def test_lengths_round_down_to_what_a_byte_holds() -> None:
    assert len(LENGTHS) == 256
    assert (np.diff(LENGTHS) > 0).all()
    assert rounded_lengths(range(41)).tolist() == list(range(41))
    assert rounded_lengths([41, 42, 43, 55, 56, 59, 60]).tolist() == [40, 42, 42, 54, 56, 56, 60]
    for length in (10**3, 10**5, 10**8):
        (rounded,) = rounded_lengths([length])
        assert 0.88 * length < rounded <= length


def test_a_weight_multiplies_a_term() -> None:
    postings = Postings([["a", "b"], ["b"]])
    assert postings.scores({"a": 3.0})[0] == pytest.approx(3 * postings.scores({"a": 1.0})[0])


def test_a_term_never_counts_against_a_document() -> None:
    assert idf(10, 10) > 0
    assert (Postings([["a"]] * 5).scores({"a": 1.0}) > 0).all()


def test_other_constants() -> None:
    counts, lengths = np.array([1.0, 4.0]), np.array([10.0, 1000.0])
    assert term_weights(counts, lengths, 50.0, k1=0.0).tolist() == [1.0, 1.0]
    flat = term_weights(counts, lengths, 50.0, b=0.0)
    assert flat.tolist() == pytest.approx([2.2 / 2.2, 2.2 * 4 / 5.2])


def test_stats() -> None:
    stats = Postings([["a", "a", "b"], ["b"]]).stats(["a", "b", "c"])
    assert stats == (2, 2.0, {"a": 1, "b": 2, "c": 0})


def test_nothing_to_score() -> None:
    assert Postings([]).scores({"a": 1.0}).shape == (0,)
    assert Postings([[], []]).scores({"a": 1.0}).tolist() == [0, 0]
