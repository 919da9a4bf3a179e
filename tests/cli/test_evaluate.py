"""``ir eval`` and its relatives: from cases to figures, files and exit codes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ir = Callable[..., Any]

CASES = [
    {"query": "how hot for green tea", "gold": ["tea.md"]},
    {"query": "knead dough", "gold": "bread.txt"},
    {"query": "bicycle chain gauge", "gold": ["chain.py"]},
    {"query": "parliament election results", "gold": []},
    {"query": "quantum chromodynamics lattice", "gold": None},
]


@pytest.fixture
def cases(notes: Path, ir: Ir) -> str:
    path = notes.parent / "cases.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in CASES))
    assert ir("build", "notes").code == 0
    return str(path)


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """A test collection in BEIR's layout."""
    folder = tmp_path / "tools"
    folder.mkdir()
    texts = {"d1": "weather forecast for a city", "d2": "convert money between currencies", "d3": "translate a text"}
    queries = {"q1": "will it rain in the city", "q2": "convert euros money", "q3": "translate text to French"}
    (folder / "corpus.jsonl").write_text(
        "".join(json.dumps({"_id": key, "title": "", "text": text}) + "\n" for key, text in texts.items())
    )
    (folder / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": key, "text": text}) + "\n" for key, text in queries.items())
    )
    judged = "".join(f"q{number}\td{number}\t1\n" for number in (1, 2, 3))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + judged)
    return folder


def test_eval_reports_measures_and_outcomes(ir: Ir, cases: str) -> None:
    done = ir("eval", "notes", cases)
    assert done.code == 0
    assert "5 cases, 2 of them without an answer" in done.out
    assert "ndcg\t" in done.out
    assert "hit_rank_1\t3\t60%" in done.out
    report = ir("eval", "notes", cases, "--json").json["report"]
    assert report["retrieval"]["metrics"]["recall@10"] == 1.0
    assert report["abstention_accuracy"] is None


@pytest.mark.parametrize("command", ["eval", "eval-select", "sweep-select", "tune", "calibrate-min-score"])
@pytest.mark.parametrize("key", ["answers", "gold_ids", "relevant", "Gold"])
def test_answers_under_another_name_are_not_taken_for_none(ir: Ir, cases: str, command: str, key: str) -> None:
    path = Path(cases)
    path.write_text(path.read_text() + json.dumps({"query": "oil the chain", key: ["chain.py"]}) + "\n")
    done = ir(command, "notes", cases)
    assert done.code == 2
    assert f"{path}:{len(CASES) + 1}: a case needs 'gold' (it has " in done.err
    assert repr(key) in done.err
    assert "[] says that nothing answers it" in done.err


def test_a_floor_scores_the_cases_without_an_answer(ir: Ir, cases: str) -> None:
    assert "refused 100%" in ir("eval", "notes", cases, "--min-score", "0.99").out
    missing = ir("eval", "notes", cases, "--min-score", "auto", "--mode", "lexical")
    assert missing.code == 2
    assert "No calibration" in missing.err
    ir("calibrate-min-score", "notes", cases)
    assert ir("eval", "notes", cases, "--min-score", "auto", "--json").json["floor"] is not None


@pytest.mark.slow
def test_runs_can_be_saved_and_compared(ir: Ir, cases: str, tmp_path: Path) -> None:
    one, two, page = (str(tmp_path / name) for name in ("lexical.run", "dense.run", "page.html"))
    ir("eval", "notes", cases, "--mode", "lexical", "--run", one)
    ir("eval", "notes", cases, "--mode", "dense", "--run", two)
    done = ir("compare", one, two, "--qrels", cases, "--html", page)
    assert done.code == 0
    assert done.out.startswith("3 queries; the difference is dense less lexical")
    assert "<img" in Path(page).read_text()
    report = ir("compare", one, two, "--qrels", cases, "--measure", "recall@1", "--json").json
    assert list(report["comparison"]["measures"]) == ["recall@1"]
    assert report["queries"]["q00000"] == "how hot for green tea"
    unknown = ir("compare", one, two, "--qrels", cases, "--measure", "goodness@1")
    assert (unknown.code, "goodness" in unknown.err) == (2, True)
    assert "--qrels" in ir("compare", one, two).err


