from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ir
from ir.base import SearchHit
from ir.select import discover

MakeCorpus = Callable[..., ir.Corpus]


def pairs(result: ir.DiscoveryResult) -> list[tuple[str | None, str]]:
    return [(shown.source, shown.artifact_id) for shown in result.results]


def test_several_corpora_are_searched_and_every_result_names_its_own(kitchen: ir.Corpus, office: ir.Corpus) -> None:
    result = discover([kitchen, office], "deploy tea to the server", rel=0.0)
    assert {source for source, _ in pairs(result)} == {"kitchen", "office"}
    per_source = result.signals["per_source"]
    assert list(per_source) == ["kitchen", "office"]
    assert per_source["kitchen"]["n_retrieved"] == 4
    assert per_source["office"]["n_retrieved"] == 3
    assert result.n_retrieved == 7
    assert per_source["office"]["top_score"] > 0
    assert per_source["office"]["floor"] is None
    assert per_source["office"]["abstained"] is False
    assert (result.signals["merge"], result.signals["merge_rrf_k"]) == ("rrf", 60)
    json.dumps(result.to_dict())


def test_a_weak_source_does_not_crowd_out_a_strong_one(kitchen: ir.Corpus, office: ir.Corpus) -> None:
    for order in ([kitchen, office], [office, kitchen]):
        assert pairs(discover(order, "tea water"))[0] == ("kitchen", "brew")
        assert {source for source, _ in pairs(discover(order, "deploy server"))} == {"office"}


def test_a_strong_source_survives_many_weak_ones(make_corpus: MakeCorpus, kitchen: ir.Corpus) -> None:
    weak = [make_corpus({"x": "cat", "y": "dog cat", "z": "dog"}, f"weak{place}") for place in range(6)]
    assert pairs(discover([*weak, kitchen], "tea water")) == [("kitchen", "brew")]


def test_sources_of_different_models_are_compared_by_rank_alone(make_corpus: MakeCorpus, kitchen: ir.Corpus) -> None:
    other = make_corpus({"cup": "a cup of tea", "pets": "cat dog"}, "other", embedder_id="another")
    result = discover([kitchen, other], "tea")
    assert pairs(result) == [("kitchen", "brew"), ("other", "cup")]


def test_the_same_id_in_two_corpora_is_two_results(make_corpus: MakeCorpus) -> None:
    one, two = make_corpus({"a": "tea"}, "one"), make_corpus({"a": "tea"}, "two")
    assert pairs(discover([one, two], "tea")) == [("one", "a"), ("two", "a")]


def test_a_list_of_one_passes_its_scores_through(kitchen: ir.Corpus) -> None:
    alone = discover(kitchen, "tea")
    listed = discover([kitchen], "tea")
    assert pairs(listed) == pairs(alone)
    assert listed.results[0].score == pytest.approx(alone.results[0].score)


def test_floors_gate_each_source_before_merging(kitchen: ir.Corpus, office: ir.Corpus) -> None:
    result = discover([kitchen, office], "tea water", rel=0.0, max_k=9, min_score={"office": 0.4})
    assert {source for source, _ in pairs(result)} == {"kitchen"}
    office_signals = result.signals["per_source"]["office"]
    assert office_signals["abstained"] is True
    assert office_signals["floor"] == 0.4
    assert result.signals["per_source"]["kitchen"]["floor"] is None
    none = discover([kitchen, office], "tea water", min_score={"office": 99.0, "kitchen": 99.0})
    assert (none.abstained, none.reason) == (True, "abstain:below_floor")


def test_auto_uses_each_sources_own_calibration(kitchen: ir.Corpus, office: ir.Corpus) -> None:
    record = {
        "min_score": 0.5,
        "signal": "dense",
        "embedder_id": kitchen.embedder_id,
        "curve": [[0.2, 0.1], [0.9, 0.9]],
        "error_rate": 0.05,
    }
    kitchen.store.set_calibration("hybrid", record)
    with pytest.warns(UserWarning, match="'office'"):
        half = discover([kitchen, office], "tea water", min_score="auto")
    assert half.answerable is None
    assert half.signals["per_source"]["kitchen"]["floor"] == 0.5
    assert half.signals["per_source"]["office"]["floor"] is None
    office.store.set_calibration("hybrid", record)
    result = discover([kitchen, office], "tea water", min_score="auto")
    assert result.signals["per_source"]["office"]["abstained"] is True
    assert {source for source, _ in pairs(result)} == {"kitchen"}
    assert result.answerable is not None
    assert result.answerable["source"] == "kitchen"
    office.store.set_calibration("hybrid", {**record, "kind": "probes"})
    shares = discover([kitchen, office], "deploy the server", min_score="auto").answerable
    assert shares is not None
    assert (shares["source"], shares["probability"]) == ("office", None)
    mixed = discover([kitchen, office], "tea water", min_score={"office": "auto", "kitchen": None})
    assert mixed.signals["per_source"]["office"]["floor"] == 0.5


