from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ir
from ir.errors import InvalidInput
from ir.select import DiscoveryResult, discover

MakeCorpus = Callable[..., ir.Corpus]

CALIBRATION = {
    "min_score": 0.5,
    "signal": "dense",
    "mode": "hybrid",
    "fusion": "blend",
    "embedder_id": "words",
    "rerank": None,
    "kind": "labelled",
    "error_rate": 0.1,
    "curve": [[0.3, 0.0], [0.9, 1.0]],
}


def calibrated(corpus: ir.Corpus, key: str = "hybrid", **changes: Any) -> ir.Corpus:
    corpus.store.set_calibration(key, {**CALIBRATION, "embedder_id": corpus.embedder_id, **changes})
    return corpus


def test_discovery_retrieves_commits_and_reveals(kitchen: ir.Corpus) -> None:
    result = discover(kitchen, "tea")
    assert result.ids == ["brew"]
    assert (result.mode, result.strategy, result.disclose_level) == ("hybrid", "conservative", "metadata")
    assert not result.abstained
    assert result.reason == "rel_threshold"
    assert result.n_retrieved == 4
    assert result.results[0].summary.startswith("Brew tea")
    assert result.results[0].source == "kitchen"
    assert result.results[0].body is None
    assert result.answerable is None
    assert result.signals["n_candidates"] == 4


def test_the_result_is_json_clean(kitchen: ir.Corpus) -> None:
    result = discover(calibrated(kitchen), "tea", min_score="auto")
    data = json.loads(json.dumps(result.to_dict()))
    assert data["results"][0]["artifact_id"] == "brew"
    assert data["n_selected"] == 1
    assert data["answerable"]["kind"] == "off_topic"
    assert data["signals"]["floor"] == 0.5


def test_search_and_selection_keywords_reach_their_parts(make_corpus: MakeCorpus) -> None:
    docs = {"a": {"text": "tea", "lang": "en"}, "b": {"text": "tea", "lang": "de"}, "c": {"text": "tea", "lang": "de"}}
    source = ir.CorpusSource.from_mapping(
        docs, name="tagged", metadata_of=lambda artifact_id, raw: {"lang": raw["lang"]}
    )
    template = make_corpus({"x": "tea"})
    corpus = ir.build(source, store=ir.CorpusStore.memory(), embedder=template.embedder)
    assert set(discover(corpus, "tea", filter={"lang": "de"}).ids) == {"b", "c"}
    assert len(discover(corpus, "tea", k=1).ids) == 1
    assert len(discover(corpus, "tea", max_k=2).ids) == 2
    assert discover(corpus, "tea", strategy=lambda hits: [hits[-1]], mode="dense").n_retrieved == 3
    assert discover(corpus, "tea", rerank=lambda query, segments: [1.0] + [0.1] * (len(segments) - 1)).reason != ""
    with pytest.raises(InvalidInput, match="surface"):
        discover(corpus, "tea", surfaces=["chapter"])


def test_bodies_are_read_from_where_the_caller_says(make_corpus: MakeCorpus, tmp_path: Path) -> None:
    path = tmp_path / "brew.md"
    path.write_text("# Brewing", "utf-8")
    docs = {"brew": {"name": "brew", "description": "tea", "skill_path": str(path)}}
    corpus = make_corpus(docs, "skills", strategy=ir.Skill())
    assert discover(corpus, "tea").results[0].body is None
    assert discover(corpus, "tea").results[0].pointer == str(path)
    assert discover(corpus, "tea", disclose_level="body").results[0].body == "# Brewing"
    assert discover(corpus, "tea", disclose_level="body", store={str(path): "stored"}).results[0].body == "stored"
    loaded = discover(corpus, "tea", disclose_level="body", loader=lambda metadata: metadata["name"])
    assert loaded.results[0].body == "brew"


def test_passages_come_from_the_stored_records(make_corpus: MakeCorpus) -> None:
    text = "\n\n".join(["tea " * 30, "bread " * 30, "music " * 30, "cat " * 30])
    corpus = make_corpus({"doc": text}, strategy=ir.Chunked(chunk_size=150, overlap=0))
    result = discover(corpus, "bread", expand=ir.sentence_window_policy(1))
    passage = result.results[0].passage or ""
    assert "bread" in passage
    assert len(passage) > len(result.results[0].summary)
    assert discover(corpus, "bread").results[0].passage is None