def test_broken_files_are_refused_with_their_line(ir: Ir, cases: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"query": "a", "gold": []}\n{"query": "", "gold": []}\n')
    done = ir("eval", "notes", str(broken))
    assert done.code == 2
    assert "broken.jsonl:2" in done.err
    broken.write_text("{\n")
    assert "broken.jsonl:1" in ir("eval-select", "notes", str(broken)).err
    broken.write_text("")
    assert "no cases" in ir("sweep-select", "notes", str(broken)).err
    assert ir("eval", "notes", str(tmp_path / "nosuch.jsonl")).code == 2
    run = tmp_path / "bad.run"
    run.write_text("q1 Q0 d1 1\n")
    assert "bad.run:1" in ir("compare", str(run), str(run), "--qrels", cases).err


def test_gold_that_is_not_indexed_is_noted(ir: Ir, cases: str, tmp_path: Path) -> None:
    path = tmp_path / "drifted.jsonl"
    path.write_text('{"query": "tea", "gold": ["gone.md"]}\n')
    done = ir("eval", "notes", str(path), "--json")
    assert done.json["drifted"] == 1
    assert "'gone.md'" in done.err


@pytest.mark.slow
def test_eval_on_collections_prints_each_system(ir: Ir, collection: Path, tmp_path: Path) -> None:
    runs, page = tmp_path / "runs", tmp_path / "page.html"
    done = ir("eval", "beir", str(collection), "--run", str(runs), "--html", str(page), "--json")
    (scores,) = done.json["collections"]
    assert (scores["name"], scores["documents"], scores["queries"]) == ("tools", 3, 3)
    assert list(scores["scores"]) == ["BM25", "dense", "RRF", "default"]
    assert scores["scores"]["default"]["recall@100"] == 1.0
    assert sorted(path.name for path in runs.iterdir())[0] == "tools.bm25.run"
    assert page.read_text().count("<img") == 2
    plain = ir("eval", "beir", str(collection))
    first, second = plain.out.splitlines()[:2]
    assert first == "embedder\tlight"
    assert second == "collection\tlanguage\tdocuments\tqueries\tsystem\tnDCG@10\tRecall@100\tp to RRF"
    compared = ir("compare", str(runs / "tools.bm25.run"), str(runs / "tools.rrf.run"), "-q", str(collection))
    assert compared.code == 0
    assert ir("ls", "--json").json["corpora"] == []


def test_a_document_of_a_collection_that_is_only_a_title_is_found(ir: Ir, collection: Path) -> None:
    with (collection / "corpus.jsonl").open("a") as file:
        file.write(json.dumps({"_id": "d4", "title": "Giraffes at night", "text": ""}) + "\n")
    with (collection / "queries.jsonl").open("a") as file:
        file.write(json.dumps({"_id": "q4", "text": "giraffes at night"}) + "\n")
    with (collection / "qrels.tsv").open("a") as file:
        file.write("q4\td4\t1\n")
    (scores,) = ir("eval", "beir", str(collection), "--json").json["collections"]
    assert scores["scores"]["BM25"]["recall@100"] == 1.0


def test_eval_on_collections_can_search_as_tuned(ir: Ir, collection: Path) -> None:
    (scores,) = ir("eval", "beir", str(collection), "--tune", "--json").json["collections"]
    assert list(scores["scores"]) == ["BM25", "dense", "RRF", "default", "tuned"]
    assert set(scores["p_against_rrf"]) == {"BM25", "dense", "default", "tuned"}


def test_eval_on_several_collections_ends_with_their_mean(ir: Ir, collection: Path) -> None:
    lines = ir("eval", "beir", str(collection), str(collection)).out.splitlines()
    assert [line.split("\t")[0] for line in lines[-4:]] == ["mean"] * 4
    assert lines[-1].split("\t")[4:7] == lines[5].split("\t")[4:7]


