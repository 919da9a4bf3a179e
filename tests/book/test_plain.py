"""Books in plain text: their headings, and the heads and feet of their pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ir
from ir.book import Book
from ir.book.plain import headings_of, without_running_lines


def _searched(text: str, query: str, name: str = "rules.txt") -> ir.SearchHit:
    source = ir.CorpusSource.from_mapping({name: text}, name="rules", strategy=Book())
    corpus = ir.build(source, store=ir.CorpusStore.memory(), embedder="light")
    return ir.search(corpus, query, mode="lexical")[0]


def test_numbers_that_count_on_are_headings_and_those_of_lists_are_not() -> None:
    text = (
        "   THE GAME\n\n 1.  Play\n\nPlayers take turns:\n\n 1. draw\n 2. move\n\n"
        " 1.1.  Attacks\n\nRoll.\n\n 1. roll\n 2. hit\n\n 2.  Winning\n\nSee 1.1. first.\n\n 3.1 Version here\n"
    )
    assert [one.trail for one in headings_of(text)] == [("1. Play",), ("1. Play", "1.1. Attacks"), ("2. Winning",)]


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        (
            "CHAPTER I. The Sea\n\nx\n\nChapter II: Land\n\ny\n\nChapter III\n\nz\n",
            ["CHAPTER I. The Sea", "Chapter II: Land", "Chapter III"],
        ),
        ("MOVING\n\nx\n\nFIGHTING\n\ny\n\nRESTING\n\nz\n", ["MOVING", "FIGHTING", "RESTING"]),
        ("Game\n****\n\nx\n\nMoving\n~~~~~~\n\ny\n\nResting\n~~~~~~~\n", ["Game", "Moving", "Resting"]),
        ("= Game\n\nx\n\n== Moving\n\ny\n\n== Resting\n", ["Game", "Moving", "Resting"]),
        ("# Game\n\n## Moving\n\nx\n", ["Game", "Moving"]),
        ("Dear all,\n\nno headings here.\n\nYours\n", []),
        ("1 Play ........ 3\n\n2 Move ........ 4\n\n3 End      9\n\n", []),
    ],
)
def test_headings_are_found_in_the_way_that_finds_most(text: str, titles: list[str]) -> None:
    assert [one.title for one in headings_of(text)] == titles


def test_a_section_of_a_text_is_found_and_cited_by_the_lines_of_the_file() -> None:
    pages = "".join(
        f"\n\n  The Game            {number}\n\n\n{number}.  Rule {chr(96 + number)}\n\nWord{number} counts.\n"
        for number in range(1, 7)
    )
    hit = _searched(pages, "word4")
    assert hit.metadata["section_path"] == ["4. Rule d"]
    assert pages[hit.metadata["start"] :].startswith("4.  Rule d")
    assert "The Game" not in hit.text


def test_lines_that_repeat_without_counting_pages_stay() -> None:
    text = "".join(f"\n\nRoll 2 dice\n\n\nLine {number} of text\n" for number in (1, 5, 3, 9, 2, 7))
    assert without_running_lines(text) == text


@given(st.text(alphabet="1.2 \nAb=-#\f", max_size=200))
def test_any_text_keeps_its_length_and_its_headings_are_in_order(text: str) -> None:
    assert len(without_running_lines(text)) == len(text)
    starts = [one.start for one in headings_of(text)]
    assert starts == sorted(set(starts))
