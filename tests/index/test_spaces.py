"""Several embeddings of one corpus: added beside the first, searched by name, made the default, dropped."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import ir
from ir.errors import EmbedderMismatch, InvalidInput
from ir.index.spaces import add_space, drop_space, use_space
from ir.sources import CorpusSource

from .conftest import Axes

SourceOf = Callable[..., CorpusSource]
NOTES = {"tea": "tea is steeped", "bread": "bread is baked", "soup": "soup is cooked"}


def test_a_second_model_adds_and_never_replaces(source_of: SourceOf) -> None:
    corpus = ir.build(source_of(NOTES), embedder=Axes(4, name="first"))
    before = [(hit.artifact_id, hit.score) for hit in corpus.search("tea please")]
    assert add_space(corpus, "second", embedder=Axes(6, name="other")) == 3
    assert corpus.store.spaces() == {"main": 4, "second": 6}
    assert [(hit.artifact_id, hit.score) for hit in corpus.search("tea please")] == before
    config = corpus.store.get_config()
    assert config["embedder_id"] == "first"
    assert config["spaces"]["second"]["embedder_id"] == "other"
    assert config["spaces"]["second"]["dim"] == 6


def test_only_what_is_missing_is_embedded(source_of: SourceOf) -> None:
    corpus = ir.build(source_of(NOTES), embedder=Axes(4, name="first"))
    add_space(corpus, "second", embedder=Axes(6, name="other"))
    changed = ir.build(source_of({**NOTES, "soup": "soup is stirred"}), embedder=Axes(4, name="first"))
    assert changed.report is not None
    assert changed.report.unembedded == {"second": 1}
    again = Axes(6, name="other")
    assert add_space(changed, "second", embedder=again) == 1
    assert sum(again.batches) == 1
    assert changed.store.unembedded(space="second") == []


def test_a_space_becomes_the_default_and_the_old_one_is_dropped(source_of: SourceOf) -> None:
    corpus = ir.build(source_of(NOTES), embedder=Axes(4, name="first"))
    add_space(corpus, "second", embedder=Axes(6, name="other"))
    use_space(corpus, "second")
    config = corpus.store.get_config()
    assert (corpus.store.default_space, config["embedder_id"], config["dim"]) == ("second", "other", 6)
    assert config["spaces"]["main"]["embedder_id"] == "first"
    opened = ir.open_corpus("notes", embedder=Axes(6, name="other"))
    assert opened.search("tea please")[0].artifact_id == "tea"
    drop_space(opened, "main")
    assert opened.store.spaces() == {"second": 6}
    assert "spaces" not in opened.store.get_config()
    unchanged = ir.build(source_of(NOTES), embedder=Axes(6, name="other")).report
    assert unchanged is not None
    assert (unchanged.embedded, unchanged.unchanged) == (0, list(NOTES))


def test_another_model_in_a_space_is_refused(source_of: SourceOf) -> None:
    corpus = ir.build(source_of(NOTES), embedder=Axes(4, name="first"))
    add_space(corpus, "second", embedder=Axes(6, name="other"))
    with pytest.raises(EmbedderMismatch, match=r"holds vectors of 'other'.* not of 'third'"):
        add_space(corpus, "second", embedder=Axes(6, name="third"))
    with pytest.raises(InvalidInput, match="no space 'nobody'"):
        use_space(corpus, "nobody")
    with pytest.raises(InvalidInput, match="is the default one"):
        drop_space(corpus, "main")


def test_a_build_with_another_model_keeps_what_did_not_change(source_of: SourceOf) -> None:
    corpus = ir.build(source_of(NOTES), embedder=Axes(4, name="first"))
    corpus.store.set_links("tea", {"ref": ["bread"]})
    ids = sorted(corpus.store.record_ids())
    moved = ir.build(source_of({**NOTES, "soup": "soup is stirred"}), embedder=Axes(6, name="other"))
    assert sorted(moved.store.record_ids()) == ids
    assert moved.store.spaces() == {"other": 6}
    assert moved.store.unembedded() == []
    assert moved.store.get_links("tea") == {"ref": ["bread"]}
    assert moved.search("soup is stirred")[0].artifact_id == "soup"