def test_every_collection_below_a_folder_is_measured_and_a_broken_one_named(
    ir: Ir, collection: Path, tmp_path: Path
) -> None:
    parent = tmp_path / "sets"
    shutil.copytree(collection, parent / "deep" / "one")
    shutil.copytree(collection, parent / "two")
    (parent / "two" / "queries.jsonl").write_text("{broken\n")
    shutil.copytree(collection, parent / "without-documents")
    (parent / "without-documents" / "corpus.jsonl").write_text("")
    (parent / "no-collection").mkdir()
    (parent / "no-collection" / "corpus.jsonl").write_text("{broken\n")
    (parent / "again").symlink_to(parent)
    done = ir("eval", "beir", str(parent))
    assert done.code == 3
    assert f"not measured\t{parent / 'two'}\t" in done.out
    assert "queries.jsonl:1: not valid JSON" in done.out
    assert "holds no documents" in done.out
    report = ir("eval", "beir", str(parent), "--json").json
    assert [scores["name"] for scores in report["collections"]] == ["one"]
    assert len(report["broken"]) == 2
    alone = ir("eval", "beir", str(parent / "two"))
    assert alone.code == 2
    assert "queries.jsonl:1" in alone.err


def test_what_does_not_fit_together_in_a_collection_is_told(ir: Ir, collection: Path) -> None:
    with (collection / "corpus.jsonl").open("a") as file:
        file.write(
            '{"_id": "d1", "text": "weather forecast for a city again"}\n{"_id": "d5", "title": "", "text": " "}\n'
        )
    with (collection / "qrels.tsv").open("a") as file:
        file.write("q1\tgone\t1\nq9\td1\t1\n")
    done = ir("eval", "beir", str(collection))
    assert done.code == 0
    assert "tools: 1 ids occur more than once, among them 'd1'" in done.err
    assert "1 judged documents are not in the corpus, among them 'gone'" in done.err
    assert "1 judged queries are not among the queries, among them 'q9'" in done.err
    assert "1 documents have neither title nor text, among them 'd5'" in done.err


def in_french(collection: Path) -> None:
    text = "Les anciens bâtiments de la ville ont été rénovés par des architectes qui aimaient la lumière du matin."
    rows = [{"_id": "d1", "title": "", "text": text}]
    rows += [{"_id": f"x{n}", "title": "", "text": f"Le chat numéro {n} dort sur la table et il a faim."} for n in "ab"]
    (collection / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (collection / "queries.jsonl").write_text('{"_id": "q1", "text": "aimer un architecte"}\n')
    (collection / "qrels.tsv").write_text("q1\td1\t1\n")


def test_a_collection_is_indexed_in_its_language_unless_another_is_set(
    ir: Ir, collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_french(collection)
    (scores,) = ir("eval", "beir", str(collection), "--json").json["collections"]
    assert (scores["language"], scores["scores"]["BM25"]["ndcg@10"]) == ("french", 1.0)
    monkeypatch.setenv("IR_LANGUAGE", "none")
    (scores,) = ir("eval", "beir", str(collection), "--json").json["collections"]
    assert (scores["language"], scores["scores"]["BM25"]["ndcg@10"]) == ("none", 0.0)


def test_documents_of_a_collection_that_the_model_would_not_read_to_the_end_are_cut(
    ir: Ir, collection: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ir.embed.light import LightEmbedder

    with (collection / "corpus.jsonl").open("a") as file:
        file.write(
            json.dumps({"_id": "d4", "title": "Long", "text": "Nothing to see here. " * 60 + "Giraffes."}) + "\n"
        )
    (scores,) = ir("eval", "beir", str(collection), "--json").json["collections"]
    assert (scores["documents"], scores["records"]) == (4, 4)
    monkeypatch.setattr(LightEmbedder, "max_tokens", 60, raising=False)
    (scores,) = ir("eval", "beir", str(collection), "--json").json["collections"]
    assert scores["documents"] == 4
    assert scores["records"] > 6


def test_tuning_belongs_to_collections(ir: Ir, cases: str) -> None:
    done = ir("eval", "notes", cases, "--tune")
    assert done.code == 2
    assert "ir tune" in done.err


def test_a_collection_can_be_the_cases_of_a_corpus(ir: Ir, collection: Path) -> None:
    ir("register", "tools", str(collection / "corpus.jsonl"), "--kind", "jsonl", "--param", "id_key=_id")
    built = ir("build", "tools")
    assert built.code == 0, built.err
    report = ir("eval", "tools", str(collection), "--json").json["report"]
    assert report["n_gold"] == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["notes"], "ir eval CORPUS CASES"),
        (["notes", "a", "b"], "ir eval CORPUS CASES"),
        (["beir", "nosuch"], "not a folder"),
        (["notes", "CASES", "--mode", "hybird"], "'hybrid'"),
        (["notes", "CASES", "--min-score", "notes=1"], "number or auto"),
        (["notes", "CASES", "--html", "."], "is a folder"),
        (["beir", "x", "--mode", "dense"], "belong to a corpus"),
    ],
)
def test_wrong_usage_of_eval(ir: Ir, cases: str, arguments: list[str], said: str) -> None:
    done = ir("eval", *(cases if word == "CASES" else word for word in arguments))
    assert done.code == 2
    assert said in done.err


