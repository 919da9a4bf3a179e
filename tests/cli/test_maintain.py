"""``ir maintain``, ``ir coverage`` and ``ir graph``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ir = Callable[..., Any]


def test_maintain_does_what_is_due(ir: Ir, notes: Path) -> None:
    nothing = ir("maintain")
    assert (nothing.code, nothing.out) == (0, "")
    assert "no corpora" in nothing.err
    ir("build", "notes")
    (notes / "coffee.md").write_text("Roasted coffee keeps for a month.\n")
    due = ir("maintain", "--dry-run", "--json").json
    assert [(item["task"], item["status"]) for item in due["results"]] == [("update", "due")]
    done = ir("maintain", "notes")
    assert done.code == 0
    assert "\tupdate\tdone\t1 added" in done.out
    assert "\tcheck\tcurrent\t" in ir("maintain").out


def test_a_failure_is_exit_code_three(ir: Ir, notes: Path) -> None:
    ir("register", "kitchen", "notes", "--embedder", "no/such-model")
    done = ir("maintain")
    assert done.code == 3
    assert "no/such-model" in done.out
    assert ir("maintain", "nosuch").code == 3


def test_coverage_tells_what_a_build_would_change(ir: Ir, notes: Path) -> None:
    assert ir("coverage", "notes").code == 3
    ir("build", "notes")
    whole = ir("coverage", "notes")
    assert whole.code == 0
    assert "100% of the source" in whole.out
    (notes / "coffee.md").write_text("Coffee.\n")
    (notes / "tea.md").write_text("No more tea.\n")
    (notes / "bread.txt").unlink()
    behind = ir("coverage", "notes")
    assert behind.code == 1
    assert "missing\tcoffee.md" in behind.out
    assert "stale\ttea.md" in behind.out
    assert "orphaned\tbread.txt" in behind.out
    assert ir("coverage", "notes", "--json").json["complete"] is False


@pytest.fixture
def linked(tmp_path: Path, ir: Ir) -> str:
    rows = [
        {"id": "app", "text": "the application", "deps": ["Lib>=2", "toolkit"], "parent": "suite"},
        {"id": "lib", "text": "a library", "deps": []},
        {"id": 'odd "one"\\', "text": "an awkward name", "deps": ["lib"]},
        {"id": "alone", "text": "no links at all"},
    ]
    path = tmp_path / "things.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert ir("register", "things", str(path), "--kind", "jsonl").code == 0
    built = ir("build", "things", "--links")
    assert built.code == 0, built.err
    return "things"


def test_neighbours_in_both_directions(ir: Ir, linked: str) -> None:
    done = ir("graph", linked, "neighbours", "lib")
    assert done.code == 0
    assert done.out.splitlines()[1:] == ["from\tREF\tapp", 'from\tREF\todd "one"\\']
    out = ir("graph", linked, "neighbours", "app", "--type", "REF", "--json").json["edges"]
    assert [(edge["type"], edge["target"]) for edge in out] == [("REF", "lib"), ("REF", "toolkit")]
    alone = ir("graph", linked, "neighbours", "alone")
    assert alone.code == 1
    assert "'alone' has no such links; ir build --links makes them" in alone.err


def test_exports_as_dot_and_json(ir: Ir, linked: str, tmp_path: Path) -> None:
    dot = ir("graph", linked, "export").out
    assert dot.startswith('digraph "things" {\n')
    assert '[label="odd \\"one\\"\\\\"];' in dot
    assert dot.count("->") == 4
    document = ir("graph", linked, "export", "--format", "json").json
    assert {edge["type"] for edge in document["edges"]} == {"REF", "PARENT"}
    file = tmp_path / "links.dot"
    assert ir("graph", linked, "export", "--output", str(file)).code == 0
    assert file.read_text().strip() == dot.strip()
    assert ir("graph", linked, "export", "--output", str(file)).code == 2
    assert ir("graph", linked, "export", "--output", str(file), "--force").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["neighbours"], "ID"),
        (["neighbours", "libb"], "'lib'"),
        (["export", "lib"], "no ID"),
        (["export", "--format", "svg"], "'dot'"),
        (["draw"], "'export'"),
        (["neighbours", "lib", "--output", "x"], "export"),
    ],
)
def test_wrong_usage_of_graph(ir: Ir, linked: str, arguments: list[str], said: str) -> None:
    done = ir("graph", linked, *arguments)
    assert done.code == 2
    assert said in done.err


def test_a_corpus_without_links_is_exit_code_one(ir: Ir, notes: Path) -> None:
    ir("build", "notes")
    done = ir("graph", "notes", "export")
    assert done.code == 1
    assert "no links" in done.err
