from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ir.base import Surface
from ir.errors import InvalidInput
from ir.strategy import Chunked, Package, TurnPair, estimate_tokens, strategy_id, strategy_to_spec

WORDS = st.text(st.sampled_from("abcdé中. !?\t#`-=~\r"), min_size=0, max_size=12)
LINES = st.one_of(WORDS, st.sampled_from(["", "# One", "## Two", "### Three", "```", "~~~", "---", "===", "    code"]))
TEXTS = st.one_of(st.text(max_size=300), st.lists(LINES, max_size=60).map("\n".join))


def chunks(text: str, **options: Any) -> list[Surface]:
    return Chunked(**options).decompose("doc", text).surfaces


@pytest.mark.slow
@given(TEXTS, st.integers(1, 80), st.integers(0, 79), st.sampled_from(["doc", "doc.py", "doc.txt"]))
@example("# a\n" * 30, 5, 4, "doc")
@settings(max_examples=300, deadline=None)
def test_chunks_hold_everything_within_bounds(text: str, size: int, overlap: int, name: str) -> None:
    overlap = overlap % size
    made = Chunked(chunk_size=size, overlap=overlap).decompose(name, text).surfaces
    covered = bytearray(len(text))
    for index, chunk in enumerate(made):
        at = chunk.metadata
        text_here = text.replace("\ud800", "\ufffd")
        assert text_here[at["start"] : at["end"]] == chunk.text
        assert chunk.text.strip()
        assert len(chunk.text) <= size
        assert (at["chunk_index"], at["n_chunks"]) == (index, len(made))
        assert at["line_start"] == text.count("\n", 0, at["start"]) + 1
        assert at["line_end"] == text.count("\n", 0, at["end"]) + 1
        covered[at["start"] : at["end"]] = b"\1" * len(chunk.text)
    assert all(covered[i] or char.isspace() for i, char in enumerate(text))
    for before, after in pairwise(made):
        assert before.metadata["start"] < after.metadata["start"]
        assert before.metadata["end"] < after.metadata["end"]
        assert before.metadata["end"] - after.metadata["start"] <= overlap


@given(TEXTS, st.integers(1, 30))
@settings(max_examples=150, deadline=None)
def test_a_token_budget_is_kept(text: str, budget: int) -> None:
    def count(part: str) -> int:
        return sum(1 + part_length // 3 for part_length in map(len, part.split()))

    made = Chunked(chunk_size=100, overlap=10).with_budget(budget, count).decompose("doc", text).surfaces
    assert all(count(chunk.text) <= budget or len(chunk.text) == 1 for chunk in made)
    assert "".join("".join(chunk.text for chunk in made).split()) != "" or not text.strip()


def test_consecutive_chunks_of_prose_share_text() -> None:
    text = " ".join(f"word{i}" for i in range(2000))
    made = chunks(text)
    shared = [a.metadata["end"] - b.metadata["start"] for a, b in pairwise(made)]
    assert shared
    assert all(100 < size <= 200 for size in shared)
    assert all(chunk.text.startswith("word") for chunk in made)


def test_a_heading_starts_a_chunk_without_overlap_and_names_the_section() -> None:
    body = "Some words about it. " * 15
    text = f"# Guide\n\n{body}\n\n## Install\n\n### Linux\n\n{body}\n\n## Use\n\n{body}"
    plan = Chunked(chunk_size=500, overlap=100).decompose("guide.md", text)
    assert plan.filter_fields == {"title": "Guide"}
    starts = {chunk.text.splitlines()[0]: chunk.metadata.get("section") for chunk in plan.surfaces}
    assert starts["# Guide"] is None
    assert starts["## Install"] == "Install > Linux"
    assert starts["## Use"] == "Use"


def test_a_heading_after_little_text_stays_with_it() -> None:
    assert len(chunks("intro\n\n## A\n\ntext", chunk_size=300, overlap=0)) == 1


def test_a_code_block_is_kept_whole_where_it_fits() -> None:
    code = "```\n# no heading\n\n" + "x = 1\n" * 20 + "```"
    text = "Words of an introduction. " * 12 + "\n\n" + code + "\n\nAfter. " * 12
    made = chunks(text, chunk_size=400, overlap=50)
    assert any(code in chunk.text for chunk in made)
    assert all("section" not in chunk.metadata for chunk in made)


def test_a_line_that_begins_with_inline_code_opens_no_block() -> None:
    text = "```make demo``` shows it.\n\n# Use\n\n" + "It is used so. " * 9
    plan = Chunked(chunk_size=80, overlap=0).decompose("a.md", text)
    assert plan.filter_fields["title"] == "Use"
    assert plan.surfaces[1].text.startswith("# Use")


def test_code_is_cut_at_lines() -> None:
    text = "".join(f"    value_{i} = compute(some.attribute, other. thing)\n" for i in range(200))
    made = Chunked().decompose("a.py", text).surfaces
    assert len(made) > 5
    assert all(chunk.text.startswith("    value_") and chunk.text.endswith(")") for chunk in made)


def test_sentences_are_preferred_to_words() -> None:
    made = chunks("One sentence is here. " * 100, chunk_size=120, overlap=30)
    assert all(chunk.text.endswith(".") and chunk.text.startswith("One") for chunk in made)


def test_underlined_headings_are_headings() -> None:
    text = "Title\n=====\n\n" + "words " * 40 + "\n\nPart\n----\n\n" + "words " * 40
    plan = Chunked(chunk_size=300, overlap=0).decompose("a.md", text)
    assert plan.filter_fields["title"] == "Title"
    assert plan.surfaces[-1].metadata["section"] == "Part"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chunk_size": 0}, "chunk_size must be a whole number of at least 1, not 0."),
        ({"overlap": -1}, "overlap must be a whole number of at least 0, not -1."),
        ({"chunk_size": 100, "overlap": 100}, r"overlap \(100\) must be smaller than chunk_size \(100\)."),
        ({"chunk_size": 2.5}, "chunk_size must be a whole number"),
        ({"max_tokens": 0}, "max_tokens must be a whole number of at least 1, not 0."),
    ],
)
def test_bad_sizes_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Chunked(**options)


