"""Links, chapters and walks by the command line and by operations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ir
from ir.app.session import Session
from ir.book import Book
from ir.cli.main import run

RULES = """# Rules
## Fireball
A bright streak flashes. Whoever is hit may be grappled.
## Grappled
It cannot move.
## Paint
A bright streak of paint dries in an hour, and flashes in the sun.
"""


@pytest.fixture
def rules(tmp_path: Path) -> str:
    source = ir.CorpusSource.from_mapping({"rules.md": RULES}, name="rules", strategy=Book())
    ir.build(source, embedder="light", floor=False)
    return "rules"


def found(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert run([*words, "--json"]) == 0
    return [hit["metadata"]["section_path"][-1] for hit in json.loads(capsys.readouterr().out)["found"]]


def test_the_command_follows_links_by_name(rules: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("search", rules, "the bright streak that hits you")
    assert found(capsys, *asked)[:2] == ["Fireball", "Grappled"]
    assert found(capsys, *asked, "--graph", "none")[:2] == ["Fireball", "Paint"]
    assert found(capsys, *asked, "--fusion", "minmax_corpus")[0] == "Fireball"
    assert found(capsys, *asked, "--chapters", "1", "--graph-first", "--no-aliases")[0] == "Fireball"


def test_the_setting_says_how_links_are_followed(
    rules: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_GRAPH", "none")
    assert found(capsys, "search", rules, "the bright streak that hits you")[:2] == ["Fireball", "Paint"]


def test_the_operations_take_the_same_fields(rules: str) -> None:
    asked = {"query": "the bright streak that hits you", "target": rules, "graph": "none"}
    with Session() as session:
        plain = session.call("search", asked, door="http")
        assert [one.hit.metadata["section_path"][-1] for one in plain.found[:2]] == ["Fireball", "Paint"]
        about = {
            "question": "the bright streak that hits you",
            "target": rules,
            "llm": False,
            "k": 2,
            "graph": "expand",
        }
        answer = session.call("ask", about, door="http")
        assert [one.section.rsplit(" > ")[-1] for one in answer.sources] == ["Fireball", "Grappled"]
        walk = {"query": "What is grappled?", "target": rules, "walk": "names"}
        walked = session.call("traverse", walk, door="http")
    assert (walked.intent, walked.names) == ("definition", ("grappled",))
    assert len(walked.candidates) >= len(walked.found) > 0
    assert walked.to_dict()["candidates"] == list(walked.candidates)


def test_a_walk_from_names_is_a_command(rules: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Grappled" in found(capsys, "traverse", rules, "grappled", "--walk", "names")
    assert run(["traverse", rules, "love", "--walk", "names"]) == 1
    assert "names nothing" in capsys.readouterr().err
