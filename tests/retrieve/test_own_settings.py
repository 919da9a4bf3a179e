"""What a corpus brings to its searches: its own weight of the dense channel; and feedback on request."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

import ir
from ir.errors import EmbedderError, InvalidInput
from ir.options import SearchOptions
from ir.retrieve import search
from ir.retrieve.weighing import TERMS_PER_TOKEN, TERMS_PER_TOKEN_OF_NONE, share_read

TEXTS = {"east": "sunrise over the harbour", "north": "ice on the window", "west": "evening light", "far": "a letter"}
VECTORS = {"sunrise": (1.0, 0.0), "ice": (0.0, 1.0), "evening": (0.8, 0.6), "a": (-1.0, 0.1), "sun": (0.7, 0.75)}


class Compass:
    """Two dimensions, by the first word of a text."""

    id = fingerprint = "compass"

    def __init__(self, blend_alpha: object = None) -> None:
        self.blend_alpha = blend_alpha

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> NDArray[np.float32]:
        return np.array([VECTORS[text.split()[0]] for text in texts], dtype=np.float32)


def corpus(blend_alpha: object = None) -> ir.Corpus:
    source = ir.CorpusSource.from_mapping(TEXTS, name="compass")
    return ir.build(source, store=ir.CorpusStore.memory(), embedder=Compass(blend_alpha))


def test_the_default_weight_is_one_half_and_looks_like_it() -> None:
    assert inspect.signature(search).parameters["alpha"].default == 0.5
    assert SearchOptions().alpha == 0.5


def test_an_embedder_brings_its_weight_into_the_corpus() -> None:
    own = corpus(0.2)
    assert own.store.get_config()["alpha"] == 0.2
    assert "alpha" not in corpus().store.get_config()


def test_a_search_uses_the_weight_of_the_corpus_unless_told_otherwise() -> None:
    own, plain = corpus(0.2), corpus()
    query = "sun light"

    def scores(of: ir.Corpus, **options: float) -> list[float]:
        return [hit.score for hit in of.search(query, mode="hybrid", **options)]

    assert scores(own) == scores(plain, alpha=0.2) != scores(plain)
    assert scores(own, alpha=0.5) == scores(plain)


class ShortSighted(Compass):
    """Reads no more of a text than its first tokens."""

    def __init__(self, max_tokens: object, blend_alpha: object = None) -> None:
        super().__init__(blend_alpha)
        self.max_tokens = max_tokens


def long_texts(max_tokens: object, blend_alpha: object = None) -> ir.Corpus:
    """Records of twenty terms each."""
    texts = {name: f"{word} " + "harbour light " * 9 + "evening" for name, word in zip("nesw", VECTORS, strict=False)}
    source = ir.CorpusSource.from_mapping(texts, name="compass")
    return ir.build(source, store=ir.CorpusStore.memory(), embedder=ShortSighted(max_tokens, blend_alpha))


@pytest.mark.parametrize("fusion", ["blend", "minmax", "dbsf"])
@pytest.mark.parametrize("own", [None, 0.3])
def test_vectors_of_texts_that_were_not_read_to_the_end_count_less(own: float | None, fusion: str) -> None:
    built = long_texts(10, own)
    with built.store.snapshot() as snapshot:
        share = share_read(snapshot, built.embedder)
        average = snapshot.term_stats(()).average_length
        assert share == pytest.approx(TERMS_PER_TOKEN * 10 / average)
        with_stop_words = share_read(snapshot, built.embedder, "none")
        assert with_stop_words == pytest.approx(TERMS_PER_TOKEN_OF_NONE * 10 / average)
    assert 0.2 < share < 0.4
    hits = built.search("sun light", mode="hybrid", fusion=fusion, explain=True)
    same = built.search("sun light", mode="hybrid", fusion=fusion, alpha=(own or 0.5) * share, explain=True)
    assert [hit.score for hit in hits] == [hit.score for hit in same]
    assert [hit.explanation for hit in hits] == [hit.explanation for hit in same]
    told = [hit.score for hit in built.search("sun light", mode="hybrid", fusion=fusion, alpha=own or 0.5)]
    assert told != [hit.score for hit in hits]


@pytest.mark.parametrize("max_tokens", [None, 0, -1, 512, "many"])
def test_who_reads_it_all_or_does_not_tell_counts_in_full(max_tokens: object) -> None:
    built = long_texts(max_tokens)
    told = built.search("sun light", mode="hybrid", alpha=0.5)
    assert [hit.score for hit in built.search("sun light", mode="hybrid")] == [hit.score for hit in told]


def test_another_embedder_takes_its_weight_along() -> None:
    own = corpus(0.2)
    source = ir.CorpusSource.from_mapping(TEXTS, name="compass")
    ir.build(source, store=own.store, embedder=Compass())
    assert "alpha" not in own.store.get_config()


def test_a_weight_that_is_none_is_refused_before_anything_is_kept() -> None:
    with pytest.raises(EmbedderError, match="blend_alpha"):
        corpus("much")


def test_the_light_and_the_static_embedder_count_less_than_words() -> None:
    from ir.embed import LightEmbedder
    from ir.embed.static import StaticEmbedder

    assert LightEmbedder.blend_alpha < StaticEmbedder.blend_alpha < 0.5


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_feedback_moves_the_query_towards_its_first_results(mode: str) -> None:
    built = corpus()
    plain = built.search("sun", mode=mode, k=4)
    moved = built.search("sun", mode=mode, k=4, feedback=1.0)
    assert [hit.artifact_id for hit in plain][:2] == ["west", "north"]
    before, after = ({hit.artifact_id: hit.score for hit in hits} for hits in (plain, moved))
    assert after["north"] > before["north"]


def test_feedback_leaves_the_raw_scores_those_of_the_query() -> None:
    built = corpus()

    def cosines(**options: float) -> dict[str, float]:
        hits = built.search("sun", mode="dense", k=4, **options)
        return {hit.artifact_id: hit.channels["dense"]["score"] for hit in hits}

    assert cosines(feedback=0.7) == pytest.approx(cosines())


def test_feedback_means_nothing_to_a_lexical_search() -> None:
    built = corpus()
    plain = built.search("sunrise", mode="lexical")
    assert [hit.score for hit in built.search("sunrise", mode="lexical", feedback=1.0)] == [hit.score for hit in plain]


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan"), "much"])
def test_feedback_is_a_share(value: object) -> None:
    with pytest.raises(InvalidInput, match="feedback"):
        corpus().search("sun", feedback=value)
