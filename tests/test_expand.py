from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ir
from ir.base import Record, SearchHit, ledger_key
from ir.expand import DFLT_WINDOW, SeedNotFound, expand, overlap, parent_policy, sentence_window_policy, stitch
from ir.retrieve import NoLedgerEntry, records_for_artifact
from ir.store import CorpusStore


def record(index: int, text: str, kind: str = "chunk", artifact_id: str = "a", **metadata: Any) -> Record:
    key = Record.make_id(artifact_id, kind, index)
    return Record(key, artifact_id, kind, index, text, np.ones(2, dtype=np.float32), metadata)


def store_of(*records: Record) -> CorpusStore:
    store = CorpusStore.memory()
    store.put_records(records)
    for artifact_id in {each.artifact_id for each in records}:
        ids = [each.id for each in records if each.artifact_id == artifact_id]
        store.set_ledger_entry(ledger_key(artifact_id), {"artifact_id": artifact_id, "record_ids": ids})
    return store


def hit(index: int | None, kind: str = "chunk", artifact_id: str = "a") -> SearchHit:
    return SearchHit(artifact_id, kind, 0.7, "the hit's own text", {}, "notes", index)


@pytest.fixture
def store() -> CorpusStore:
    texts = ["zero zero", "one one", "two two", "three three", "four four"]
    chunks = [record(place + 1, text) for place, text in enumerate(texts)]
    return store_of(record(0, "about it", "description"), *chunks)


def test_the_default_is_a_window_of_one_to_each_side(store: CorpusStore) -> None:
    passage = expand(hit(3), store)
    assert DFLT_WINDOW == 1
    assert passage.text == "one one\ntwo two\nthree three"
    assert passage.record_ids == tuple(Record.make_id("a", "chunk", place) for place in (2, 3, 4))


def test_identity_and_score_are_the_hits_own(store: CorpusStore) -> None:
    passage = expand(hit(3), store)
    assert (passage.artifact_id, passage.surface_kind, passage.score) == ("a", "chunk", 0.7)
    assert (passage.source, passage.surface_index) == ("notes", 3)
    assert json.loads(json.dumps(passage.to_dict()))["record_ids"] == list(passage.record_ids)


@pytest.mark.parametrize(("k", "words"), [(0, "zero"), (1, "zero one"), (9, "zero one two three four")])
def test_a_window_stays_within_its_surface_kind(store: CorpusStore, k: int, words: str) -> None:
    passage = expand(hit(1), store, policy=sentence_window_policy(k))
    assert passage.text == "\n".join(f"{word} {word}" for word in words.split())


def test_the_parent_is_every_surface_in_plan_order(store: CorpusStore) -> None:
    passage = expand(hit(None), store, policy=parent_policy())
    assert passage.text.startswith("about it\n\nzero zero\none one")
    assert len(passage.record_ids) == 6


def test_what_a_policy_returns_is_put_in_order_and_once(store: CorpusStore) -> None:
    passage = expand(hit(3), store, policy=lambda seed, siblings: [siblings[4], siblings[1], siblings[1]])
    assert passage.text == "zero zero\n…\nthree three"


def test_a_policy_that_chooses_nothing_leaves_the_hits_own_text(store: CorpusStore) -> None:
    passage = expand(hit(3), store, policy=lambda seed, siblings: [])
    assert (passage.text, passage.record_ids) == ("the hit's own text", ())


def test_a_policy_may_not_bring_records_of_others(store: CorpusStore) -> None:
    with pytest.raises(ValueError, match="do not belong to 'a'"):
        expand(hit(3), store, policy=lambda seed, siblings: [record(0, "x", artifact_id="b")])


def test_hits_that_are_not_here(store: CorpusStore) -> None:
    with pytest.raises(NoLedgerEntry):
        expand(hit(1, artifact_id="unknown"), store)
    with pytest.raises(SeedNotFound, match="number 17"):
        expand(hit(17), store)
    with pytest.raises(SeedNotFound, match="number 1"):
        expand(hit(1, kind="description"), store)
    with pytest.raises(ValueError, match="has no surface_index"):
        expand(hit(None), store)
    store.delete_record(Record.make_id("a", "chunk", 2))
    with pytest.raises(KeyError, match="not stored"):
        expand(hit(1), store)


def test_a_negative_window_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 0"):
        sentence_window_policy(-1)