def test_a_hit_that_cannot_be_expanded_says_so(kitchen: ir.Corpus) -> None:
    hits = kitchen.search("tea", k=1)
    chosen = ir.select(hits)
    (alone,) = ir.disclose(chosen, level="metadata", expand=ir.parent_policy(), corpus={"office": kitchen})
    assert alone.passage is None
    assert "no corpus was given for the source 'kitchen'" in alone.metadata["expansion"]
    (foreign,) = ir.disclose(chosen, level="metadata", expand=ir.parent_policy(), corpus=ir.CorpusStore.memory())
    assert "no entry for the artifact 'brew'" in foreign.metadata["expansion"]
    (found,) = ir.disclose(chosen, level="metadata", expand=ir.parent_policy(), corpus={"kitchen": kitchen})
    assert found.passage == chosen.selected[0].text


@pytest.mark.parametrize("fusion", ["blend", "rrf", "minmax", "dbsf"])
def test_a_floor_reads_magnitude_whatever_the_fusion(kitchen: ir.Corpus, fusion: str) -> None:
    strong = discover(kitchen, "tea water", fusion=fusion, min_score=0.3)
    assert strong.ids
    assert strong.ids[0] == "brew"
    weak = discover(kitchen, "server cat dog", fusion=fusion, min_score=0.3)
    assert weak.abstained
    assert weak.reason == "abstain:below_floor"
    assert weak.ids == []
    assert weak.n_retrieved == 4
    assert weak.signals["floor"] == 0.3
    assert weak.signals["gate_score"] < 0.3
    assert weak.answerable is None


@pytest.mark.parametrize(
    ("mode", "fusion", "signal", "floor"),
    [
        ("hybrid", "blend", "dense", 0.5),
        ("hybrid", "rrf", "dense", 0.5),
        ("hybrid", "minmax", "dense", 0.5),
        ("dense", "blend", "dense", 0.5),
        ("lexical", "blend", "lexical", 0.2),
        ("lexical", "blend", "lexical-top3", 0.1),
        ("hybrid", "rrf", "dense-top3", 0.35),
        ("hybrid", "blend", "dense-top3", 0.35),
        ("hybrid", "minmax", "blend", 0.25),
        ("hybrid", "rrf", "blend-top3", 0.2),
    ],
)
def test_auto_gates_on_the_raw_channel_in_every_mode(
    kitchen: ir.Corpus, mode: str, fusion: str, signal: str, floor: float
) -> None:
    calibrated(kitchen, mode, min_score=floor, signal=signal)
    on_topic = discover(kitchen, "tea", mode=mode, fusion=fusion, min_score="auto")
    assert on_topic.ids == ["brew"]
    assert on_topic.signals["gate_scale"] == signal
    assert on_topic.signals["gate_score"] >= floor
    off_topic = discover(kitchen, "dog cat server", mode=mode, fusion=fusion, min_score="auto")
    assert off_topic.abstained
    if mode != "lexical":  # no word of the query is indexed, so there is nothing to gate there
        assert off_topic.reason == "abstain:below_floor"
        assert any("Off topic" in note for note in off_topic.signals["notes"])
        assert off_topic.answerable is not None
        assert off_topic.answerable["probability"] < 0.5


def test_answerable_is_a_calibrated_probability(kitchen: ir.Corpus) -> None:
    answer = discover(calibrated(kitchen), "tea", min_score="auto").answerable
    assert answer is not None
    assert set(answer) == {"probability", "meaning", "error_rate", "kind", "calibration", "floor", "score", "signal"}
    assert answer["error_rate"] == 0.1
    assert answer["probability"] == pytest.approx(min((answer["score"] - 0.3) / 0.6, 1.0))
    assert discover(kitchen, "tea").answerable == answer  # told also where no floor was asked for
    assert discover(kitchen, "tea", mode="dense").answerable is None


def test_auto_without_a_calibration_warns_and_sets_no_floor(kitchen: ir.Corpus) -> None:
    with pytest.warns(UserWarning, match="No calibration is stored for the corpus 'kitchen'"):
        result = discover(kitchen, "dog", min_score="auto")
    assert not result.abstained
    assert result.signals["floor"] is None
    assert result.answerable is None
    assert any("No floor was applied" in note for note in result.signals["notes"])


def test_a_calibration_of_another_embedder_warns_and_is_unused(kitchen: ir.Corpus) -> None:
    calibrated(kitchen, min_score=0.99, embedder_id="other model")
    with pytest.warns(UserWarning, match="made for the embedder 'other model'"):
        result = discover(kitchen, "dog", min_score="auto")
    assert not result.abstained
    assert result.answerable is None


def test_a_number_or_no_floor_never_warns(kitchen: ir.Corpus) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        discover(kitchen, "tea")
        discover(kitchen, "tea", min_score=0.1)
        discover(kitchen, "tea", min_score={"kitchen": 0.1})