def test_selection_is_measured_and_swept(ir: Ir, cases: str, tmp_path: Path) -> None:
    one = ir("eval-select", "notes", cases, "--max-k", "1", "--json").json["report"]
    assert one["mean_selected_size"] == 1.0
    assert "precision\t" in ir("eval-select", "notes", cases).out
    page = tmp_path / "sweep.html"
    swept = ir("sweep-select", "notes", cases, "--max-k", "1,3", "--rel", "0.5,0.9", "--html", str(page))
    assert swept.out.startswith("notes-")
    assert "4 settings" in swept.out
    assert "best\t" in swept.out
    assert "<img" in page.read_text()
    assert len(ir("sweep-select", "notes", cases, "--json").json["sweep"]["points"]) == 30
    wrong = ir("sweep-select", "notes", cases, "--max-k", "1,many")
    assert (wrong.code, "whole numbers" in wrong.err) == (2, True)
    assert ir("sweep-select", "notes", cases, "--objective", "luck").code == 2
    assert ir("eval-select", "notes", cases, "--strategy", "luck").code == 2


def test_calibration_from_cases_is_kept_unless_dry(ir: Ir, cases: str) -> None:
    dry = ir("calibrate-min-score", "notes", cases, "--dry-run")
    assert dry.code == 0
    assert "not kept" in dry.out
    assert "answers kept" in dry.out
    assert ir("info", "notes", "--json").json["calibrated"] == []
    kept = ir("calibrate-min-score", "notes", cases, "--max-loss", "0.5", "--json").json
    assert kept["saved"] is True
    assert kept["calibration"]["max_loss"] == 0.5
    assert Path(kept["calibration"]["made_from"]) == Path(cases)
    assert ir("info", "notes", "--json").json["calibrated"] == ["hybrid"]


def test_enough_cases_choose_what_the_floor_reads(ir: Ir, cases: str, tmp_path: Path) -> None:
    many = tmp_path / "many.jsonl"
    foreign = [f"{word} of a distant country" for word in ("railway", "opera", "glacier", "harbour", "senate")] * 2
    rows = [case for case in CASES if case.get("gold")] * 10 + [{"query": query, "gold": []} for query in foreign]
    many.write_text("".join(json.dumps(case) + "\n" for case in rows))
    told = ir("calibrate-min-score", "notes", str(many))
    assert told.code == 0
    assert "signals tried\tdense (J " in told.out
    kept = ir("calibrate-min-score", "notes", str(many), "--json").json["calibration"]
    assert set(kept["signals_tried"]) == {"dense", "dense-top3", "blend", "blend-top3"}
    assert kept["signal"] in kept["signals_tried"]
    refused = ir("discover", "notes", foreign[0], "--json").json
    assert refused["answerable"]["signal"] == refused["signals"]["gate_scale"] == kept["signal"]
    assert ir("eval", "notes", str(many), "--min-score", "auto", "--json").json["floor"] == kept["min_score"]