def test_stitching_by_offsets_repeats_nothing() -> None:
    text = "aaaa aaaa aaaa aaaa"  # offsets say what text alone cannot: how much of this overlaps
    pieces = [
        record(place, text[start:end], start=start, end=end) for place, (start, end) in enumerate([(0, 9), (5, 19)])
    ]
    assert stitch(pieces) == text


def test_stitching_without_offsets_finds_the_overlap() -> None:
    assert stitch([record(0, "the quick brown fox"), record(1, "brown fox jumps")]) == "the quick brown fox jumps"
    assert stitch([record(0, "it is so"), record(1, "so it is")]) == "it is so\nso it is"


def test_stitching_texts_that_were_trimmed_at_the_cut() -> None:
    text = "First paragraph.\n\nSecond paragraph."
    pieces = [record(0, text[:16], start=0, end=16), record(1, text[18:], start=18, end=len(text))]
    assert stitch(pieces) == "First paragraph.\nSecond paragraph."


def test_offsets_that_do_not_fit_the_text_are_not_believed() -> None:
    pieces = [record(0, "hello there", start=0, end=11), record(1, "general kenobi", start=5, end=19)]
    assert stitch(pieces) == "hello there\ngeneral kenobi"


def test_text_that_the_document_repeats_is_kept() -> None:
    again = [record(place, "Yes, that is right.") for place in range(3)]
    assert stitch(again) == "Yes, that is right.\nYes, that is right.\nYes, that is right."
    refrain = "Sing it again and again. "
    verses = [record(place, refrain, start=place * len(refrain), end=(place + 1) * len(refrain)) for place in range(3)]
    assert stitch(verses) == refrain * 3
    # The overlap is looked for in the neighbour alone, not across the line that joins it to what stands before.
    parts = [record(0, "one two"), record(1, "three"), record(2, "two\nthree four")]
    assert stitch(parts) == "one two\nthree\ntwo\nthree four"


def test_parts_that_do_not_touch_are_not_glued_together() -> None:
    apart = [record(0, "the quick brown fox"), record(4, "brown fox jumps")]
    assert stitch(apart) == "the quick brown fox\n…\nbrown fox jumps"
    left_out = [record(0, "Before.", start=0, end=7), record(1, "After.", start=400, end=406)]
    assert stitch(left_out) == "Before.\n…\nAfter."
    unbelieved = [record(0, "hello there", start=0, end=11), record(3, "there was more", start=5, end=19)]
    assert stitch(unbelieved) == "hello there\n…\nthere was more"


@given(st.text("ab", max_size=12), st.text("ab", max_size=12))
def test_the_overlap_is_the_longest(before: str, after: str) -> None:
    lengths = [n for n in range(min(len(before), len(after)) + 1) if before.endswith(after[:n])]
    assert overlap(before, after) == max(lengths)


@given(st.text(min_size=1, max_size=300), st.integers(5, 60), st.integers(0, 4))
def test_stitching_all_chunks_gives_the_text_back(text: str, size: int, shared: int) -> None:
    pieces: list[Record] = []
    start = 0
    while start < len(text):
        end = min(start + size, len(text))
        pieces.append(record(len(pieces), text[start:end], start=start, end=end))
        start = end if end == len(text) else end - shared
    assert stitch(pieces) == text


def words(texts: Sequence[str], *, input_type: str = "document") -> np.ndarray[Any, Any]:
    return np.array([[len(text), text.count("e") + 1, 1] for text in texts], dtype=np.float32)


def test_a_built_corpus_expands_to_its_own_text() -> None:
    text = " ".join(f"Sentence number {place} says something of its own." for place in range(60))
    source = ir.CorpusSource.from_mapping({"doc": text}, name="docs", strategy=ir.Chunked(chunk_size=300, overlap=60))
    corpus = ir.build(source, store=ir.CorpusStore.memory(), embedder=words)
    (found,) = corpus.search("sentence", k=1)
    siblings = records_for_artifact(corpus, "doc")
    assert len(siblings) > 5
    assert expand(found, corpus, policy=parent_policy()).text == text
    middle = replace(found, surface_index=siblings[3].surface_index)
    passage = ir.expand(middle, corpus)
    assert passage.text in text
    assert siblings[3].text in passage.text
    assert len(passage.record_ids) == 3
