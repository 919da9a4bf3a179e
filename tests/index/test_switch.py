"""Another model: the new index is made aside, searches go on with the old one, and then all see the new one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ir
from ir.errors import EmbedderError, EmbedderMismatch
from ir.sources import CorpusSource

from .conftest import Axes

SourceOf = Callable[..., CorpusSource]
NOTES = {"tea": "tea is steeped", "bread": "bread is baked", "soup": "soup is cooked"}


class Watched(Axes):
    """A new model that, each time it embeds, looks how the corpus answers meanwhile."""

    def __init__(self, look: Callable[[], Any], fail: bool = False) -> None:
        super().__init__(6, name="new")
        self.look = look
        self.fail = fail
        self.seen: list[Any] = []

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if len(texts) > 1:
            self.seen.append(self.look())
            if self.fail:
                raise EmbedderError("The new model is gone.")
        return super().__call__(texts)


def answers(embedder: Axes) -> list[tuple[str, float]]:
    corpus = ir.open_corpus("notes", embedder=embedder)
    return [(hit.artifact_id, round(hit.score, 4)) for hit in ir.search(corpus, "tea please", mode="hybrid")]


def test_searches_go_on_with_the_old_model_until_the_new_index_is_whole(source_of: SourceOf) -> None:
    old = Axes(4, name="old")
    ir.build(source_of(NOTES), embedder=old)
    before = answers(old)
    new = Watched(lambda: answers(old))
    with ir.open_corpus("notes", embedder=old).store.snapshot() as held:
        ir.build(source_of(NOTES), embedder=new)
        assert held.dim == 4  # who holds the old version reads it to the end
    assert new.seen
    assert all(seen == before for seen in new.seen)
    assert answers(Axes(6, name="new"))[0][0] == "tea"
    with pytest.raises(EmbedderMismatch, match="old"):
        answers(old)


def test_a_switch_that_fails_leaves_the_old_index(source_of: SourceOf) -> None:
    old = Axes(4, name="old")
    ir.build(source_of(NOTES), embedder=old)
    before = answers(old)
    with pytest.raises(EmbedderError, match="is gone"):
        ir.build(source_of(NOTES), embedder=Watched(lambda: None, fail=True))
    assert answers(old) == before


def test_going_back_to_a_model_costs_no_embedding(source_of: SourceOf) -> None:
    ir.build(source_of(NOTES), embedder=Axes(4, name="old"))
    ir.build(source_of(NOTES), embedder=Axes(6, name="new"))
    again = Axes(4, name="old")
    ir.build(source_of(NOTES), embedder=again)
    assert sum(again.batches) == 0
    assert answers(again)[0][0] == "tea"


def test_two_corpora_share_the_vectors_of_equal_texts(source_of: SourceOf) -> None:
    ir.build(source_of(NOTES), embedder=Axes(4, name="old"))
    second = Axes(4, name="old")
    other = CorpusSource.from_mapping({**NOTES, "more": "more is new"}, name="other")
    ir.build(other, embedder=second)
    assert sum(second.batches) == 1
