"""Source code is cut between its definitions."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ir
from ir.base import Surface
from ir.strategy import Chunked
from ir.strategy import code as seam
from ir.strategy.code import Unit, Unparsable

LINES = ["x = 1; y = 2", "# note", "", "def f(): pass", "class A: pass", "if x:\n  y", "é = 'ü'"]
HERE = sorted((Path(__file__).parents[2] / "src" / "ir" / "strategy").glob("*.py"))


def chunks(text: str, name: str = "a.py", **options: Any) -> list[Surface]:
    return Chunked(**options).decompose(name, text).surfaces


def function(name: str, lines: int) -> str:
    body = "".join(f"    value_{number} = compute({number})\n" for number in range(lines))
    return f"def {name}():\n{body}    return value_0\n"


def test_functions_stay_whole_with_their_decorators_and_comments() -> None:
    first, second = function("first", 25), function("second", 25)
    text = f"import os\n\n\n{first}\n\n# Why the second is cached.\n@cache\n@other(1)\n{second}"
    texts = [chunk.text for chunk in chunks(text)]
    assert f"# Why the second is cached.\n@cache\n@other(1)\n{second}".strip() in texts
    assert any(first.strip() in piece for piece in texts)


def test_a_chunk_knows_its_lines_its_section_and_its_symbols() -> None:
    text = f'"""About."""\n\n\nclass Kettle:\n    """Boils."""\n\n{textwrap.indent(function("boil", 90), "    ")}'
    text += f"\n{textwrap.indent(function('pour', 40), '    ')}"
    found = chunks(text)
    pour = next(chunk for chunk in found if "def pour" in chunk.text)
    assert pour.metadata["section"] == "Kettle.pour"
    assert pour.metadata["symbols"] == ["Kettle.pour"]
    lines = text.splitlines()
    assert lines[pour.metadata["line_start"] - 1] == "    def pour():"
    assert lines[pour.metadata["line_end"] - 1] == "        return value_0"
    # The long one is cut between statements, and every piece says whose it is.
    pieces = [chunk for chunk in found if chunk.metadata.get("symbols") == ["Kettle.boil"]]
    assert len(pieces) > 1
    assert all(piece.text.splitlines()[-1].strip().startswith(("value_", "return")) for piece in pieces)


def test_small_neighbours_share_a_chunk_and_say_where_each_begins() -> None:
    text = "def a():\n    return 1\n\n\ndef b():\n    return 2\n"
    (only,) = chunks(text)
    assert only.metadata["symbols"] == ["a", "b"]
    assert (only.metadata["section"], only.metadata["sections"]) == ("a", ["b"])
    assert only.text[only.metadata["section_starts"][0] :].startswith("def b")


@pytest.mark.parametrize("path", HERE, ids=lambda path: path.name)
@pytest.mark.parametrize("size", [300, 1200])
def test_nothing_is_lost_and_no_function_that_fits_is_cut(path: Path, size: int) -> None:
    text = path.read_text()
    found = chunks(text, chunk_size=size, overlap=size // 6)
    covered: set[int] = set()
    for chunk in found:
        start, end = chunk.metadata["start"], chunk.metadata["end"]
        assert text[start:end] == chunk.text
        assert len(chunk.text) <= 2 * size
        covered.update(range(start, end))
    assert all(text[place].isspace() for place in range(len(text)) if place not in covered)
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            whole = "".join(lines[node.lineno - 1 : node.end_lineno]).strip()
            if len(whole) <= size:
                assert any(whole in chunk.text for chunk in found), node.name


def test_a_token_budget_holds_for_code() -> None:
    text = "\n\n".join(function(f"f{number}", 8) for number in range(6))
    found = Chunked(max_tokens=80).decompose("a.py", text).surfaces
    assert all((len(chunk.text) + 3) // 4 <= 80 for chunk in found)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def broken(:\n    pass\n", "line 1"),
        ("x = 1\0\n", "null"),
        ("(" * 5000 + ")" * 5000, "parsed: "),
        ("-" * 100_000 + "1", "parsed: "),
    ],
    ids=["syntax", "null", "parentheses", "unary"],
)
def test_what_cannot_be_parsed_is_cut_as_text_and_named(text: str, why: str) -> None:
    source = ir.CorpusSource.from_mapping({"a.py": text}, name="odd", strategy=Chunked(), embedder="light")
    report = ir.build(source, store=ir.CorpusStore.memory()).report
    assert report is not None
    assert (report.added, report.records > 0) == (["a.py"], True)
    ((named, told),) = report.remarks
    assert named == "a.py"
    assert told.startswith("cut as text, for it cannot be parsed")
    assert why in told


def test_deep_nesting_ends_somewhere() -> None:
    depth = 80
    text = "".join("    " * level + f"if x_{level}:\n" for level in range(depth)) + "    " * depth + "pass\n"
    assert "".join(chunk.text for chunk in chunks(text)).count("x_79") >= 1


def test_another_language_comes_in_through_the_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    def paragraphs(text: str) -> list[Unit]:
        if "!" in text:
            raise Unparsable("an exclamation mark")
        half = text.index("\n\n") + 2
        return [Unit(0, half, "function", "one"), Unit(half, len(text), "function", "two")]

    monkeypatch.setattr(seam, "cutter_for", {"lua": paragraphs}.get)
    monkeypatch.setattr("ir.strategy.chunked.cutter_for", {"lua": paragraphs}.get)
    text = "a" * 700 + "\n\n" + "b" * 700
    assert [chunk.metadata["symbols"] for chunk in chunks(text, "a.lua")] == [["one"], ["two"]]
    assert Chunked().decompose("a.lua", "!").remark is not None


@settings(max_examples=60)
@given(st.lists(st.sampled_from(LINES)))
def test_every_character_is_in_some_chunk(lines: list[str]) -> None:
    text = "\n".join(lines)
    kept = "".join(chunk.text for chunk in chunks(text, chunk_size=20, overlap=3))
    assert all(character in kept for character in text if not character.isspace())
