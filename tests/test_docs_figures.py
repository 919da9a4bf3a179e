"""Every figure that a page quotes is the one in the table it was taken from.

The tables are in ``docs/benchmarks.md`` (speed) and ``docs/quality.md`` (quality), which programs measure. Any page
may quote them, with a comment that readers do not see: ``1 ms<!-- Cost of size | 100,000 | hybrid p50 ms -->`` names a
table by its title or heading, a row by its first cell, and a column. ``one - other`` in the place of a row is the
difference of two.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MEASURED = [ROOT / "docs" / "benchmarks.md", ROOT / "docs" / "quality.md"]
QUOTE = re.compile(r"<!-- ([^|>]+?) \| ([^|>]+?) \| ([^|>]+?) -->")
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?|\.\d+")
Table = dict[str, dict[str, str]]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables(text: str) -> dict[str, Table]:
    """The first table after each title: row, column, cell."""
    found: dict[str, Table] = {}
    title, header = "", []
    for line in text.splitlines():
        if match := re.match(r"(?:#+ (.+)|\*\*(.+?)\.?\*\*)", line):
            title, header = match[1] or match[2], []
        elif not line.startswith("|"):
            title = "" if header else title
        elif title and not header:
            header = cells(line)
            found[title] = {}
        elif title and not line.startswith(("|--", "| --")):
            row = cells(line)
            found[title][row[0].strip("`")] = dict(zip(header, row, strict=True))
    return found


def quotes(page: Path) -> list[tuple[str, str, str, str]]:
    """What a page quotes: the number before the comment, and the cell that the comment names."""
    text = page.read_text("utf-8")
    found = []
    for match in QUOTE.finditer(text):
        numbers = NUMBER.findall(text[: match.start()].rpartition("\n")[2])
        assert numbers, f"{page.name}: no number before {match[0]}"
        found.append((numbers[-1], match[1], match[2], match[3]))
    return found


def figure(table: Table, row: str, column: str) -> float:
    """The first number of a cell, or the difference of two."""
    first, *second = (number(table[name][column]) for name in row.split(" - "))
    return first - second[0] if second else first


def number(cell: str) -> float:
    found = NUMBER.search(cell)
    assert found, cell
    return float(found[0].replace(",", ""))


def agrees(quoted: str, exact: float) -> bool:
    """Whether the exact figure, rounded as the quoted one is, is the quoted one."""
    digits = len(quoted.partition(".")[2])
    return f"{exact:.{digits}f}" == f"{number(quoted):.{digits}f}"


KNOWN = {title: table for page in MEASURED for title, table in tables(page.read_text("utf-8")).items()}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_figures_that_a_page_quotes_are_those_of_the_tables(page: Path) -> None:
    for quoted, title, row, column in quotes(page):
        assert title in KNOWN, f"{page.name}: no table {title!r}"
        exact = figure(KNOWN[title], row, column)
        assert agrees(quoted, exact), f"{page.name} says {quoted}, {title} | {row} | {column} says {exact}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_comment_breaks_a_table(page: Path) -> None:
    """A bar ends a cell, even inside a comment."""
    assert not re.findall(r"^\|.*<!--.*$", page.read_text("utf-8"), re.MULTILINE)


def test_the_first_pages_quote_figures() -> None:
    assert {page.name for page in PAGES if quotes(page)} >= {
        "README.md",
        "benchmarks.md",
        "quality.md",
        "models.md",
        "engines.md",
    }


def test_a_figure_that_differs_from_its_table_is_noticed() -> None:
    table = {"here": {"ms": "0.977"}, "there": {"ms": "2.5 / 3.1 ms"}}
    assert agrees("1.0", figure(table, "here", "ms"))
    assert agrees("1.5", figure(table, "there - here", "ms"))
    assert not agrees("1.1", figure(table, "here", "ms"))
    assert not agrees("3", figure(table, "there - here", "ms"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_of_measurements_are_in_one_place(page: Path) -> None:
    if (
        page in MEASURED or page.name == "discovery.md"
    ):  # discovery has the figures for refusing, which are nowhere else
        return
    fenced = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    heads = re.findall(r"^(\|.*\|)\n\|\s*-", fenced, re.MULTILINE)
    assert not [head for head in heads if re.search(r"p50|p95|nDCG|recall@|a second| ms\b", head)]


def test_the_default_ranks_best_where_the_page_says_so() -> None:
    page = re.sub(r"\s+", " ", (ROOT / "docs" / "quality.md").read_text("utf-8"))
    assert "above BM25, dense and RRF on each of the eight collections" in page
    table = KNOWN["One default for all"]
    for collection, value in table["default"].items():
        if collection not in ("system", "mean"):
            for other in ("BM25", "dense", "RRF"):
                assert number(value) > number(table[other][collection]), (collection, other)
