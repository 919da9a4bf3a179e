"""Judging by name: sets of cases that evaluation reads, runs that are kept, and who may see them."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.extras import needs

from ir.app.building import BuildRequest, build
from ir.app.context import Caller
from ir.app.operation import find_operation
from ir.app.schema import response_schema
from ir.app.session import Session
from ir.cli.main import run as ir
from ir.config import cases_dir, data_dir, runs_dir
from ir.config.workspace import in_workspace
from ir.errors import InvalidInput, IrError, NotFound, OutsideCorpus
from ir.eval import load_cases, to_qrels

TEXTS = {
    "tea.md": "Steep green tea at 80 degrees.",
    "black.md": "Black tea takes five minutes in boiling water.",
    "bread.md": "Knead the dough, then let it rest.",
    "chain.md": "Oil the bicycle chain once a month.",
}


@pytest.fixture
def session() -> Iterator[Session]:
    with Session() as made:
        yield made


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in TEXTS.items():
        (folder / name).write_text(text, "utf-8")
    return build(BuildRequest(str(folder), embedder="light")).corpus


def call(session: Session, name: str, /, **arguments: Any) -> Any:
    """As somebody who comes over HTTP."""
    return session.call(name, arguments, door="http")


def judged(name: str) -> dict[str, tuple[str, ...]]:
    return {case.query: case.gold for case in load_cases(cases_dir() / f"{name}.jsonl")}


def test_what_was_judged_is_measured_by_name_and_by_path(
    session: Session, corpus: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call(session, "judge", set="mine", query="green tea", items=["tea.md"], corpus=corpus)
    call(session, "judge", set="mine", query="knead dough", items=["bread.md"], corpus=corpus)
    call(session, "judge", set="mine", query="train times", nothing=True, corpus=corpus)
    shown = call(session, "judged-sets", name="mine")
    assert [one.query for one in shown.queries] == ["green tea", "knead dough", "train times"]
    for cases in ("mine", str(cases_dir() / "mine.jsonl")):
        assert ir(["eval", corpus, cases, "--json"]) == 0
        report = json.loads(capsys.readouterr().out)["report"]
        assert (report["n_gold"], report["n_abstention"]) == (2, 1)
        assert report["retrieval"]["metrics"]["recall@10"] == 1.0
    assert ir(["eval-select", corpus, "mine"]) == 0  # whatever takes cases takes a set


def test_grades_and_notes_are_kept_and_count(session: Session, corpus: str) -> None:
    call(session, "judge", set="mine", query="tea", items=["black.md"], grade=1, corpus=corpus)
    call(session, "judge", set="mine", query="tea", items=["tea.md"], grade=3, note="the one", corpus=corpus)
    done = call(session, "judge", set="mine", query="tea", items=["chain.md"], grade=0, corpus=corpus)
    assert [(one.item, one.grade, one.note) for one in done.queries[0].judgements] == [
        ("black.md", 1, None),
        ("tea.md", 3, "the one"),
        ("chain.md", 0, None),
    ]
    cases = load_cases(cases_dir() / "mine.jsonl")
    assert to_qrels(cases)[1] == {"q00000": {"black.md": 1, "tea.md": 3, "chain.md": 0}}
    assert cases[0].gold == ("black.md", "tea.md")
    call(session, "judge", set="mine", query="tea", items=["tea.md"], grade=2, corpus=corpus)
    again = call(session, "judged-sets", name="mine").queries[0].judgements
    assert ("tea.md", 2, "the one") in [(one.item, one.grade, one.note) for one in again]


def test_a_query_with_only_wrong_answers_is_no_case(session: Session, corpus: str) -> None:
    done = call(session, "judge", set="mine", query="tea", items=["chain.md"], grade=0, corpus=corpus)
    assert (done.info.cases, done.info.undecided, done.queries[0].id) == (0, 1, None)
    with pytest.raises(InvalidInput, match="no cases"):
        call(session, "eval", corpus=corpus, cases="mine")
    call(session, "judge", set="mine", query="tea", items=["tea.md"], corpus=corpus)
    assert judged("mine") == {"tea": ("tea.md",)}


def test_an_answer_takes_back_that_nothing_answers(session: Session) -> None:
    call(session, "judge", set="mine", query="tea", nothing=True)
    assert judged("mine") == {"tea": ()}
    done = call(session, "judge", set="mine", query="tea", items=["tea.md"])
    assert judged("mine") == {"tea": ("tea.md",)}
    with pytest.raises(InvalidInput, match="answer that"):
        call(session, "judge", set="mine", query="tea", nothing=True)
    call(session, "judge", set="mine", undo=done.change)
    assert judged("mine") == {"tea": ()}


def test_removing_ends_with_no_set_and_undo_brings_it_back(session: Session) -> None:
    call(session, "judge", set="mine", query="tea", items=["tea.md", "black.md"])
    call(session, "judge", set="mine", query="tea", items=["black.md"], remove=True)
    assert judged("mine") == {"tea": ("tea.md",)}
    gone = call(session, "judge", set="mine", query="tea", remove=True)
    assert gone.queries == ()
    assert call(session, "judged-sets").sets == ()
    call(session, "judge", set="mine", undo=0)
    assert judged("mine") == {"tea": ("tea.md",)}
    call(session, "judge", set="mine", undo=0)  # not what was undone just now, but what came before
    assert judged("mine") == {"tea": ("tea.md", "black.md")}
    call(session, "judge", set="mine", undo=0)
    with pytest.raises(NotFound, match="no change"):
        call(session, "judge", set="mine", undo=0)


def test_what_somebody_else_judged_stays_when_a_change_is_taken_back(session: Session) -> None:
    mine = call(session, "judge", set="ours", query="tea", items=["tea.md"])
    call(session, "judge", set="ours", query="tea", items=["black.md"])
    call(session, "judge", set="ours", undo=mine.change)
    assert judged("ours") == {"tea": ("black.md",)}
    again = call(session, "judge", set="ours", query="tea", items=["tea.md"], grade=2)
    call(session, "judge", set="ours", query="tea", items=["tea.md"], grade=1)
    with pytest.raises(InvalidInput, match="changed since"):
        call(session, "judge", set="ours", undo=again.change)
    with pytest.raises(NotFound, match="no change 999"):
        call(session, "judge", set="ours", undo=999)


def test_saying_the_same_again_changes_nothing(session: Session) -> None:
    call(session, "judge", set="mine", query="tea", items=["tea.md"])
    file = cases_dir() / "mine.jsonl"
    before = file.stat().st_mtime_ns
    again = call(session, "judge", set="mine", query=" tea ", items=["tea.md"])
    assert (again.change, again.changed, file.stat().st_mtime_ns) == (None, 0, before)


def test_what_a_person_wrote_into_the_file_stays(session: Session) -> None:
    file = cases_dir() / "mine.jsonl"
    file.parent.mkdir(parents=True)
    line = {"query": "oil", "gold": ["chain.md"], "source_id": "chain.md", "metadata": {"by": "hand"}}
    file.write_text(json.dumps(line) + "\n", "utf-8")
    call(session, "judge", set="mine", query="tea", items=["tea.md"])
    call(session, "judge", set="mine", query="oil", items=["tea.md"], grade=0)
    first = load_cases(file)[0].to_dict()
    assert first == {**line, "grades": {"chain.md": 1, "tea.md": 0}}
    file.write_text("{\n", "utf-8")
    with pytest.raises(InvalidInput):
        call(session, "judge", set="mine", query="tea", items=["tea.md"])
    assert file.read_text("utf-8") == "{\n"
    assert call(session, "judged-sets").broken == {"mine": "It cannot be read."}


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "/etc/passwd", "..", ".x", "~", "a.jsonl", "a\x00b", "-x", "é", "a" * 65]
)
def test_no_name_leads_out_of_the_folder(session: Session, corpus: str, name: str) -> None:
    for operation, arguments in (
        ("judge", {"set": name, "query": "tea", "items": ["tea.md"]}),
        ("judged-sets", {"name": name}),
        ("eval", {"corpus": corpus, "cases": name}),
        ("compare", {"run_a": name, "run_b": name}),
        ("runs", {"id": name}),
        ("forget-run", {"id": name}),
    ):
        with pytest.raises(InvalidInput):
            call(session, operation, **arguments)
    assert not cases_dir().exists() or not any(cases_dir().iterdir())


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": "tea"},
        {"items": ["tea.md"]},
        {"query": "tea", "items": ["tea.md"], "nothing": True},
        {"query": "tea", "items": ["tea.md"], "grade": -1},
        {"query": "tea", "items": ["tea.md"], "grade": 11},
        {"query": "tea", "items": ["tea.md"], "grade": 1, "remove": True},
        {"query": "tea", "nothing": True, "grade": 2},
        {"query": "tea", "items": [" "]},
        {"query": " ", "items": ["tea.md"]},
        {"undo": 1, "query": "tea"},
    ],
)
def test_what_makes_no_judgement_is_refused(session: Session, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        call(session, "judge", set="mine", **arguments)
    assert call(session, "judged-sets").sets == ()


def test_an_item_that_is_not_in_the_corpus_is_refused(session: Session, corpus: str) -> None:
    with pytest.raises(NotFound, match=r"'taa\.md'"):
        call(session, "judge", set="mine", query="tea", items=["taa.md"], corpus=corpus)
    with pytest.raises(OutsideCorpus):
        call(session, "judge", set="mine", query="tea", items=["tea.md"], corpus="/")
    half = call(session, "judge", set="mine", query="half \ud83d", items=["\ud83d"], note="\ud83d")
    assert half.queries[0].query == "half \ufffd"


@pytest.mark.slow
def test_whatever_is_judged_and_taken_back_the_file_says_what_holds(session: Session) -> None:
    """Random judgements beside the plainest model there is: a mapping, and the mappings that it was before."""
    rng = random.Random(7)
    now: dict[tuple[str, str], int] = {}
    before: list[dict[tuple[str, str], int]] = []
    for _ in range(120):
        query, item, grade = f"q{rng.randrange(4)}", f"i{rng.randrange(3)}", rng.randrange(3)
        kind = rng.choice(["grade", "grade", "grade", "remove", "undo"])
        if kind == "undo" and not before:
            continue
        then = dict(now)
        if kind == "undo":
            now = before.pop()
            call(session, "judge", set="any", undo=0)
        elif kind == "remove":
            now.pop((query, item), None)
            call(session, "judge", set="any", query=query, items=[item], remove=True)
        else:
            now[query, item] = grade
            call(session, "judge", set="any", query=query, items=[item], grade=grade)
        if kind != "undo" and now != then:
            before.append(then)
        sets = call(session, "judged-sets").sets
        shown = call(session, "judged-sets", name="any").queries if sets else ()
        assert {(one.query, held.item): held.grade for one in shown for held in one.judgements} == now
        cases = load_cases(cases_dir() / "any.jsonl") if sets else []
        gold = {(case.query, item) for case in cases for item in case.gold}
        assert gold == {pair for pair, held in now.items() if held}
        assert all(case.gold for case in cases)


_JUDGE = """
import sys
from ir.app.session import Session
with Session() as session:
    for number in range(15):
        session.call("judge", {"set": "ours", "query": f"q{number}", "items": [sys.argv[1]]}, door="http")