def test_merging_by_score(kitchen: ir.Corpus, office: ir.Corpus, make_corpus: MakeCorpus) -> None:
    for fusion in ("blend", "rrf"):
        result = discover([office, kitchen], "tea water", merge="score", fusion=fusion, rel=0.0, max_k=9)
        scores = [shown.score for shown in result.results]
        assert pairs(result)[0] == ("kitchen", "brew")
        assert scores == sorted(scores, reverse=True)
    foreign = make_corpus({"a": "tea"}, "foreign", embedder_id="another")
    with pytest.raises(ValueError, match=r"different embedders.*'foreign': 'another'"):
        discover([kitchen, foreign], "tea", merge="score")


def test_merging_by_a_callable(kitchen: ir.Corpus, office: ir.Corpus) -> None:
    def backwards(found: Mapping[str, Sequence[SearchHit]]) -> list[SearchHit]:
        assert set(found) == {"kitchen", "office"}
        return [hit for hits in reversed(list(found.values())) for hit in hits]

    result = discover([kitchen, office], "tea server", merge=backwards, strategy="top_k", max_k=1)
    assert pairs(result)[0][0] == "office"
    assert result.signals["merge"] == "backwards"
    nothing = discover([kitchen, office], "tea", merge=backwards, min_score={"kitchen": 99.0, "office": 99.0})
    assert nothing.abstained
    with pytest.raises(ValueError, match="must return search hits"):
        discover([kitchen, office], "tea", merge=lambda found: ["brew"])


def test_weights_and_the_rank_constant(kitchen: ir.Corpus, office: ir.Corpus) -> None:
    both = [kitchen, office]
    first = discover(both, "tea server", strategy="top_k", merge_weights={"office": 3.0})
    assert pairs(first)[0][0] == "office"
    assert discover(both, "tea server", merge_rrf_k=5).signals["merge_rrf_k"] == 5
    assert discover(both, "tea server", merge_rrf_k=5, strategy="top_k").results[0].score == pytest.approx(1 / 6)


@pytest.mark.parametrize("embedder_id", ["words", "another"])
def test_merge_weights_decide_what_is_committed_to(make_corpus: MakeCorpus, embedder_id: str) -> None:
    one = make_corpus({"a": "tea water"}, "one")
    two = make_corpus({"b": "tea water"}, "two", embedder_id=embedder_id)
    assert pairs(discover([one, two], "tea water")) == [("one", "a"), ("two", "b")]
    assert pairs(discover([one, two], "tea water", merge_weights={"one": 0.5})) == [("two", "b")]
    assert pairs(discover([one, two], "tea water", merge_weights={"one": 2.0})) == [("one", "a")]
    mild = discover([one, two], "tea water", merge_weights={"one": 0.95})
    assert pairs(mild) == [("two", "b"), ("one", "a")]
    none = discover([one, two], "tea water", merge_weights={"one": 0.0, "two": 0.0})
    assert len(none.results) == 2, "equal weights change nothing"


def test_a_merge_that_does_not_exist_is_refused_for_one_corpus_too(kitchen: ir.Corpus) -> None:
    with pytest.raises(ValueError, match="Unknown merge 'nonsense'; use one of 'rrf', 'score'"):
        discover(kitchen, "tea", merge="nonsense")


def test_the_fused_ranking_is_cut_to_k(kitchen: ir.Corpus, office: ir.Corpus) -> None:
    result = discover([kitchen, office], "tea server", k=2, strategy="top_k", max_k=9)
    assert len(result.ids) == 2
    assert result.n_retrieved == 4


def test_a_surface_that_only_some_have_is_asked_of_those(make_corpus: MakeCorpus, kitchen: ir.Corpus) -> None:
    books = make_corpus({"book": "tea " * 50}, "books", strategy=ir.Chunked(chunk_size=100, overlap=0))
    result = discover([kitchen, books], "tea", surfaces=["chunk"])
    assert pairs(result) == [("books", "book")]
    assert "has no surface 'chunk'" in result.signals["per_source"]["kitchen"]["notes"][0]
    with pytest.raises(ValueError, match="Unknown surface 'chapter'"):
        discover([kitchen, books], "tea", surfaces=["chapter"])


def test_a_surface_that_only_some_have_is_weighed_in_those(make_corpus: MakeCorpus, kitchen: ir.Corpus) -> None:
    books = make_corpus({"book": "tea " * 50}, "books", strategy=ir.Chunked(chunk_size=100, overlap=0))
    empty = make_corpus({}, "empty")
    plain, weighed = (
        discover([kitchen, books, empty], "tea", merge="score", strategy="top_k", surface_weights=weights)
        for weights in (None, {"chunk": 100.0})
    )
    assert plain.ids[0] == "brew"
    assert weighed.ids[0] == "book"
    assert "book" in discover([kitchen, books], "tea", surfaces=["chunk"], surface_weights={"document": 2}).ids
    with pytest.raises(ValueError, match="Unknown surface 'chapter'; use one of 'chunk', 'document'"):
        discover([kitchen, books], "tea", surface_weights={"chapter": 2})
    with pytest.raises(ValueError, match="surface_weights must be a mapping"):
        discover([kitchen, books], "tea", surface_weights=["chunk"])


