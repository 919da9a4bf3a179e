"""Half a surrogate pair, as a cut emoji leaves one, is no reason to lose an item or a build."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ir import Corpus, CorpusSource, CorpusStore, build

HALF = "cut emoji \ud83d"
WHOLE = "cut emoji \ufffd"


def twice_built(source: CorpusSource, store: CorpusStore) -> Corpus:
    """A corpus in which the second build found nothing to do."""
    corpus = build(source, store=store)
    assert corpus.report is not None
    assert (corpus.report.skipped, corpus.report.failed) == ([], [])
    again = build(source, store=store).report
    assert again is not None
    assert (again.added, again.changed, again.removed) == ([], [], [])
    return corpus


def test_in_a_chat(store: CorpusStore, tmp_path: Path) -> None:
    turns = [{"role": "user", "content": HALF, "cwd": HALF}, {"role": "assistant", "content": f"an answer {HALF}"}]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    corpus = twice_built(CorpusSource.from_sessions(tmp_path, embedder="light"), store)
    (hit,) = corpus.search("emoji answer", mode="hybrid")
    assert (hit.metadata["title"], hit.metadata["project"]) == (WHOLE, WHOLE)


def test_in_a_field_of_a_record(store: CorpusStore, tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_text(json.dumps({"id": "a", "text": "ok", "f": HALF, HALF: [HALF]}) + "\n")
    corpus = twice_built(CorpusSource.from_jsonl(tmp_path / "r.jsonl", embedder="light"), store)
    (hit,) = corpus.search("ok", mode="lexical", filter={"f": WHOLE})
    assert (hit.metadata["f"], hit.metadata[WHOLE]) == (WHOLE, [WHOLE])


@pytest.mark.parametrize("query", ["tea", f"tea {HALF}"])
@pytest.mark.parametrize("mode", ["lexical", "dense", "hybrid"])
def test_in_an_id(store: CorpusStore, query: str, mode: str) -> None:
    items: dict[str, Any] = {HALF: "green tea", "b": {"text": "black tea", "title": HALF}}
    corpus = twice_built(CorpusSource.from_mapping(items, name="m", embedder="light"), store)
    assert {hit.artifact_id for hit in corpus.search(query, mode=mode)} == {WHOLE, "b"}
    del items[HALF]
    report = build(CorpusSource.from_mapping(items, name="m", embedder="light"), store=store).report
    assert report is not None
    assert report.removed == [WHOLE]


def test_ids_that_differ_in_nothing_else_are_said_to_be_one(store: CorpusStore) -> None:
    source = CorpusSource.from_mapping({f"a{half}": "x" for half in "\ud800\ud801"}, name="m", embedder="light")
    report = build(source, store=store).report
    assert report is not None
    assert (report.added, [problem.id for problem in report.skipped]) == (["a\ufffd"], ["a\ufffd"])