def test_calibration_from_probes_needs_no_labels(ir: Ir, cases: str, tmp_path: Path) -> None:
    done = ir("calibrate-min-score", "notes", "--probes", "--percentile", "60")
    assert "percentile 60" in done.out
    assert "not known without labelled cases" in done.out
    own = tmp_path / "probes.txt"
    own.write_text("# mine\n" + "".join(f"stray question number {number}\n" for number in range(30)))
    made = ir("calibrate-min-score", "notes", "--probe-file", str(own), "--json").json["calibration"]
    assert (made["n_abstention"], made["made_from"]) == (30, str(own))


def test_calibration_says_what_it_lacks(ir: Ir, cases: str, tmp_path: Path) -> None:
    neither = ir("calibrate-min-score", "notes")
    assert (neither.code, "--probes" in neither.err) == (2, True)
    assert ir("calibrate-min-score", "notes", cases, "--probes").code == 2
    assert "labelled cases" in ir("calibrate-min-score", "notes", "--probes", "--max-loss", "0.1").err
    only = tmp_path / "only.jsonl"
    only.write_text('{"query": "green tea", "gold": ["tea.md"]}\n')
    one_kind = ir("calibrate-min-score", "notes", str(only))
    assert one_kind.code == 1
    assert "no floor" in one_kind.out
    assert ir("info", "notes", "--json").json["calibrated"] == []


def test_an_evaluation_never_builds(ir: Ir, notes: Path, tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"query": "tea", "gold": ["tea.md"]}\n')
    done = ir("eval", "notes", str(path))
    assert done.code == 3
    assert f"ir build {notes}" in done.err


def test_cases_are_written_without_a_model(ir: Ir, notes: Path, tmp_path: Path) -> None:
    path = tmp_path / "made.jsonl"
    done = ir("eval-gen", "notes", str(path), "--no-llm", "-k", "2", "--abstention", "0.25")
    assert done.code == 0
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0]["__meta__"]["corpus"].startswith("notes-")
    assert {line["metadata"]["generator"] for line in lines[1:]} == {"extracted", "probes"}
    refused = ir("eval-gen", "notes", str(path), "--no-llm")
    assert (refused.code, "--force" in refused.err) == (2, True)
    ir("build", "notes")
    assert ir("eval", "notes", str(path)).code == 0


def test_a_model_that_is_down_is_done_without_and_said(
    ir: Ir, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_LLM__BASE_URL", "http://127.0.0.1:9/v1")
    done = ir("eval-gen", "notes", str(tmp_path / "made.jsonl"), "-k", "1", "--json")
    assert done.code == 0
    assert "llm" not in done.json["generators"]


def test_answers_under_another_key_are_not_passed_over_in_silence(ir: Ir, cases: str, tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    path.write_text('{"query": "green tea", "answers": ["tea.md"]}\n{"query": "dough", "gold": ["bread.txt"]}\n')
    for command in ("eval", "eval-select", "calibrate-min-score"):
        done = ir(command, "notes", str(path))
        assert done.code == 2, command
        assert "other.jsonl:1: a case needs 'gold' (it has 'answers', 'query')" in done.err, command
    path.write_text('{"query": "green tea", "gold": []}\n')
    done = ir("eval", "notes", str(path))
    assert done.code == 0
    assert "no case has an answer" in done.err


def test_answerable_cases_that_a_floor_refuses_are_counted(ir: Ir, cases: str) -> None:
    strict = ir("eval", "notes", cases, "--min-score", "0.99")
    assert "wrongly_refused\t3" in strict.out
    assert "but the floor refuses the query" in strict.out
    assert "wrongly_refused" not in ir("eval", "notes", cases, "--min-score", "0.01").out


def test_eval_select_takes_the_floor_that_discover_takes(ir: Ir, cases: str) -> None:
    kept = ir("eval-select", "notes", cases)
    assert "(probes)" in kept.out
    assert ir("eval-select", "notes", cases, "--json").json["report"]["abstention_accuracy"] == 1.0
    without = ir("eval-select", "notes", cases, "--min-score", "none", "--json").json
    assert (without["floor"], without["report"]["abstention_accuracy"]) == (None, 0.0)
    given = ir("eval-select", "notes", cases, "--min-score", "0.01", "--json").json
    assert (given["floor"], given["floor_from"]) == (0.01, "given")