"""


@pytest.mark.slow
def test_two_who_judge_at_once_lose_nothing(session: Session) -> None:
    both = [subprocess.Popen([sys.executable, "-c", _JUDGE, item]) for item in ("a", "b")]
    assert [one.wait(timeout=60) for one in both] == [0, 0]
    assert {query: sorted(gold) for query, gold in judged("ours").items()} == {f"q{n}": ["a", "b"] for n in range(15)}
    numbers = [json.loads(line)["change"] for line in (cases_dir() / "ours.changes").read_text().splitlines()]
    assert numbers == list(range(1, 31))


# -- runs --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def runs(session: Session, corpus: str) -> tuple[str, str]:
    """The ids of two runs on the same set."""
    call(session, "judge", set="mine", query="green tea", items=["tea.md"], corpus=corpus)
    call(session, "judge", set="mine", query="boiling water", items=["black.md"], corpus=corpus)
    call(session, "judge", set="mine", query="train times", nothing=True, corpus=corpus)
    words = call(session, "eval", corpus=corpus, cases="mine", mode="lexical", save=True, label="words")
    both = call(session, "eval", corpus=corpus, cases="mine", save=True)
    return words.saved, both.saved


def test_a_run_that_was_kept_is_listed_and_shown_query_by_query(
    session: Session, corpus: str, runs: tuple[str, str]
) -> None:
    listed = call(session, "runs")
    assert {run.id: run.label for run in listed.runs} == {runs[0]: "words", runs[1]: None}
    assert call(session, "runs", corpus="other").runs == ()
    assert len(call(session, "runs", cases="mine", corpus=corpus, limit=1).runs) == 1
    shown = call(session, "runs", id=runs[0], depth=2)
    run = shown.runs[0]
    assert (run.mode, run.cases, run.corpus, run.n_cases) == ("lexical", "mine", corpus, 3)
    assert run.settings["mode"] == "lexical"
    assert run.metrics["recall@10"] == 1.0
    assert run.curves["recall"]["10"] == 1.0
    first, _, nothing = shown.queries
    assert (first.query, first.outcome, first.rank, first.judgements) == ("green tea", "hit_rank_1", 1, {"tea.md": 1})
    assert first.figures["ndcg@10"] == 1.0
    assert first.ranking[0][0] == "tea.md"
    assert len(first.ranking) <= 2
    assert (nothing.outcome, nothing.rank, nothing.figures) == ("abstention_unscored", None, {})
    told = json.dumps([one.to_dict() for one in (listed, shown)])
    assert str(data_dir()) not in told
    needs("jsonschema")
    from jsonschema import Draft202012Validator

    Draft202012Validator(response_schema(find_operation("runs"))).validate(shown.to_dict())


def test_runs_are_compared_by_id_and_paired_by_the_text_of_the_query(
    session: Session, corpus: str, runs: tuple[str, str]
) -> None:
    same = call(session, "compare", run_a=runs[0], run_b=runs[1])
    assert (same.comparison.n_queries, same.unpaired) == (2, 0)
    assert set(same.curves["ndcg"]) == set(runs)
    call(session, "judge", set="mine", query="green tea", remove=True)  # from now on the other queries have other ids
    call(session, "judge", set="mine", query="knead dough", items=["bread.md"], corpus=corpus)
    later = call(session, "eval", corpus=corpus, cases="mine", save=True).saved
    moved = call(session, "compare", run_a=runs[0], run_b=later, measures=["recall@1"])
    assert (moved.comparison.n_queries, moved.unpaired) == (1, 2)
    assert list(moved.queries.values()).count("boiling water") == 1
    assert moved.comparison.measures["recall@1"].ties == 1
    judged_anew = call(session, "compare", run_a=runs[0], run_b=runs[1], qrels="mine")
    assert judged_anew.comparison.n_queries == 1
    needs("jsonschema")
    from jsonschema import Draft202012Validator

    Draft202012Validator(response_schema(find_operation("compare"))).validate(moved.to_dict())


@pytest.mark.slow
def test_a_run_can_be_compared_with_a_file_at_the_command_line(
    session: Session, corpus: str, runs: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "dense.run"
    assert ir(["eval", corpus, "mine", "--mode", "dense", "--run", str(file)]) == 0
    assert ir(["compare", runs[0], str(file), "--json"]) == 0
    assert '"n_queries": 2' in capsys.readouterr().out
    assert ir(["compare", runs[0], runs[1], "--qrels", "mine", "--html", str(tmp_path / "page.html")]) == 0
    assert "<img" in (tmp_path / "page.html").read_text()
    assert ir(["compare", str(file), str(file)]) == 2
    assert "--qrels" in capsys.readouterr().err


def test_forgetting_a_run_is_tried_first(session: Session, runs: tuple[str, str]) -> None:
    tried = call(session, "forget-run", id=runs[0], dry_run=True)
    assert tried.bytes > 0
    assert len(call(session, "runs").runs) == 2
    assert call(session, "forget-run", id=runs[0]).bytes == tried.bytes
    assert [run.id for run in call(session, "runs").runs] == [runs[1]]
    assert all(path.name.startswith(runs[1]) for path in runs_dir().iterdir())
    with pytest.raises(NotFound):
        call(session, "compare", run_a=runs[0], run_b=runs[1])


def test_a_run_that_was_cut_short_is_not_there(session: Session, runs: tuple[str, str]) -> None:
    (runs_dir() / f"{runs[0]}.json").write_text("{", "utf-8")
    assert [run.id for run in call(session, "runs").runs] == [runs[1]]
    (runs_dir() / f"{runs[1]}.rankings.json").unlink()
    with pytest.raises(NotFound):
        call(session, "runs", id=runs[1])


def test_nobody_names_files_over_http(session: Session, corpus: str, runs: tuple[str, str], tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"query": "tea", "gold": ["tea.md"]}\n', "utf-8")
    file = tmp_path / "a.run"
    assert ir(["eval", corpus, "mine", "--run", str(file)]) == 0
    for name, arguments in (
        ("eval", {"corpus": corpus, "cases": str(cases)}),
        ("eval", {"corpus": corpus, "cases": "mine", "run": str(tmp_path / "b.run")}),
        ("eval", {"corpus": corpus, "cases": "mine", "html": str(tmp_path / "b.html")}),
        ("eval", {"corpus": str(tmp_path / "notes"), "cases": "mine"}),
        ("eval", {"collections": [str(tmp_path)]}),
        ("compare", {"run_a": str(file), "run_b": runs[1]}),
        ("compare", {"run_a": runs[0], "run_b": runs[1], "qrels": str(cases)}),
        ("compare", {"run_a": runs[0], "run_b": runs[1], "html": str(tmp_path / "b.html")}),
    ):
        with pytest.raises(InvalidInput):
            call(session, name, **arguments)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.run", "cases.jsonl", "notes"]


def test_who_sees_some_corpora_sees_what_was_said_of_them(session: Session, corpus: str, runs: tuple[str, str]) -> None:
    call(session, "judge", set="loose", query="tea", items=["tea.md"])
    theirs = Caller(corpora=frozenset({corpus}))
    others = Caller(corpora=frozenset({"other"}))

    def ask(caller: Caller, name: str, /, **arguments: Any) -> Any:
        return session.call(name, arguments, door="http", caller=caller)

    assert [one.name for one in ask(theirs, "judged-sets").sets] == ["mine"]
    assert len(ask(theirs, "runs").runs) == 2
    assert ask(others, "judged-sets").sets == ()
    assert ask(others, "runs").runs == ()
    for name, arguments in (
        ("judged-sets", {"name": "mine"}),
        ("judge", {"set": "mine", "query": "tea", "items": ["tea.md"], "corpus": corpus}),
        ("judge", {"set": "new", "query": "tea", "items": ["tea.md"]}),
        ("judge", {"set": "mine", "undo": 0}),
        ("eval", {"corpus": corpus, "cases": "mine"}),
        ("runs", {"id": runs[0]}),
        ("forget-run", {"id": runs[0]}),
        ("compare", {"run_a": runs[0], "run_b": runs[1]}),
    ):
        with pytest.raises(IrError):
            ask(others, name, **arguments)
    assert len(call(session, "judged-sets", name="mine").queries) == 3
    for query in ("green tea", "boiling water", "train times"):
        ask(theirs, "judge", set="mine", query=query, remove=True, corpus=corpus)
    with pytest.raises(IrError):  # an empty set is nobody's, and its history is
        session.call("judge", {"set": "mine", "undo": 0}, door="http", caller=others)
    ask(theirs, "judge", set="mine", undo=0)
    assert [one.query for one in ask(theirs, "judged-sets", name="mine").queries] == ["train times"]


def test_another_workspace_has_its_own(session: Session, corpus: str, runs: tuple[str, str]) -> None:
    with in_workspace("team-b"):
        assert call(session, "judged-sets").sets == ()
        assert call(session, "runs").runs == ()
        with pytest.raises(NotFound):
            call(session, "runs", id=runs[0])
        call(session, "judge", set="mine", query="coffee", items=["coffee.md"])
    assert len(call(session, "judged-sets", name="mine").queries) == 3


def test_the_command_line_judges_lists_and_shows(corpus: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ir(["judged-sets"]) == 0
    assert "nothing was judged" in capsys.readouterr().err
    assert ir(["judge", "mine", "green tea", "tea.md", "--corpus", corpus, "--note", "plain"]) == 0
    assert "change 1" in capsys.readouterr().out
    assert ir(["judge", "mine", "green tea", "black.md", "-g", "0"]) == 0
    assert ir(["judged-sets", "mine"]) == 0
    assert "q00000\tgreen tea\t1\ttea.md\tplain" in capsys.readouterr().out
    assert ir(["eval", corpus, "mine", "--save", "--json"]) == 0
    saved = json.loads(capsys.readouterr().out)["saved"]
    assert ir(["runs"]) == 0
    assert f"{saved}\t{corpus}\tmine\thybrid" in capsys.readouterr().out
    assert ir(["runs", saved]) == 0
    assert "q00000\thit_rank_1\t1" in capsys.readouterr().out
    assert ir(["forget-run", saved]) == 0
    assert ir(["runs"]) == 0
    assert "no run was kept" in capsys.readouterr().err
    assert ir(["judge", "mine", "--undo", "0"]) == 0
    assert ir(["judge", "mine", "tea"]) == 2
