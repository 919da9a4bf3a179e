"""The shown line, heading and excerpt belong to the same place, and the excerpt goes on to the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ir.analysis import analyzer_for, query_terms
from ir.analysis.excerpts import excerpt
from ir.app.citation import Citation, cite
from ir.base import SearchHit
from ir.strategy import Chunked

ENGLISH = analyzer_for()
FILLER = "The brown fox jumps over a lazy dog near the river bank. "
GUIDE = f"""# Tea guide

{FILLER * 2}

## Kettles

A kettle should be descaled twice a year with vinegar.

## Green tea

Steep it at 80 degrees for two minutes. {FILLER}

## Black tea

It takes boiling water and four minutes. {FILLER}
"""


def cited(text: str, query: str, **metadata: Any) -> Citation:
    """The citation of the chunk with most of the words, as a search would make it."""
    plan = Chunked().decompose("guide.md", {"text": text, "format": "markdown", **metadata})
    terms = query_terms(ENGLISH, query)
    best = max(plan.surfaces, key=lambda surface: len(set(terms) & set(ENGLISH.terms(surface.text))))
    return cite(hit(best.text, {**plan.filter_fields, **best.metadata}), terms, ENGLISH)


def hit(text: str, metadata: Mapping[str, Any]) -> SearchHit:
    return SearchHit("guide.md", "chunk", 1.0, text, metadata)


@pytest.mark.parametrize(
    ("query", "answer", "section"),
    [
        ("descale with vinegar", "descaled twice a year with vinegar", "Kettles"),
        ("green tea", "80 degrees for two minutes", "Green tea"),
        ("black tea", "boiling water and four minutes", "Black tea"),
        ("boiling minutes", "boiling water and four minutes", "Black tea"),
    ],
)
def test_line_heading_and_excerpt_are_of_one_place(query: str, answer: str, section: str) -> None:
    place = cited(GUIDE, query)
    assert answer in place.excerpt
    assert place.heading == f"Tea guide > {section}"
    line = GUIDE.splitlines()[(place.line or 0) - 1]
    assert line == f"## {section}" or answer in line
    assert place.excerpt[place.focus :].startswith(line[:20])


def test_without_a_word_in_common_the_body_is_shown_not_its_heading() -> None:
    place = cited(GUIDE, "zyzzyva")
    assert place.excerpt.startswith("…The brown fox")
    assert (place.line, place.marks) == (3, ())


def test_a_heading_is_never_shown_alone() -> None:
    text = f"{FILLER * 10}\n\n## Repairing zippers\n\nRub wax on the teeth and pull slowly.\n"
    place = cited(text, "repairing zippers")
    assert "Rub wax on the teeth" in place.excerpt
    assert place.heading.endswith("Repairing zippers")


def test_a_word_that_is_everywhere_does_not_decide_where_to_look() -> None:
    text = "Tea is good. " * 30 + "The kettle for tea whistles.\n" + "Tea is good. " * 30
    assert "whistles" in cited(text, "tea kettle").excerpt


def test_old_chunks_without_sections_still_name_the_nearest_heading() -> None:
    place = cite(hit(GUIDE, {"format": "markdown", "line_start": 1, "title": "Tea guide"}), {"boil"}, ENGLISH)
    assert place.heading == "Tea guide > Black tea"


def test_a_comment_in_code_is_no_heading() -> None:
    text = "# kettle\nx = 1\n\ndef pour(kettle):\n    return kettle.tilt()\n"
    place = cite(hit(text, {"format": "py", "line_start": 10}), {"tilt"}, ENGLISH)
    assert place.line == 14


def test_lines_count_with_windows_line_ends() -> None:
    place = cited("# A\r\n\r\none\r\ntwo\r\nneedle here\r\n", "needle")
    assert place.line == 5


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="abc #.\n\r`é", max_size=200), st.text(alphabet="abc ", max_size=8), st.integers(10, 60))
def test_excerpts_are_slices_with_marks_inside(text: str, query: str, width: int) -> None:
    shown, focus = excerpt(ENGLISH, text, query_terms(ENGLISH, query), width, headings=True)
    assert shown.text == text[shown.start : shown.start + len(shown.text)]
    assert 0 <= focus <= len(shown.text)
    for start, end in shown.spans:
        assert 0 <= start < end <= len(shown.text)


def test_a_line_of_millions_of_characters_is_quick() -> None:
    text = "word " * 400_000 + "needle"
    shown, _ = excerpt(ENGLISH, text, {"needl"}, 100)
    assert "needle" in shown.text
    assert len(shown.text) <= 100
