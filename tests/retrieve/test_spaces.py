"""Searching in one of several spaces of vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import ir
from ir.base import Record
from ir.errors import EmbedderError, EmbedderMismatch, InvalidInput
from ir.retrieve import search

Make = Callable[[Any], ir.Corpus]
ROWS = [
    ("east", "document", "the lighthouse in the east", [1.0, 0.0], {}),
    ("north", "document", "ice and wind", [0.0, 1.0], {}),
    ("west", "document", "the harbour in the evening", [-1.0, 0.1], {}),
]
NORTH = np.array([0.0, 0.0, 1.0], dtype=np.float32)


class Three:
    """Everything that is asked points along the third axis."""

    id = fingerprint = "three"
    blend_alpha = 0.9

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: Any, *, input_type: str = "document") -> Any:
        self.asked += texts
        return np.array([NORTH for _ in texts])


def add_space(corpus: ir.Corpus, vectors: Mapping[str, Any], **settings: Any) -> None:
    """A space ``three`` with a vector for some of the artifacts."""
    store = corpus.store
    told = {"embedder": "custom", "embedder_id": "three", "fingerprint": "three", "dim": 3, **settings}
    with store.transaction():
        store.add_space("three")
        ids = {artifact: Record.make_id(artifact, "document", 0) for artifact in vectors}
        store.put_vectors("three", {ids[artifact]: np.array(vectors[artifact]) for artifact in vectors})
        store.set_config({**store.get_config(), "spaces": {"three": told}})


ALL = {"east": [1.0, 0.0, 0.0], "north": [0.0, 0.1, 1.0], "west": [0.5, 0.0, 0.5]}


def test_a_search_in_a_space_uses_its_vectors_and_its_embedder(corpus_of: Make) -> None:
    corpus, three = corpus_of(ROWS), Three()
    add_space(corpus, ALL)
    corpus.embedders["three"] = three
    hits = search(corpus, "1 0", space="three")
    assert [hit.artifact_id for hit in hits] == ["north", "west", "east"]
    assert three.asked == ["1 0"]
    assert (hits.meta["space"], hits.meta["notes"], hits.meta["degraded"]) == ("three", [], [])
    default = search(corpus, "1 0")
    assert [hit.artifact_id for hit in default] == ["east", "north", "west"]
    assert default.meta["space"] == corpus.store.default_space
    assert list(search(corpus, "1 0", space=corpus.store.default_space)) == list(default)
    assert three.asked == ["1 0"]
    assert search(corpus, "1 0", mode="lexical").meta["space"] is None


def test_hybrid_and_feedback_stay_in_the_space(corpus_of: Make) -> None:
    corpus = corpus_of(ROWS)
    add_space(corpus, ALL, alpha=0.9)
    corpus.embedders["three"] = Three()
    hits = search(corpus, "lighthouse", mode="hybrid", space="three", explain=True)
    assert hits[0].artifact_id == "north"
    assert hits[0].explanation is not None
    assert hits[0].explanation["shares"]["dense"] == pytest.approx(0.9 * hits[0].channels["dense"]["score"])
    moved = search(corpus, "lighthouse", mode="hybrid", space="three", feedback=0.5)
    assert moved[0].channels["dense"]["score"] == pytest.approx(hits[0].channels["dense"]["score"])


def test_feedback_reads_the_vectors_of_the_snapshot(corpus_of: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = corpus_of(ROWS)

    def refuse(record_id: str) -> Record:
        raise AssertionError("the store may be at another version")

    monkeypatch.setattr(corpus.store, "get_record", refuse)
    assert search(corpus, "1 0.5", feedback=0.5)[0].artifact_id == "east"


def test_a_space_that_is_not_there_is_refused_by_name(corpus_of: Make) -> None:
    corpus = corpus_of(ROWS)
    add_space(corpus, ALL)
    for mode in ("dense", "lexical", "hybrid"):
        with pytest.raises(InvalidInput, match=r"Unknown space 'tree'; use one of .*'three'.* Did you mean 'three'"):
            search(corpus, "1 0", space="tree", mode=mode)


def test_records_without_a_vector_are_counted_and_found_by_words(corpus_of: Make) -> None:
    corpus = corpus_of(ROWS)
    add_space(corpus, {"north": ALL["north"]})
    corpus.embedders["three"] = Three()
    hits = search(corpus, "lighthouse", mode="hybrid", space="three")
    assert {hit.artifact_id for hit in hits} == {"north", "east"}
    assert hits.meta["notes"] == ["2 of 3 records have no vector in the space 'three' yet; they are found by words."]
    assert hits.meta["degraded"] == []
    hits = search(corpus, "lighthouse", space="three")
    assert [hit.artifact_id for hit in hits] == ["north"]
    (note,) = hits.meta["notes"]
    assert note.endswith(
        "no vector in the space 'three' yet; they are not found here, but by words with mode='hybrid'."
    )
    assert search(corpus, "lighthouse", space="three", mode="lexical").meta["notes"] == []


def test_an_empty_space_is_told_as_degraded_and_asks_no_embedder(corpus_of: Make) -> None:
    corpus, three = corpus_of(ROWS), Three()
    add_space(corpus, {})
    corpus.embedders["three"] = three
    hits = search(corpus, "lighthouse", mode="hybrid", space="three")
    assert [hit.artifact_id for hit in hits] == ["east"]
    assert hits.meta["degraded"] == ["dense"]
    assert hits.meta["stages"][0] == {**hits.meta["stages"][0], "name": "channels", "ran": True, "degraded": True}
    assert hits.meta["notes"] == ["3 of 3 records have no vector in the space 'three' yet; they are found by words."]
    hits = search(corpus, "lighthouse", space="three")
    assert (list(hits), hits.meta["degraded"], three.asked) == ([], ["dense"], [])


def test_the_embedder_of_a_space_is_made_once_by_the_name_it_is_remembered_by() -> None:
    source = ir.CorpusSource.from_mapping({"tea": "green tea", "bread": "dark bread"}, name="n")
    corpus = ir.build(source, store=ir.CorpusStore.memory(), embedder=Three())
    light = ir.build(source, store=ir.CorpusStore.memory(), embedder="light")
    config = light.store.get_config()
    settings = {key: config[key] for key in ("embedder", "embedder_id", "fingerprint", "dim", "alpha")}
    with corpus.store.transaction():
        corpus.store.add_space("words")
        ids = light.store.record_ids()
        corpus.store.put_vectors("words", light.store.get_vectors(ids))
        corpus.store.set_config({**corpus.store.get_config(), "spaces": {"words": settings}})
    hits = corpus.search("tea", space="words")
    assert hits[0].score == light.search("tea")[0].score
    assert corpus.embedder_of("words") is corpus.embedder_of("words")


def test_an_embedder_of_your_own_has_to_be_given_and_to_fit(corpus_of: Make) -> None:
    corpus = corpus_of(ROWS)
    add_space(corpus, ALL)
    with pytest.raises(
        EmbedderError, match=r"'three' of 'plane' was made by an embedder.*corpus\.embedders\['three'\]"
    ):
        search(corpus, "1 0", space="three")
    corpus.embedders["three"] = "light"
    with pytest.raises(EmbedderMismatch, match="three"):
        search(corpus, "1 0", space="three")


def test_a_floor_of_the_default_space_does_not_refuse_in_another(corpus_of: Make) -> None:
    corpus = corpus_of(ROWS)
    add_space(corpus, ALL)
    corpus.embedders["three"] = Three()
    corpus.store.set_calibration("dense", {"min_score": 2.0, "embedder_id": "plane"})
    assert ir.discover(corpus, "1 0", mode="dense", min_score="auto").abstained
    with pytest.warns(
        UserWarning, match="No floor was applied. Floors are kept for the default space, and not for 'three'"
    ):
        found = ir.discover(corpus, "1 0", mode="dense", min_score="auto", space="three")
    assert found.ids[0] == "north"
    with pytest.raises(InvalidInput, match="calibrated with space cannot be saved"):
        ir.eval.calibrate_min_score(corpus, [], mode="dense", space="three", persist=True)
