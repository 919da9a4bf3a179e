"""Highlights and snippets show why a text was found."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir.analysis import analyzer_for, highlights, query_terms, snippet
from ir.errors import InvalidInput

ENGLISH = analyzer_for()


def marked(text: str, query: str) -> list[str]:
    return [text[start:end] for start, end in highlights(ENGLISH, text, query_terms(ENGLISH, query))]


@pytest.mark.parametrize(
    ("text", "query", "found"),
    [
        ("Running runs, a runner ran", "run", ["Running", "runs"]),
        ("call getUserName()", "user", ["User"]),
        ("call getUserName()", "getUserName", ["getUserName"]),
        ("日本語のテキスト", "本語の", ["本語の"]),
        ("naïve Bayes", "naive", ["naïve"]),
        ("nothing here", "elsewhere", []),
        ("", "word", []),
    ],
)
def test_highlights(text: str, query: str, found: list[str]) -> None:
    assert marked(text, query) == found


def test_snippet_takes_the_window_with_most_distinct_terms() -> None:
    filler = "lorem ipsum dolor sit amet " * 20
    text = f"apple apple apple {filler} an apple and a pear on a plate {filler}"
    shown = snippet(ENGLISH, text, {"appl", "pear", "plate"}, width=80)
    assert "apple and a pear on a plate" in shown.text
    assert [shown.text[a:b] for a, b in shown.spans] == ["apple", "pear", "plate"]
    assert text[shown.start :].startswith(shown.text)


def test_snippet_is_cut_between_words() -> None:
    text = "abcdefghij " * 50 + "needle " + "klmnopqrst " * 50
    shown = snippet(ENGLISH, text, {"needl"}, width=60)
    assert set(shown.text.split()) == {"abcdefghij", "needle", "klmnopqrst"}
    assert len(shown.text) <= 60


def test_snippet_without_a_match_is_the_beginning() -> None:
    shown = snippet(ENGLISH, "one two three four", {"x"}, width=9)
    assert (shown.text, shown.spans, shown.start) == ("one two", [], 0)


def test_snippet_of_a_short_text_is_the_text() -> None:
    assert snippet(ENGLISH, "one two", {"two"}).text == "one two"
    assert snippet(ENGLISH, "", {"two"}) == ("", [], 0)


def test_width_must_be_positive() -> None:
    with pytest.raises(InvalidInput, match="at least 1"):
        snippet(ENGLISH, "text", {"text"}, width=0)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="abc _日本é\n", max_size=120), st.text(alphabet="abc 日本", max_size=12), st.integers(1, 60))
def test_snippets_are_slices_with_spans_inside(text: str, query: str, width: int) -> None:
    shown = snippet(ENGLISH, text, query_terms(ENGLISH, query), width)
    assert shown.text == text[shown.start : shown.start + len(shown.text)]
    assert len(shown.text) <= width
    ends = [0]
    for start, end in shown.spans:
        assert ends[-1] <= start < end <= len(shown.text)
        ends.append(end)
