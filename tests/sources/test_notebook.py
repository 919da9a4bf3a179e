"""Notebooks are read as cells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ir
from ir.sources import CorpusSource, FileScope

Cell = dict[str, Any]


def markdown(*lines: str) -> Cell:
    return {"cell_type": "markdown", "metadata": {}, "source": list(lines)}


def code(*lines: str) -> Cell:
    output = {"output_type": "stream", "text": ["unsearchable output\n"]}
    return {"cell_type": "code", "metadata": {}, "source": list(lines), "outputs": [output], "execution_count": 1}


def notebook(path: Path, *cells: Cell) -> Path:
    about = {"language_info": {"name": "python"}}
    path.write_text(json.dumps({"cells": list(cells), "metadata": about, "nbformat": 4, "nbformat_minor": 5}))
    return path


def built(root: Path) -> ir.Corpus:
    source = CorpusSource.from_files(root, all_text=True, embedder="light")
    return ir.build(source, store=ir.CorpusStore.memory())


def test_cells_are_the_text_and_headings_hold(tmp_path: Path) -> None:
    notebook(
        tmp_path / "tea.ipynb",
        markdown("# Tea\n", "\n", "About tea."),
        code("import kettle\n"),
        markdown("## Water\n", "\n", "Green tea needs cooler water."),
        code("def steep(minutes):\n", "    return kettle.pour(minutes)\n"),
    )
    raw = FileScope(tmp_path, pattern=None)["tea.ipynb"]
    assert "```python\nimport kettle\n```" in raw["text"]
    assert "unsearchable" not in raw["text"]
    assert '"cells"' not in raw["text"]
    corpus = built(tmp_path)
    hit = corpus.search("cooler water", mode="lexical")[0]
    assert (hit.metadata["title"], hit.metadata["cell"]) == ("Tea", 1)
    assert "line_start" not in hit.metadata
    assert not corpus.search("unsearchable", mode="lexical")


def test_a_hit_is_cited_by_its_cell(tmp_path: Path) -> None:
    filler = "Nothing in particular is said in this cell about anything. " * 12
    cells = [markdown(f"# Part {number}\n\n", filler) for number in range(1, 8)]
    notebook(tmp_path / "long.ipynb", *cells[:4], code("def zymurgy(): ...\n"), *cells[4:])
    from ir.app.session import Session

    with Session() as session:
        asked = {"query": "zymurgy", "target": str(tmp_path), "mode": "lexical", "embedder": "light"}
        found = session.call("search", asked, allow_indexing=True).found
    assert found[0].citation.cell == 5
    assert found[0].to_dict()["cell"] == 5


def test_the_oldest_notebooks_are_read_too(tmp_path: Path) -> None:
    cells = [{"cell_type": "heading", "level": 2, "source": "Old"}, {"cell_type": "code", "input": ["x = 1"]}]
    (tmp_path / "old.ipynb").write_text(json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]}))
    assert FileScope(tmp_path, pattern=None)["old.ipynb"]["text"] == "## Old\n\n```\nx = 1\n```"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"cells": [', "not valid JSON"),
        ("[" * 100_000, "cannot be read"),
        ('{"metadata": {}}', "no cells"),
        ("[]", "not a JSON object"),
    ],
)
def test_a_notebook_that_cannot_be_read_is_one_line_in_the_report(tmp_path: Path, content: str, reason: str) -> None:
    (tmp_path / "broken.ipynb").write_text(content)
    (tmp_path / "fine.md").write_text("Fine.")
    report = built(tmp_path).report
    assert report is not None
    assert report.added == ["fine.md"]
    assert [(problem.id, reason in problem.reason) for problem in report.skipped] == [("broken.ipynb", True)]


def test_cells_of_odd_types_do_no_harm(tmp_path: Path) -> None:
    cells: list[Any] = [None, 7, {"source": 3}, {"cell_type": "code", "source": ["a", None]}, markdown("Text.")]
    (tmp_path / "odd.ipynb").write_text(json.dumps({"cells": cells, "metadata": []}))
    assert FileScope(tmp_path, pattern=None)["odd.ipynb"]["text"].endswith("Text.")
