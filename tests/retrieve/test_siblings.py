"""Reaching all records of an artifact, and a corpus as a callable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ir
from ir.base import ledger_key
from ir.retrieve import NoLedgerEntry, as_retriever, records_for_artifact

Make = Callable[[Any], ir.Corpus]
ROWS = [
    ("pack", "description", "a parser", [1.0, 0.0], {}),
    ("pack", "readme_chunk", "first part", [0.0, 1.0], {"chunk_index": 0}),
    ("pack", "readme_chunk", "second part", [0.5, 1.0], {"chunk_index": 1}),
    ("other", "description", "a printer", [1.0, 0.2], {}),
]


def test_records_come_in_plan_order_and_by_kind(corpus_of: Make) -> None:
    corpus = corpus_of(ROWS)
    assert [record.text for record in records_for_artifact(corpus, "pack")] == ["a parser", "first part", "second part"]
    chunks = records_for_artifact(corpus.store, "pack", surface_kind="readme_chunk")
    assert [record.surface_index for record in chunks] == [1, 2]
    assert records_for_artifact(corpus, "other", surface_kind="readme_chunk") == []


def test_unknown_artifacts_and_stale_ledgers_are_told_apart(corpus_of: Make) -> None:
    corpus = corpus_of(ROWS)
    with pytest.raises(NoLedgerEntry, match="'nobody'"):
        records_for_artifact(corpus, "nobody")
    corpus.store.delete_record(records_for_artifact(corpus, "pack")[1].id)
    with pytest.raises(KeyError, match="is not stored") as caught:
        records_for_artifact(corpus, "pack")
    assert not isinstance(caught.value, NoLedgerEntry)


def test_what_a_stale_ledger_advises_helps(store: ir.CorpusStore) -> None:
    source = ir.CorpusSource.from_mapping({"a": "some text", "b": "more"}, name="own", embedder="light")
    corpus = ir.build(source, store=store)
    store.delete_record(records_for_artifact(corpus, "a")[0].id)
    with pytest.raises(KeyError, match="Remove the entry with delete_ledger_entry") as caught:
        records_for_artifact(ir.build(source, store=store), "a")
    assert ledger_key("a") in str(caught.value)
    store.delete_ledger_entry(ledger_key("a"))
    assert [record.text for record in records_for_artifact(ir.build(source, store=store), "a")] == ["some text"]


def test_a_retriever_binds_defaults_that_a_call_may_override(corpus_of: Make) -> None:
    corpus = corpus_of(ROWS)
    retrieve = as_retriever(corpus, k=1)
    assert retrieve.corpus is corpus
    assert len(retrieve("1 0")) == 1
    assert len(retrieve("1 0", k=2)) == 2