def test_an_empty_corpus_is_an_abstention_with_a_note(make_corpus: MakeCorpus) -> None:
    result = discover(make_corpus({}, "empty"), "tea")
    assert (result.abstained, result.reason, result.n_retrieved) == (True, "abstain:no_candidates", 0)
    assert any("empty" in note for note in result.signals["notes"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "boldest"}, "Unknown selection strategy 'boldest'"),
        ({"disclose_level": "all"}, "Unknown disclosure level"),
        ({"mode": "psychic"}, "Unknown mode"),
        ({"fusion": "nuclear"}, "Unknown fusion"),
        ({"k": 0}, "k must be"),
        ({"max_k": 0}, "max_k must be"),
        ({"min_score": "high"}, "must be a number, 'auto' or None"),
        ({"min_score": float("nan")}, "finite number"),
        ({"min_score": {"office": 0.1}}, "names 'office', but the sources are 'kitchen'"),
        ({"merge_weights": {"kitchen": 2.0}}, "several corpora"),
        ({"strategy": "abs_threshold"}, "needs one corpus and a number"),
        ({"depht": 3}, "Unknown search option 'depht'"),
        ({"loader": lambda metadata: None, "store": {}}, "not both"),
    ],
)
def test_bad_input_is_refused(kitchen: ir.Corpus, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        discover(kitchen, "tea", **options)


def test_a_query_or_corpus_that_is_none_is_refused(kitchen: ir.Corpus) -> None:
    with pytest.raises(ValueError, match="query is empty"):
        discover(kitchen, "  ")
    with pytest.raises(InvalidInput, match="not a corpus"):
        discover(None, "tea")


def test_abs_threshold_keeps_every_hit_above_the_floor(kitchen: ir.Corpus) -> None:
    result = discover(kitchen, "bread flour", strategy="abs_threshold", min_score=0.2, mode="dense")
    assert set(result.ids) >= {"bake", "knead"}
    assert all(shown.score >= 0.2 for shown in result.results)


def test_a_result_has_the_documented_fields() -> None:
    result = DiscoveryResult("q", "hybrid", "conservative", "metadata", [], True, "abstain:no_candidates", 0)
    assert (result.ids, result.answerable, dict(result.signals)) == ([], None, {})


def test_corpora_are_found_by_name(kitchen: ir.Corpus, ir_home: Path) -> None:
    for name, docs in {"drinks": {"brew": "tea and water"}, "loaves": {"bake": "bread of flour"}}.items():
        ir.build(ir.CorpusSource.from_mapping(docs, name=name), embedder="light")
    assert discover("drinks", "tea").ids == ["brew"]
    result = discover(["drinks", "loaves"], "flour for bread")
    assert [(shown.source, shown.artifact_id) for shown in result.results] == [("loaves", "bake")]
    passage = discover("drinks", "tea", expand=ir.parent_policy()).results[0].passage
    assert passage == "tea and water"
    with pytest.raises(LookupError):
        discover("never built", "tea")


COPIES = {
    "tea": {"name": "brew", "text": "Brew tea with water."},
    "tea@ops": {"name": "brew", "text": "Brew tea with water."},
    "tea@app": {"name": "brew", "text": "Brew tea with water, tea."},
    "pot": {"name": "pot", "text": "Tea water pot."},
    "bare": {"text": "Tea, water."},
    "bare too": {"text": "Tea, water."},
}


def test_copies_are_one_candidate_by_a_metadata_key(make_corpus: Any) -> None:
    notes, other = make_corpus(COPIES, "notes"), make_corpus(COPIES, "other")
    everything = {"rel": 0.0, "max_k": 20}
    assert len(discover(notes, "tea water", **everything).ids) == 6
    found = discover(notes, "tea water", dedup_by="name", **everything)
    best = next(hit.artifact_id for hit in ir.search(notes, "tea water", mode="hybrid") if "tea" in hit.artifact_id)
    assert sorted(found.ids) == sorted([best, "pot", "bare", "bare too"])
    assert found.n_retrieved == 4
    both = discover([notes, other], "tea water", dedup_by="name", **everything)
    assert len(both.ids) == 8, "each source is told apart by itself"


def test_skills_are_freed_of_copies_unless_told_not_to(make_corpus: Any) -> None:
    skills = make_corpus(COPIES, "skills")
    everything = {"rel": 0.0, "max_k": 20}
    assert len(discover(skills, "tea water", **everything).ids) == 4
    assert len(discover(skills, "tea water", dedup_by=None, **everything).ids) == 6
    with pytest.raises(ValueError, match="dedup_by must be a metadata key, 'auto' or None, not 3"):
        discover(skills, "tea water", dedup_by=3)