@pytest.mark.parametrize("strategy", [Chunked, Package, TurnPair])
def test_sizes_counted_by_numpy_make_the_same_strategy(strategy: Any) -> None:
    counted = strategy(chunk_size=np.int64(300), overlap=np.int32(20))
    assert strategy_id(counted) == strategy_id(strategy(chunk_size=300, overlap=20))
    assert strategy_to_spec(counted) == strategy_to_spec(strategy(chunk_size=300, overlap=20))


def test_without_a_counter_tokens_are_estimated() -> None:
    made = Chunked().with_budget(50).decompose("a.txt", "中文内容。" * 400).surfaces
    assert all(estimate_tokens(chunk.text) <= 50 for chunk in made)
    assert all(len(chunk.text) > 30 for chunk in made[:-1])


def test_the_headings_that_are_embedded_with_a_chunk_count_in_its_budget() -> None:
    raw = {"text": "word " * 200, "title": "t" * 80}
    made = Chunked().with_budget(60).decompose("a.txt", raw).surfaces
    assert all(estimate_tokens(chunk.text) + 20 <= 60 for chunk in made)


def test_a_smaller_budget_stays() -> None:
    assert Chunked(max_tokens=20).with_budget(500).max_tokens == 20
    assert Chunked().max_tokens is None


def test_pages_and_first_lines_come_from_the_raw_item() -> None:
    raw = {"text": "a" * 50 + "\n" + "b" * 50, "_pages": [0, 51], "_first_line": 7, "format": "txt"}
    made = Chunked(chunk_size=52, overlap=0).decompose("x", raw).surfaces
    assert [(c.metadata["page"], c.metadata["line_start"]) for c in made] == [(1, 7), (2, 8)]
    unlined = Chunked().decompose("x", {"text": "a", "_first_line": None}).surfaces[0]
    assert "line_start" not in unlined.metadata


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["word " * 2_000_000, "x" * 10_000_000, "\n" * 10_000_000 + "x", "# h\n" * 300_000, "." * 10_000_000],
    ids=["words", "one word", "blank", "headings", "dots"],
)
def test_ten_megabytes_take_seconds(text: str) -> None:
    began = time.perf_counter()
    made = chunks(text)
    # Anything that is not linear would take minutes.
    assert time.perf_counter() - began < 15
    assert made
