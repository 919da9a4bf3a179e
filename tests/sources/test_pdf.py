"""What becomes of a PDF: headings, pages, reading order, and what is left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.extras import reason_for

pytest.importorskip("pypdfium2", reason=reason_for("pypdfium2"))

from tests.sources.pdfs import column, made

from ir import CorpusSource, CorpusStore, build, search
from ir.sources.decode import NotText
from ir.sources.pdf import pdf_text

PROSE = [f"Plain line {word} of the text that most of the book is set in." for word in ("one", "two", "three", "four")]


def test_headings_are_those_of_the_outline_with_the_number_that_the_page_has() -> None:
    pages = [column(["1 Combat", *PROSE, "1.1 Attack of", "Opportunity", *PROSE]), column(PROSE)]
    outline = [(1, "Combat", 0), (2, "Attack of Opportunity", 0), (1, "Not on its page", 1)]
    lines = [line for line in pdf_text(made(pages, outline=outline)).text.split("\n") if line.startswith("#")]
    assert lines == ["# 1 Combat", "## 1.1 Attack of Opportunity", "# Not on its page"]


def test_the_line_above_a_heading_is_no_part_of_it() -> None:
    pages = [
        column(["Tea Manual, Release 4.6.2", "1.1 Water", *PROSE[:3], "as it was said.", "1.2 Leaves", *PROSE]),
        column(["CHAPTER", "TWO", "CUPS", *PROSE]),
    ]
    outline = [(1, "Water", 0), (1, "Leaves", 0), (1, "Cups", 1)]
    text = pdf_text(made(pages, outline=outline)).text
    assert [line for line in text.split("\n") if line.startswith("#")] == [
        "# 1.1 Water",
        "# 1.2 Leaves",
        "# Chapter 2: CUPS",
    ]
    assert "as it was said." in text
    assert "TWO" not in text


def test_without_an_outline_larger_lines_are_headings() -> None:
    pages = [
        [(50, 760, 20, "The Book of Tea"), (50, 700, 14, "Green tea"), *column(PROSE, top=680)],
        [(50, 760, 14, "Black tea"), (50, 740, 12, "2.1 How to steep it"), *column(PROSE, top=700)],
    ]
    lines = [line for line in pdf_text(made(pages)).text.split("\n") if line.startswith("#")]
    assert lines == ["# The Book of Tea", "## Green tea", "## Black tea", "## 2.1 How to steep it"]


def test_a_line_that_only_begins_like_a_heading_is_none() -> None:
    text = pdf_text(made([column(["# a comment in code", *PROSE])])).text
    assert "    # a comment in code" in text


def test_running_heads_and_page_numbers_are_left_out() -> None:
    pages = [
        column(["The Book of Tea" if number % 2 else "A Chapter", f"Only on page {word}.", *PROSE[:2], str(number)])
        for number, word in enumerate(("one", "two", "three", "four", "five", "six", "seven", "eight"), 1)
    ]
    text = pdf_text(made(pages)).text
    assert "The Book of Tea" not in text
    assert "A Chapter" not in text
    assert "Only on page five." in text
    assert not any(line.strip().isdigit() for line in text.split("\n"))


def test_a_foot_with_the_title_of_the_chapter_beside_the_number_is_left_out() -> None:
    titles = ("Water", "Leaves", "Cups", "Milk", "Sugar", "Time")
    pages = [
        column([f"All about {title}.", *PROSE, f"Chapter 2. {title} {number}" if number % 2 else f"{number} {title}"])
        for number, title in enumerate(titles, 9)
    ]
    text = pdf_text(made(pages)).text
    assert "All about Milk." in text
    assert not [title for number, title in enumerate(titles, 9) if f"{title} {number}" in text or f"{number} " in text]


def test_a_table_of_contents_is_left_out_and_keeps_its_place_among_the_pages() -> None:
    contents = [f"{number} Chapter {'. ' * 20}{number * 7}" for number in range(1, 9)]
    read = pdf_text(
        made([column(["Contents", *contents, "9 Index 80"]), column(PROSE), column(["A . . . . row", *PROSE])])
    )
    assert "Chapter" not in read.text
    assert "row" in read.text
    assert len(read.pages) == 3


def test_a_few_equal_lines_far_apart_are_not_running_heads() -> None:
    firsts = ["Summary" if number in (0, 9, 18) else f"Part {chr(65 + number)}." for number in range(20)]
    pages = [column([first, *PROSE]) for first in firsts]
    assert pdf_text(made(pages)).text.count("Summary") == 3


LEFT = [f"The left column says its sentence number {number}." for number in range(8)]
RIGHT = [f"The right column has another story, part {number}." for number in range(8)]


def columns_in(order: str) -> bytes:
    left, right = column(LEFT, left=40, size=8), column(RIGHT, left=330, size=8)
    if order == "woven":
        lines = [line for pair in zip(left, right, strict=True) for line in pair]
    elif order == "jumping":
        lower = [(x, y - 500, size, text) for x, y, size, text in left[4:]]
        lines = [line for number in range(4) for line in (lower[number], left[number])]
        lines += right
    else:
        lines = left + right
    return made([lines])


@pytest.mark.parametrize("order", ["columns", "woven", "jumping"])
def test_columns_are_read_one_after_the_other(order: str) -> None:
    said = [line for line in pdf_text(columns_in(order)).text.split("\n") if line.strip()]
    assert said == [*LEFT, *RIGHT]


def test_printed_page_labels_are_cited(tmp_path: Path) -> None:
    pages = [column([f"About {word}."]) for word in ("forewords", "apples", "pears")]
    (tmp_path / "book.pdf").write_bytes(made(pages, labels=[(0, 1, "/r"), (2, 2, "/D")]))
    read = pdf_text((tmp_path / "book.pdf").read_bytes())
    assert read.labels == ["i", "ii", "1"]

    from ir.app import Context
    from ir.app.preparing import answer
    from ir.app.searching import SearchRequest
    from ir.app.searching import search as operation
    from ir.config import Settings

    context = Context(Settings.load({"embedder": "light", "mode": "lexical"}))
    (found,) = answer(operation, SearchRequest("pears", str(tmp_path)), context).found
    assert (found.citation.page, found.citation.page_label) == (3, "1")


def test_without_labels_the_numbers_that_are_printed_are_cited() -> None:
    front = [column(["The Book of Tea"]), column(PROSE)]
    pages = [column([f"Tea 5.4 {number}", f"All about {number}.", *PROSE]) for number in range(1, 7)]
    assert pdf_text(made([*front, *pages])).labels == ["[1]", "[2]", "1", "2", "3", "4", "5", "6"]
    assert pdf_text(made([*front, column(PROSE)])).labels == ["1", "2", "3"]


def test_the_section_of_a_hit_is_that_of_the_outline(tmp_path: Path) -> None:
    pages = [column(["Fire", *PROSE * 8, "Fireball", *PROSE * 8, "A bright streak flashes to a point."])]
    outline = [(1, "Fire", 0), (2, "Fireball", 0)]
    (tmp_path / "book.pdf").write_bytes(made(pages, outline=outline, title="Spells"))
    source = CorpusSource.from_files(tmp_path, pattern=None)
    corpus = build(source, store=CorpusStore.memory(), embedder="light")
    best = search(corpus, "bright streak", mode="lexical", k=1)[0]
    assert best.metadata["section"] == "Fire > Fireball"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (made([[]], picture=True), "run OCR"),
        (made([[]]), "PDF holds no text"),
        (made([column(PROSE)], password="x"), "protected by a password"),
        (b"%PDF-1.7\n" + b"\0junk" * 100, "cannot be read"),
        (b"", "cannot be read"),
        (made([column(PROSE)])[:400], "cannot be read"),
    ],
    ids=["scanned", "empty", "locked", "junk", "nothing", "cut"],
)
def test_a_file_without_readable_text_says_why(data: bytes, said: str) -> None:
    with pytest.raises(NotText, match=said):
        pdf_text(data)


def test_a_page_without_text_keeps_the_numbers_of_the_others() -> None:
    read = pdf_text(made([column(["Page one."]), [], column(["Page three."])]))
    assert len(read.pages) == 3
    assert read.text[read.pages[2] :].startswith("Page three.")
