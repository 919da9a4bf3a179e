"""What ``ir.search`` promises, on every store."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import ir
from ir.base import SearchHit
from ir.errors import EmbedderMismatch, InvalidInput, RerankError
from ir.retrieve import search
from ir.store import LocalStore

Make = Callable[[Any], ir.Corpus]

ROWS = [
    ("east", "document", "the lighthouse keeper reads getUserName aloud", [1.0, 0.0], {"zone": "a", "n": 1}),
    ("north", "document", "a lighthouse on the northern cliffs", [0.0, 1.0], {"zone": "b", "n": 2}),
    ("between", "document", "paths and gardens", [0.7, 0.7], {"zone": "a", "n": 3}),
    ("west", "note", "an old quarry", [-1.0, 0.0], {"zone": "b", "n": 4}),
]


def ids(hits: Sequence[ir.SearchHit]) -> list[str]:
    return [hit.artifact_id for hit in hits]


def test_dense_is_the_default_and_ranks_by_cosine(corpus_of: Make) -> None:
    hits = search(corpus_of(ROWS), "1 0")
    assert ids(hits) == ["east", "between", "north", "west"]
    assert [hit.score for hit in hits] == pytest.approx([1.0, 0.70710678, 0.0, -1.0], abs=1e-3)
    assert hits[0].source == "plane"
    assert hits[0].channels == {"dense": {"rank": 1, "score": pytest.approx(1.0, abs=1e-3)}}


def test_lexical_returns_only_what_shares_a_word(corpus_of: Make) -> None:
    hits = search(corpus_of(ROWS), "lighthouses", mode="lexical")
    assert set(ids(hits)) == {"east", "north"}
    assert all(hit.score > 0 for hit in hits)


@pytest.mark.parametrize("query", ["getUserName", "getusername", "user name", "get_user_name"])
def test_identifiers_match_by_their_parts_and_as_a_whole(corpus_of: Make, query: str) -> None:
    assert ids(search(corpus_of(ROWS), query, mode="lexical"))[:1] == ["east"]


def test_rrf_is_the_sum_of_reciprocal_ranks(corpus_of: Make) -> None:
    hits = search(corpus_of(ROWS), "1 0 lighthouse", mode="hybrid", fusion="rrf")
    lexical = {
        hit.artifact_id: rank for rank, hit in enumerate(search(corpus_of(ROWS), "lighthouse", mode="lexical"), 1)
    }
    dense = {"east": 1, "between": 2, "north": 3, "west": 4}
    expected = {name: 1 / (60 + dense[name]) + (1 / (60 + lexical[name]) if name in lexical else 0) for name in dense}
    assert {hit.artifact_id: hit.score for hit in hits} == pytest.approx(expected)
    assert ids(hits) == sorted(expected, key=lambda name: -expected[name])


def test_blend_keeps_magnitudes_and_completes_the_missing_score(corpus_of: Make) -> None:
    corpus = corpus_of(ROWS)
    bm25 = {hit.artifact_id: hit.score for hit in search(corpus, "lighthouse", mode="lexical")}
    hits = search(corpus, "1 0 lighthouse", mode="hybrid", fusion="blend", alpha=0.25, bm25_sat_k=2.0)
    cosine = {"east": 1.0, "north": 0.0, "between": 0.70710678, "west": -1.0}
    expected = {name: 0.25 * cosine[name] + 0.75 * (lambda b: b / (b + 2.0))(bm25.get(name, 0.0)) for name in cosine}
    assert {hit.artifact_id: hit.score for hit in hits} == pytest.approx(expected, abs=1e-3)


def test_completion_looks_up_what_a_shallow_channel_did_not_return(corpus_of: Make) -> None:
    rows = [(f"far{n}", "document", "lighthouse", [0.0, 1.0], {}) for n in range(60)]
    rows.append(("near", "document", "lighthouse of the east and of many other longer words", [1.0, 0.0], {}))
    hits = search(corpus_of(rows), "1 0 lighthouse", mode="hybrid", fusion="blend", k=1)
    assert ids(hits) == ["near"]
    assert hits[0].channels["lexical"]["score"] > 0


def test_minmax_and_dbsf_follow_their_formulas(corpus_of: Make) -> None:
    corpus = corpus_of(ROWS)
    dense = {hit.artifact_id: hit.score for hit in search(corpus, "1 0")}
    bm25 = {
        **dict.fromkeys(dense, 0.0),
        **{h.artifact_id: h.score for h in search(corpus, "lighthouse", mode="lexical")},
    }

    def minmax(scores: dict[str, float]) -> dict[str, float]:
        low, high = min(scores.values()), max(scores.values())
        return {name: (score - low) / (high - low) for name, score in scores.items()}

    def spread(scores: dict[str, float]) -> dict[str, float]:
        mean = sum(scores.values()) / len(scores)
        sigma = (sum((score - mean) ** 2 for score in scores.values()) / (len(scores) - 1)) ** 0.5
        return {name: (score - (mean - 3 * sigma)) / (6 * sigma) for name, score in scores.items()}

    for fusion, scale in (("minmax", minmax), ("dbsf", spread)):
        hits = search(corpus, "1 0 lighthouse", mode="hybrid", fusion=fusion, alpha=0.6)
        d, b = scale(dense), scale(bm25)
        expected = {name: 0.6 * d[name] + 0.4 * b[name] for name in dense}
        assert {hit.artifact_id: hit.score for hit in hits} == pytest.approx(expected, abs=2e-3), fusion


def test_filters_come_before_ranking(corpus_of: Make) -> None:
    rows = [(f"good{n}", "document", "lighthouse", [1.0, 0.0], {"zone": "far"}) for n in range(200)]
    rows += [(f"wanted{n}", "document", "lighthouse lighthouse", [-1.0, 0.1], {"zone": "near"}) for n in range(5)]
    corpus = corpus_of(rows)
    for mode in ("dense", "lexical", "hybrid"):
        hits = search(corpus, "1 0 lighthouse", mode=mode, k=5, filter={"zone": "near"})
        assert sorted(ids(hits)) == [f"wanted{n}" for n in range(5)], mode


def test_surfaces_restrict_and_weights_reorder(corpus_of: Make) -> None:
    corpus = corpus_of(ROWS)
    assert ids(search(corpus, "1 0", surfaces=["note"])) == ["west"]
    assert ids(search(corpus, "-1 0", surface_weights={"note": 0.1}))[0] == "west"
    weighted = search(corpus, "1 0", surface_weights={"document": 0.5}, explain=True)
    assert weighted[0].score == pytest.approx(0.5, abs=1e-3)
    assert weighted[0].explanation is not None
    assert weighted[0].explanation["boosts"] == {"surface_weight": 0.5}


@pytest.mark.parametrize("how", [{"mode": "dense"}, {"mode": "lexical"}, {"fusion": "blend"}, {"fusion": "rrf"}])
@pytest.mark.parametrize("weights", [{"document": 9.0}, {"note": 0.0}])
def test_weights_reach_records_that_lie_deep(corpus_of: Make, how: dict[str, str], weights: dict[str, float]) -> None:
    rows = [(f"note{n}", "note", "lighthouse lighthouse", [1.0, n / 1e4], {}) for n in range(300)]
    rows += [(f"wanted{n}", "document", "lighthouse at sea", [1.0, 1.0 + n / 1e4], {}) for n in range(5)]
    corpus = corpus_of(rows)
    hits = search(corpus, "1 0 lighthouse", **{"mode": "hybrid", **how}, k=5, surface_weights=weights)
    assert sorted(ids(hits)) == [f"wanted{n}" for n in range(5)]


def test_one_artifact_with_many_chunks_cannot_fill_the_list(corpus_of: Make) -> None:
    rows = [("long", "chunk", "lighthouse keeper", [1.0, n / 1000], {"chunk_index": n}) for n in range(300)]
    rows += [(f"other{n}", "chunk", "lighthouse", [0.1, 1.0], {}) for n in range(9)]
    corpus = corpus_of(rows)
    for mode in ("dense", "lexical", "hybrid"):
        hits = search(corpus, "1 0 lighthouse keeper", mode=mode, k=10)
        assert len(set(ids(hits))) == 10, mode
        assert hits[0].artifact_id == "long"
    assert len(set(ids(search(corpus, "1 0", k=10, per_artifact=False)))) == 1


def test_a_reranker_sees_the_candidates_and_its_score_replaces(corpus_of: Make) -> None:
    seen: list[int] = []

    def rerank(query: str, segments: Any) -> list[float]:
        seen.append(len(segments))
        return [float(len(segment["text"])) for segment in segments]

    hits = search(corpus_of(ROWS), "1 0", rerank=rerank, fetch_k=3, k=2)
    assert seen == [3]
    assert ids(hits) == ["east", "north"]
    assert hits[0].score == len(ROWS[0][2])


def test_a_reranker_that_fails_leaves_the_first_stage_and_says_so(corpus_of: Make) -> None:
    def rerank(query: str, segments: Any) -> list[float]:
        raise RerankError("the endpoint is down")

    hits = search(corpus_of(ROWS), "1 0", rerank=rerank, k=2)
    assert ids(hits) == ["east", "between"]
    assert hits.meta["degraded"] == ["reranker"]


def test_rerank_weight_blends_with_the_first_stage(corpus_of: Make) -> None:
    last_first = search(corpus_of(ROWS), "1 0", rerank=lambda q, s: list(range(len(s))), rerank_weight=0.0)
    assert ids(last_first) == ["east", "between", "north", "west"]


def test_formulate_merges_several_queries_by_the_best_surface(corpus_of: Make) -> None:
    hits = search(corpus_of(ROWS), "anything", formulate=lambda query: ["1 0", "0 1"], k=3)
    assert set(ids(hits)) == {"east", "north", "between"}
    assert [hit.score for hit in hits[:2]] == pytest.approx([1.0, 1.0], abs=1e-3)
    assert hits.meta["queries"] == ["1 0", "0 1"]


def test_bm25_constants_of_the_caller(corpus_of: Make) -> None:
    rows = [
        ("short", "document", "lighthouse", [1.0, 0.0], {}),
        ("long", "document", "lighthouse lighthouse " + "gravel sand stone " * 30, [1.0, 0.0], {}),
    ]
    corpus = corpus_of(rows)
    assert ids(search(corpus, "lighthouse", mode="lexical")) == ["short", "long"]
    assert ids(search(corpus, "lighthouse", mode="lexical", bm25={"b": 0.0})) == ["long", "short"]
    default = search(corpus, "lighthouse", mode="lexical")
    same = search(corpus, "lighthouse", mode="lexical", bm25={"k1": 1.2, "b": 0.75})
    assert [hit.score for hit in same] == pytest.approx([hit.score for hit in default], rel=0.1)


def test_explain_gives_ranks_scores_terms_shares_and_highlights(corpus_of: Make) -> None:
    hit = search(corpus_of(ROWS), "1 0 lighthouse", mode="hybrid", explain=True)[0]
    why = hit.explanation
    assert why is not None
    assert hit.artifact_id == "east"
    assert why["channels"]["dense"]["rank"] == 1
    assert why["channels"]["lexical"]["score"] > 0
    assert why["shares"]["dense"] + why["shares"]["lexical"] == pytest.approx(hit.score)
    assert "lighthous" in why["matched_terms"]
    ((start, end),) = why["highlights"]
    assert hit.text[start:end] == "lighthouse"
    assert hit.to_dict()["explanation"]["fusion"] == "blend"


def test_dep_boost_is_added_to_the_final_score(corpus_of: Make) -> None:
    def boost(hit: SearchHit) -> float:
        return 5.0 if hit.artifact_id == "west" else 0.0

    corpus = corpus_of(ROWS)
    plain = {hit.artifact_id: hit.score for hit in search(corpus, "1 0")}
    hits = search(corpus, "1 0", dep_boost=boost, explain=True)
    assert hits[0].artifact_id == "west"
    assert hits[0].score == pytest.approx(plain["west"] + 5.0)
    assert hits[0].to_dict()["explanation"]["boosts"] == {"dep": 5.0}
    reranked = search(corpus, "1 0", dep_boost=boost, rerank=lambda query, segments: [0.25] * len(segments))
    assert reranked[0].score == pytest.approx(5.25), "the reranker's score does not swallow it"
    assert reranked[1].score == 0.25
    assert search(corpus, "1 0", dep_boost=boost, per_artifact=False, k=1)[0].artifact_id == "west"


@pytest.mark.parametrize(("options", "length"), [({}, 2000), ({"rerank_max_chars": 30}, 30)])
def test_a_reranker_is_given_so_much_of_an_artifact(options: dict[str, Any], length: int) -> None:
    read: list[int] = []

    def reader(query: str, segments: Sequence[Mapping[str, Any]]) -> list[float]:
        read.extend(len(segment["text"]) for segment in segments)
        return [1.0] * len(segments)

    source = ir.CorpusSource.from_mapping({"a": "tea and bread " * 500}, name="n", strategy=ir.Chunked(chunk_size=700))
    corpus = ir.build(source, store=ir.CorpusStore.memory(), embedder="light")
    search(corpus, "tea", rerank=reader, rerank_text="artifact", **options)
    assert set(read) == {length}
    read.clear()
    search(corpus, "tea", rerank=reader, rerank_max_chars=30)
    assert min(read) > 30, "a surface is read as it is"


def test_graph_boost_adds_to_the_score(corpus_of: Make) -> None:
    hits = search(corpus_of(ROWS), "1 0", graph_boost=lambda hit: 5.0 if hit.artifact_id == "west" else 0.0)
    assert ids(hits)[0] == "west"
    assert hits[0].score == pytest.approx(4.0, abs=1e-3)


def test_meta_reports_what_ran(corpus_of: Make) -> None:
    meta = search(corpus_of(ROWS), "1 0 lighthouse", mode="hybrid").meta
    assert meta["channels"] == ["dense", "lexical"]
    assert meta["fusion"] == "blend"
    assert meta["degraded"] == []
    assert meta["timings"]["total_ms"] > 0
    assert isinstance(meta["version"], str)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"mode": "fuzzy"}, "Unknown mode 'fuzzy'; use one of 'dense', 'lexical', 'hybrid'"),
        ({"fusion": "borda"}, "Unknown fusion 'borda'; use one of 'rrf', 'blend', 'minmax', 'dbsf', 'minmax_corpus'"),
        ({"k": 0}, "k must be a whole number of at least 1, not 0"),
        ({"k": -1}, "k must be a whole number of at least 1, not -1"),
        ({"k": True}, "k must be a whole number"),
        ({"filter": {"n": {"$near": 1}}}, r"Unknown filter operator '\$near'"),
        ({"surfaces": ["chapter"]}, "Unknown surface 'chapter'; use one of 'document', 'note'"),
        ({"surfaces": []}, "at least one surface kind"),
        ({"surface_weights": {"nott": 1.0}}, "Did you mean 'note'"),
        ({"alpha": 2}, "alpha must be a number at least 0 and at most 1"),
        ({"rrf_k": 0}, "rrf_k must be a number above 0"),
        ({"fetch_k": 0}, "fetch_k must be a whole number"),
        ({"bm25": {"k3": 1}}, "bm25 must be a mapping with 'k1' and/or 'b'"),
        ({"mod": "dense"}, "Unknown search option 'mod'.*Did you mean 'mode'"),
        ({"rerank": 7}, "rerank must be a callable"),
        ({"rerank": lambda query, segments: [1.0]}, "returned 1 scores for 4 segments"),
        ({"rerank": lambda query, segments: None}, "must return a list with a number for each segment"),
        ({"rerank": lambda query, segments: ["good"] * len(segments)}, "a number for each segment"),
        ({"formulate": "x"}, "formulate must be callable"),
        ({"formulate": lambda query: None}, "formulate must return a query or a list of queries, not None"),
        ({"surfaces": 5}, "surfaces must name at least one surface kind, not 5"),
        ({"surface_weights": 5}, "surface_weights must be a mapping"),
        ({"surface_weights": {"note": float("inf")}}, "must be a number at least 0, not inf"),
        ({"dep_boost": 5}, "dep_boost must be callable, not 5"),
        ({"dep_boost": lambda hit: float("nan")}, "dep_boost must return a finite number, not nan"),
        ({"rerank_max_chars": 0}, "rerank_max_chars must be a whole number of at least 1, not 0"),
        ({"graph_boost": 5}, "graph_boost must be callable, not 5"),
        ({"graph_boost": lambda hit: None}, "graph_boost must return a finite number, not None"),
    ],
)
def test_bad_options_name_what_is_allowed(corpus_of: Make, keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        search(corpus_of(ROWS), "1 0", **keywords)


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
def test_whole_numbers_of_numpy_are_whole_numbers(corpus_of: Make, mode: str) -> None:
    corpus, query = corpus_of(ROWS), "1 0 lighthouse"
    given = {"k": np.int64(2), "fetch_k": np.int32(3), "depth": np.uint8(50), "rrf_k": np.int64(9)}
    hits = search(corpus, query, mode=mode, fusion="rrf", **given)
    assert hits == search(corpus, query, mode=mode, fusion="rrf", **{name: int(given[name]) for name in given})
    assert {type(ir.options.SearchOptions.of(**given).k), type(hits[0].score)} == {int, float}
    with pytest.raises(InvalidInput, match="k must be a whole number"):
        search(corpus, query, k=np.bool_(True))
    with pytest.raises(InvalidInput, match="fetch_k must be a whole number"):
        search(corpus, query, fetch_k=np.float64(2))


@pytest.mark.parametrize("query", ["", "   ", "\n\t", None])
def test_an_empty_query_is_an_error(corpus_of: Make, query: Any) -> None:
    with pytest.raises(ValueError, match="query is empty"):
        search(corpus_of(ROWS), query)


def test_an_empty_corpus_has_no_hits_and_a_note(corpus_of: Make) -> None:
    hits = search(corpus_of([]), "anything", mode="hybrid", surfaces=["chunk"])
    assert hits == []
    assert hits.meta["notes"] == ["The corpus 'plane' is empty; look at what its source holds, and build again."]


def test_a_corpus_that_is_empty_because_nothing_could_be_taken_in_says_why() -> None:
    class Wrong:
        def decompose(self, artifact: Any) -> ir.IndexPlan:
            return ir.IndexPlan()

    rows = {"a": "some text", "b": "more"}
    source = ir.CorpusSource.from_mapping(rows, name="own", strategy=Wrong(), embedder="light")  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match="is empty: 2 items could not be taken in"):
        corpus = ir.build(source, store=ir.CorpusStore.memory())
    (note,) = corpus.search("text").meta["notes"]
    assert note.startswith(
        "The corpus 'own' is empty: 2 items could not be taken in, among them 'a': the strategy failed: "
    )
    numbers: Any = MappingProxyType({1: "some text"})
    source = ir.CorpusSource.from_mapping(numbers, name="own", embedder="light")
    with pytest.warns(UserWarning, match="an id must be a text that is not blank, not 1"):
        corpus = ir.build(source, store=ir.CorpusStore.memory())
    (note,) = corpus.search("text").meta["notes"]
    assert corpus.report is not None
    assert corpus.report.notes == [note]
    assert note.endswith("1 item could not be taken in, among them '1': an id must be a text that is not blank, not 1.")


@pytest.mark.parametrize("thing", [None, 5, {"a": "text"}, ir.CorpusStore.memory()])
def test_what_is_no_corpus_is_refused_in_words(thing: Any) -> None:
    with pytest.raises(InvalidInput, match=r"is not a corpus\. Give one that ir\.build or ir\.open_corpus"):
        search(thing, "text")


def test_a_corpus_is_searched_by_the_path_of_its_folder_too(tmp_path: Path) -> None:
    source = ir.CorpusSource.from_mapping({"a": "some text"}, name="own", embedder="light")
    ir.build(source, store=LocalStore(tmp_path / "own")).store.close()
    assert [hit.artifact_id for hit in search(tmp_path / "own", "text")] == ["a"]


def test_a_query_without_words_is_no_error(corpus_of: Make) -> None:
    hits = search(corpus_of(ROWS), "?!", mode="lexical")
    assert hits == []
    assert hits.meta["notes"] == ["The query has no words that the lexical index keeps."]
    hits = search(corpus_of(ROWS), "0 0", mode="dense")
    assert hits == []
    assert hits.meta["notes"] == ["The embedder finds nothing in the query to compare."]


def test_another_embedder_is_refused_by_id_and_by_size(corpus_of: Make) -> None:
    corpus = corpus_of(ROWS)
    other = ir.Corpus("plane", corpus.store, corpus.embedder, "another")
    with pytest.raises(EmbedderMismatch, match=r"built with the embedder 'plane'.*mode='lexical'"):
        search(other, "1 0")
    assert search(other, "lighthouse", mode="lexical")
    wide = ir.Corpus("plane", corpus.store, lambda texts: [[1.0, 0.0, 0.0]] * len(texts), "plane")
    with pytest.raises(EmbedderMismatch, match="3 dimensions, the index has 2"):
        search(wide, "1 0")


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
@pytest.mark.parametrize("fusion", ["blend", "rrf", "minmax", "dbsf"])
def test_a_vector_of_nothing_is_near_to_nothing(corpus_of: Callable[..., ir.Corpus], mode: str, fusion: str) -> None:
    corpus = corpus_of([("a", "document", "tea", [1.0, 0.0], {}), ("b", "document", "bread", [0.0, 1.0], {})])
    assert list(corpus.search("0 0", mode=mode, fusion=fusion)) == []
    by_words = [] if mode == "dense" else ["a"]
    assert [hit.artifact_id for hit in corpus.search("0 0 tea", mode=mode, fusion=fusion)] == by_words
