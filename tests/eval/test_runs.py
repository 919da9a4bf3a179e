"""Runs, judgements, collections, and comparing runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir.errors import InvalidInput
from ir.eval import (
    BeirDataset,
    QueryChange,
    compare_runs,
    load_beir,
    load_qrels,
    load_run,
    make_run,
    paired_comparison,
    ranking_of,
    save_beir,
    save_qrels,
    save_run,
)
from ir.index import Corpus

ids = st.text(st.characters(categories=["L", "N"], exclude_characters="\x85"), min_size=1, max_size=6)
finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.slow
@given(st.dictionaries(ids, st.dictionaries(ids, finite, min_size=1, max_size=5), max_size=4))
def test_runs_survive_their_file(tmp_path_factory: pytest.TempPathFactory, run: dict[str, dict[str, float]]) -> None:
    path = tmp_path_factory.mktemp("runs") / "run.trec"
    save_run(run, path, tag="test")
    back = load_run(path)
    assert back == run
    assert [ranking_of(back[qid]) for qid in back] == [ranking_of(run[qid]) for qid in back]


def test_a_run_of_a_corpus_keeps_the_ranking(corpus: Corpus, tmp_path: Path) -> None:
    run = make_run(corpus, {"1": "green tea", "2": "unheard of"}, k=4, mode="dense")
    assert ranking_of(run["1"])[0] == "tea"
    for query, scores in (("green tea", run["1"]), ("unheard of", run["2"])):
        expected = [hit.artifact_id for hit in corpus.search(query, k=4, mode="dense")]
        assert ranking_of(scores) == expected
    save_run(run, tmp_path / "run.trec")
    first = (tmp_path / "run.trec").read_text(encoding="utf-8").splitlines()[0].split()
    assert first[:4] == ["1", "Q0", "tea", "1"]
    assert first[5] == "ir"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1 Q0 a 1 0.5 t\n1 Q0 b 2\n", "6 columns"),
        ("1 Q0 a 1 0.5 t\n1 Q0 b 2 high t\n", "'high'"),
        ("1 Q0 a 1 0.5 t\n1 Q0 a 2 0.4 t\n", "twice"),
    ],
)
def test_a_broken_run_is_named_by_line(tmp_path: Path, text: str, what: str) -> None:
    path = tmp_path / "run.trec"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=what) as caught:
        load_run(path)
    assert f"{path}:2" in str(caught.value)


def test_an_id_with_a_space_does_not_fit_a_trec_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="white space"):
        save_run({"q": {"my note.md": 1.0}}, tmp_path / "run.trec")
    assert not (tmp_path / "run.trec").exists()


def test_judgements_in_both_layouts(tmp_path: Path) -> None:
    qrels = {"1": {"a": 2.0, "b": 0.0}, "2": {"c": 1.0}}
    save_qrels(qrels, tmp_path / "trec.qrels")
    assert load_qrels(tmp_path / "trec.qrels") == qrels
    (tmp_path / "beir.tsv").write_text("query-id\tcorpus-id\tscore\n1\tmy note.md\t1\n", encoding="utf-8")
    assert load_qrels(tmp_path / "beir.tsv") == {"1": {"my note.md": 1.0}}
    (tmp_path / "bad.tsv").write_text("1\ta\t1\n1\tb\tyes\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"bad\.tsv:2"):
        load_qrels(tmp_path / "bad.tsv")
    (tmp_path / "bad.tsv").write_text("1\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="found 1"):
        load_qrels(tmp_path / "bad.tsv")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("query-id\tcorpus-id\tscore\tsplit\n1\ta\t2\t7\n", {"1": {"a": 2.0}}),
        ("corpus_id\tquery_id\tnote\tscore\na\t1\tx\t2\n", {"1": {"a": 2.0}}),
        ("qid\tdocid\trel\n1\ta\t2\n", {"1": {"a": 2.0}}),
        ("qid 0 docid rel\n1 0 a 2\n", None),
        ("topic iteration docno relevance\n1 0 a 2\n", {"1": {"a": 2.0}}),
        ("1 Q0 a 2\n", {"1": {"a": 2.0}}),
        ("1\tscore\t2\n", {"1": {"score": 2.0}}),
        ("1\ta\t2\t7\n", None),
        ("1\t184\t1\t0.5\n", None),
        ("query-id\tcorpus-id\tscore\n1\ta\n", None),
        ("query-id\tthing\tscore\n1\ta\t1\n", None),
        ("1\ta\tb\tc\t2\n", None),
    ],
)
def test_columns_are_found_by_name_or_refused(tmp_path: Path, text: str, found: object) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_text(text, encoding="utf-8")
    if found is not None:
        assert load_qrels(path) == found
        return
    with pytest.raises(InvalidInput, match=r"qrels\.tsv:[12]"):
        load_qrels(path)


@pytest.fixture
def collection() -> BeirDataset:
    return BeirDataset(
        "tiny",
        {"a": {"title": "A", "text": "first"}, "b": {"title": "", "text": "second", "url": "x"}},
        {"1": "first?", "2": "nothing?", "3": "unjudged?"},
        {"1": {"a": 2.0, "b": 0.0}, "2": {"b": 0.0}},
    )


def test_a_collection_survives_its_folder(tmp_path: Path, collection: BeirDataset) -> None:
    save_beir(collection, tmp_path / "tiny")
    assert load_beir(tmp_path / "tiny") == collection


def test_judgements_beside_the_corpus_are_found(tmp_path: Path, collection: BeirDataset) -> None:
    save_beir(collection, tmp_path / "tiny")
    (tmp_path / "tiny" / "qrels" / "test.tsv").rename(tmp_path / "tiny" / "qrels.tsv")
    assert load_beir(tmp_path / "tiny").qrels == collection.qrels


def test_cases_of_a_collection(collection: BeirDataset) -> None:
    cases = collection.cases()
    assert [(case.query, case.gold) for case in cases] == [("first?", ("a",)), ("nothing?", ())]
    assert cases[0].metadata == {"query_id": "1"}
    assert collection.check()["unjudged_queries"] == ["3"]


def test_broken_collections_say_what_is_wrong(tmp_path: Path, collection: BeirDataset) -> None:
    with pytest.raises(InvalidInput, match="not a folder"):
        load_beir(tmp_path / "none")
    root = tmp_path / "tiny"
    save_beir(collection, root, split="dev")
    with pytest.raises(InvalidInput, match="splits dev"):
        load_beir(root)
    (root / "corpus.jsonl").write_text('{"_id": "a", "text": "t"}\n{"text": "no id"}\n', encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"corpus\.jsonl:2"):
        load_beir(root, split="dev")


# --- comparison --------------------------------------------------------------------------------------------------


def _pairs(a: list[float], b: list[float]) -> list[QueryChange]:
    return [QueryChange(str(n), x, y) for n, (x, y) in enumerate(zip(a, b, strict=True))]


def test_a_run_against_itself_is_no_different() -> None:
    run = {"1": {"a": 2.0, "b": 1.0}, "2": {"b": 1.0}}
    report = compare_runs(run, run, {"1": {"b": 1}, "2": {"b": 1}})
    for measure in report.measures.values():
        assert (measure.difference, measure.p_randomization, measure.p_t_test) == (0.0, 1.0, 1.0)
        assert (measure.wins, measure.losses, measure.ties) == (0, 0, 2)
        assert measure.effect is None
        assert measure.biggest() == []


def test_few_queries_are_tested_exactly() -> None:
    # Five queries that all gain the same: of the 32 sign patterns, two are as extreme.
    found = paired_comparison("m", _pairs([0.0] * 5, [0.5] * 5))
    assert found.p_randomization == pytest.approx(2 / 32)
    assert found.interval == (0.5, 0.5)


@pytest.mark.slow
def test_many_queries_agree_with_the_t_test() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(0.5, 0.1, 200)
    found = paired_comparison("m", _pairs(a.tolist(), (a + rng.normal(0.012, 0.1, 200)).tolist()))
    assert found.p_t_test is not None
    assert found.p_randomization == pytest.approx(found.p_t_test, abs=0.02)
    assert found.interval[0] < found.difference < found.interval[1]
    assert found.effect == pytest.approx(found.difference / np.std([c.change for c in found.changes], ddof=1))


@pytest.mark.slow
def test_a_lasting_gain_is_significant_and_a_wobble_is_not() -> None:
    rng = np.random.default_rng(4)
    a = rng.uniform(0, 1, 100)
    gain = paired_comparison("m", _pairs(a.tolist(), (a + 0.1 + rng.normal(0, 0.1, 100)).tolist()))
    wobble = paired_comparison("m", _pairs(a.tolist(), (a + rng.permutation([0.1, -0.1] * 50)).tolist()))
    assert gain.p_randomization < 0.001
    assert gain.interval[0] > 0
    assert wobble.p_randomization > 0.5
    assert wobble.interval[0] < 0 < wobble.interval[1]


def test_wins_losses_and_the_biggest_changes() -> None:
    qrels = {q: {"x": 1} for q in "1234"}
    a = {"1": {"x": 2.0}, "2": {"y": 2.0, "x": 1.0}, "3": {"x": 1.0}}
    b = {"1": {"x": 2.0}, "2": {"x": 2.0}, "3": {"y": 2.0, "z": 1.5, "x": 1.0}}
    report = compare_runs(a, b, qrels, ["mrr@10"], names=("old", "new"))
    found = report.measures["mrr@10"]
    assert report.n_queries == 4
    assert (found.wins, found.losses, found.ties) == (1, 1, 2)
    assert [change.query_id for change in found.biggest()] == ["3", "2"]
    assert found.biggest(1)[0].change == pytest.approx(-2 / 3)
    assert "old" in report.table()
    assert report.changes_table(n=1).splitlines()[1].startswith("3")
    assert json.loads(json.dumps(report.to_dict()))["measures"]["mrr@10"]["wins"] == 1


def test_the_same_seed_gives_the_same_report() -> None:
    rng = np.random.default_rng(9)
    pairs = _pairs(rng.uniform(0, 1, 60).tolist(), rng.uniform(0, 1, 60).tolist())
    assert paired_comparison("m", pairs, seed=1) == paired_comparison("m", pairs, seed=1)


@pytest.mark.parametrize(
    ("qrels", "measures", "what"),
    [
        ({"1": {"a": 0}}, ["mrr@10"], "relevant"),
        ({}, ["mrr@10"], "relevant"),
        ({"1": {"a": 1}}, [], "at least one measure"),
        ({"other": {"a": 1}}, ["mrr@10"], "same query ids"),
        ({"1": {"a": 1}}, ["beauty"], "Unknown measure"),
    ],
)
def test_what_cannot_be_compared_is_refused(qrels: Any, measures: list[str], what: str) -> None:
    with pytest.raises(InvalidInput, match=what):
        compare_runs({"1": {"a": 1.0}}, {"1": {"a": 1.0}}, qrels, measures)


def test_one_query_has_no_t_test() -> None:
    assert paired_comparison("m", _pairs([0.0], [1.0])).p_t_test is None
