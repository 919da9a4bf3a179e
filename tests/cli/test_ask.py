"""``ir ask`` at a terminal and in a pipe."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Ir


@pytest.fixture
def teas(tmp_path: Path) -> Path:
    folder = tmp_path / "teas"
    folder.mkdir()
    (folder / "green.md").write_text("Green tea is steeped at 80 degrees. It must never be boiled.")
    (folder / "black.md").write_text("Black tea takes boiling water and four minutes.")
    return folder


def test_it_answers_and_names_its_source(teas: Path, ir: Ir) -> None:
    said = ir("ask", str(teas), "How hot is green tea steeped?")
    assert said.code == 0
    assert said.out == "Green tea is steeped at 80 degrees. [1]\n\n[1] green.md:1\n"
    assert "No language model is configured" in said.err


def test_what_nothing_answers_is_not_answered(teas: Path, ir: Ir) -> None:
    said = ir("ask", str(teas), "who painted the ceiling of the chapel")
    assert said.code == 1
    assert said.out == ""
    assert "Probably nothing here answers that" in said.err
    assert "best sentences" not in said.err


def test_json_is_one_document(teas: Path, ir: Ir) -> None:
    told = ir("ask", str(teas), "How long does black tea take?", "--json").json
    assert told["by"] == "extract"
    assert [one["id"] for one in told["sources"] if one["cited"]] == ["black.md"]


def test_events_are_lines_of_json(teas: Path, ir: Ir) -> None:
    said = ir("ask", str(teas), "How long does black tea take?", "--events")
    kinds = [json.loads(line)["event"] for line in said.out.splitlines()]
    assert (kinds[:3], kinds[-1]) == (["search", "context", "generation"], "complete")


def test_a_server_that_is_not_there_is_told_after_the_search(
    teas: Path, ir: Ir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("IR_LLM_MODEL", "none")
    monkeypatch.setenv("IR_LLM_TIMEOUT_S", "1")
    said = ir("ask", str(teas), "How hot is green tea steeped?")
    assert said.code == 3
    assert "did not answer" in said.err
