"""Opening a built corpus: by name or folder, without loading a model, and only with the right one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ir.config import corpus_dir
from ir.errors import CorpusNotBuilt, EmbedderError, EmbedderMismatch, InvalidInput
from ir.index import build, build_corpus, open_corpus
from ir.registry import register
from ir.sources import CorpusSource

from .conftest import Axes

SourceOf = Callable[..., CorpusSource]
NOTES = {"tea": "steep it in hot water", "bread": "knead the dough"}


def test_a_built_corpus_opens_by_name_and_by_folder(source_of: SourceOf) -> None:
    built = build(source_of(NOTES))
    for address in ("notes", corpus_dir("notes"), str(corpus_dir("notes"))):
        corpus = open_corpus(address)
        assert (corpus.name, corpus.embedder_id, corpus.report) == ("notes", built.embedder_id, None)
        assert corpus.search("hot tea water", mode="hybrid")[0].artifact_id == "tea"


def test_a_corpus_never_built_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(CorpusNotBuilt, match="Build it with: ir build missing"):
        open_corpus("missing")
    with pytest.raises(CorpusNotBuilt):
        open_corpus(tmp_path)
    with pytest.raises(InvalidInput, match="empty"):
        open_corpus(" ")
    assert not corpus_dir("missing").exists()


def test_opening_and_searching_words_needs_no_model(source_of: SourceOf) -> None:
    calls = Axes(name="mine")
    build(source_of(NOTES), embedder=calls)
    corpus = open_corpus("notes")
    assert corpus.search("dough", mode="lexical")[0].artifact_id == "bread"
    with pytest.raises(EmbedderError, match=r"open_corpus\('notes', embedder=…\)"):
        corpus.search("dough")


def test_an_embedder_of_ones_own_is_passed_again(source_of: SourceOf) -> None:
    build(source_of(NOTES), embedder=Axes(name="mine"))
    hits = open_corpus("notes", embedder=Axes(name="mine")).search("steep it in hot water")
    assert hits[0].artifact_id == "tea"


def test_another_embedder_is_refused_at_once(source_of: SourceOf) -> None:
    build(source_of(NOTES), embedder=Axes(name="mine"))
    with pytest.raises(EmbedderMismatch, match=r"built with the embedder 'mine'.*mode='lexical'.*again"):
        open_corpus("notes", embedder=Axes(name="other"))


def test_the_same_name_with_other_vectors_is_found_out(source_of: SourceOf) -> None:
    build(source_of(NOTES), embedder=Axes(4))
    corpus = open_corpus("notes", embedder=Axes(4, scale=-3.0))
    with pytest.raises(EmbedderMismatch, match="fingerprint"):
        corpus.search("tea")


def test_an_opened_embedder_builds_again(source_of: SourceOf) -> None:
    build(source_of(NOTES))
    opened = open_corpus("notes")
    report = build(source_of({**NOTES, "soup": "boil it"}), embedder=opened.embedder).report
    assert report is not None
    assert (report.added, report.unchanged) == (["soup"], list(NOTES))
    assert open_corpus("notes").store.get_config()["embedder"] == "light"


def test_a_registered_corpus_is_built_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Tea\n\nsteep it\n")
    register("docs", "files", root=str(tmp_path), embedder="light")
    corpus = build_corpus("docs")
    assert corpus.report is not None
    assert len(corpus.report.added) == 1
    assert open_corpus("docs").search("tea", mode="hybrid")
