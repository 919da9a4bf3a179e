"""``ir vocab`` and the operations behind it, through every door."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ir import operations
from ir.app.session import Session
from ir.cli.main import run
from ir.errors import IrError

ROWS = """red_fox,animal,50,"vulpes vulpes"
canid,animal,900,canine
wolf,animal,-1,
blue_tea,drink,7,"anchan tea,butterfly"
"""


@pytest.fixture
def terms(tmp_path: Path) -> Path:
    path = tmp_path / "terms.csv"
    path.write_text(ROWS, "utf-8")
    return path


@pytest.fixture
def built(terms: Path) -> str:
    assert run(["vocab", "build", "pets", str(terms), "--embedder", "none"]) == 0
    return "pets"


def test_a_vocabulary_is_built_shown_checked_asked_and_measured(
    terms: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    built = "pets"
    assert run(["vocab", "build", built, str(terms), "--embedder", "none"]) == 0
    assert "terms.csv:3" in capsys.readouterr().err
    assert run(["vocab", "info", built, "--verify"]) == 0
    assert "damaged\tnothing" in capsys.readouterr().out
    assert run(["vocab", "lint", built]) == 0
    assert "nothing looks wrong" in capsys.readouterr().out
    batch = tmp_path / "phrases.txt"
    batch.write_text("canine\n\nRED FOX\n", "utf-8")
    assert run(["vocab", "ground", built, "--file", str(batch), "-k", "1", "--explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[:2] for line in lines[1:]] == [["canine", "canid"], ["RED FOX", "red_fox"]]
    assert "surfaces" in lines[1]
    assert run(["vocab", "eval", built, "--compare"]) == 0
    assert "spelling" in capsys.readouterr().out
    cases = tmp_path / "cases.csv"
    cases.write_text("dog,canid\nfoxes,red_fox\nteas,blue_tea\n", "utf-8")
    assert run(["vocab", "eval", built, str(cases), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["measured"][0]["grid"]


def test_rows_are_added_without_building_anew(built: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = tmp_path / "more.jsonl"
    more.write_text('{"name": "canid", "aliases": ["doggo"]}\n{"name": "otter", "definition": "Swims."}\n', "utf-8")
    assert run(["vocab", "build", built, str(more), "--add"]) == 0
    capsys.readouterr()
    found = operations.ground(phrases=["doggo", "canine", "otter"], k=1)
    assert [one.terms[0].term for one in found.phrases] == ["canid", "canid", "otter"]
    assert operations.vocab_info().vocabularies[0].terms == 4


def test_what_goes_wrong_is_told(terms: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def fails(*words: str) -> str:
        assert run(["vocab", *words]) in (2, 3)
        return capsys.readouterr().err

    assert "ir vocab build" in fails("ground", "nothing", "x")
    assert "rows are wrong" in fails("build", "pets", str(terms), "--strict")
    assert not operations.vocab_info().vocabularies
    assert "build|info|lint" in fails("destroy", "pets")
    assert "--strict" in fails("info", "pets", "--strict")
    assert "no phrase" in fails("ground", "pets")
    empty = tmp_path / "empty.csv"
    empty.write_text("", "utf-8")
    assert "no term" in fails("build", "pets", str(empty))
    assert "no subword model" in fails("build", "pets", str(terms), "--subwords", str(terms))


def test_an_agent_reaches_vocabularies_by_name_only_and_never_what_is_blocked(built: str, terms: Path) -> None:
    policy = terms.with_name("policy.csv")
    policy.write_text("canid,0.99\n", "utf-8")
    operations.vocab_build(name=built, files=[str(terms)], policy=str(policy), embedders=["none"])
    session = Session()
    try:
        asked = {"phrases": ["canine"], "name": built, "allow_blocked": True}
        found = session.call("ground", asked, door="mcp")
        assert "canid" not in {one.term for one in found.phrases[0].terms}
        assert session.call("ground", asked).phrases[0].terms[0].term == "canid"
        for name in ("../pets", "/etc", "nobody"):
            with pytest.raises(IrError):
                session.call("ground", {"phrases": ["x"], "name": name}, door="mcp")
    finally:
        session.close()


def test_a_vocabulary_becomes_a_corpus(built: str, terms: Path) -> None:
    done = operations.vocab_build(name="pets", files=[str(terms)], embedders=["none"], corpus="pet-terms")
    assert done.corpus == "pet-terms"
    assert operations.search(query="butterfly", target="pet-terms").found[0].hit.artifact_id == "blue_tea"


def test_usage_gives_counts_and_context(tmp_path: Path) -> None:
    files = tmp_path / "terms.jsonl"
    files.write_text('"tea"\n"cup"\n"ship"\n', "utf-8")
    usage = tmp_path / "usage.jsonl"
    usage.write_text('["tea", "cup"]\n["tea", "cup"]\n["ship"]\n', "utf-8")
    done = operations.vocab_build(name="things", files=[str(files)], usage=str(usage), embedders=["none"])
    assert "no texts" in done.notes[0]
    about = operations.vocab_info(name="things").vocabularies[0]
    assert about.context_terms == 3
    found = operations.ground(phrases=["tea"], name="things", text=True, schema=True)
    assert found.phrases[0].terms[0].count == 2
    assert "tea" in found.schema["items"]["enum"]