def test_passages_come_from_each_hits_own_corpus(kitchen: ir.Corpus, office: ir.Corpus) -> None:
    result = discover([kitchen, office], "tea server deploy water", rel=0.0, expand=ir.parent_policy())
    assert {source for source, _ in pairs(result)} == {"kitchen", "office"}
    assert all(shown.passage == shown.summary for shown in result.results)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_score": 0.4}, "cannot be the floor of several corpora"),
        ({"min_score": 1}, "cannot be the floor of several corpora"),
        ({"min_score": {"attic": 0.4}}, "names 'attic', but the sources are 'kitchen', 'office'"),
        ({"min_score": {"office": "high"}}, "must be a number, 'auto' or None"),
        ({"merge_weights": {"attic": 1.0}}, "names 'attic'"),
        ({"merge_weights": {"office": -1.0}}, "at least 0"),
        ({"merge_weights": {"office": "much"}}, "finite number"),
        ({"merge": "vote"}, "Unknown merge"),
        ({"merge": "score", "merge_weights": {"office": 1.0}}, "belong to merge='rrf'"),
        ({"merge_rrf_k": 0}, "merge_rrf_k must be"),
        ({"strategy": "abs_threshold"}, "needs one corpus"),
        ({"strategy": "boldest"}, "Unknown selection strategy"),
    ],
)
def test_bad_input_is_refused(kitchen: ir.Corpus, office: ir.Corpus, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        discover([kitchen, office], "tea", **options)


def test_sources_need_names_of_their_own(kitchen: ir.Corpus) -> None:
    with pytest.raises(ValueError, match="given twice"):
        discover([kitchen, kitchen], "tea")
    with pytest.raises(ValueError, match="at least one corpus"):
        discover([], "tea")


texts = st.lists(st.sampled_from(["tea", "tea water", "bread", "cat", "song", "server tea"]), min_size=1, max_size=4)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(contents=st.lists(texts, min_size=2, max_size=3), merge=st.sampled_from(["rrf", "score"]), data=st.data())
def test_the_order_of_sources_decides_nothing_but_ties(
    make_corpus: MakeCorpus, contents: list[list[str]], merge: str, data: st.DataObject
) -> None:
    corpora = [
        make_corpus({f"{name}{place}": text for place, text in enumerate(docs)}, name)
        for name, docs in zip("abc", contents, strict=False)
    ]
    shuffled = data.draw(st.permutations(corpora))
    options: dict[str, Any] = {"merge": merge, "strategy": "top_k", "k": 50, "max_k": 50}
    one = discover(corpora, "tea water", **options)
    two = discover(shuffled, "tea water", **options)
    # Equal scores are a documented tie, broken by the caller's order: compare what stands at each score.
    for first, second in zip(_by_score(one), _by_score(two), strict=True):
        assert first == second
    assert sorted(pairs(one), key=str) == sorted(pairs(two), key=str)


def _by_score(result: ir.DiscoveryResult) -> list[tuple[float, frozenset[tuple[str | None, str]]]]:
    groups = itertools.groupby(result.results, key=lambda shown: round(shown.score, 9))
    return [(score, frozenset((shown.source, shown.artifact_id) for shown in group)) for score, group in groups]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(contents=st.lists(texts, min_size=2, max_size=5), merge=st.sampled_from(["rrf", "score"]))
def test_no_weak_hit_is_kept_and_the_strongest_is_not_crowded_out(
    make_corpus: MakeCorpus, contents: list[list[str]], merge: str
) -> None:
    corpora = [
        make_corpus({f"{name}{place}": text for place, text in enumerate(docs)}, name)
        for name, docs in zip("abcde", contents, strict=False)
    ]
    bests = [discover(corpus, "tea water", max_k=1).results[0].score for corpus in corpora]
    kept = discover(corpora, "tea water", merge=merge).results
    strengths = [shown.metadata.get("source_score", shown.score) for shown in kept]
    assert min(strengths) >= 0.9 * max(bests) - 1e-9
    if len(corpora) <= 3:  # among more than max_k sources that are about as strong, ranks and order decide
        assert max(strengths) == pytest.approx(max(bests))


def test_a_source_without_hits_has_abstained(kitchen: ir.Corpus, office: ir.Corpus) -> None:
    result = discover([kitchen, office], "deploy", mode="lexical")
    per_source = result.signals["per_source"]
    assert (per_source["kitchen"]["n_retrieved"], per_source["kitchen"]["abstained"]) == (0, True)
    assert per_source["office"]["abstained"] is False
