from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir.sources import FileScope
from ir.sources.frontmatter import split_front_matter


def test_scalars_lists_and_dates_are_fields() -> None:
    front = split_front_matter("---\r\ntitle: A\r\ntags: [x, y]\r\nwhen: 2024-01-02\r\n---\r\nbody\r\n")
    assert front.fields == {"title": "A", "tags": ["x", "y"], "when": "2024-01-02"}
    assert (front.body, front.first_line, front.problem) == ("body\r\n", 6, None)


def test_a_title_is_text_even_if_it_looks_like_a_number() -> None:
    assert split_front_matter("---\ntitle: 1984\nyear: 1949\n---\n").fields == {"title": "1984", "year": 1949}


@pytest.mark.parametrize("text", ["", "words", "---", "---\nwords\n\nmore", "----\na: b\n----\n", "---\n---\n"])
def test_texts_without_fields(text: str) -> None:
    front = split_front_matter(text)
    assert (front.fields, front.problem) == ({}, None)


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ("a: [", "not usable YAML"),
        ("a: &x [1]\nb: *x", "aliases and anchors are not allowed"),
        ("a: " + "[" * 50 + "]" * 50, "nested more than 20 deep"),
        ("- a\n- b", "a mapping is expected, not a list"),
        ("a: !!python/object/apply:os.system [ls]", "not usable YAML"),
        ("a: " + "9" * 5000, "not usable YAML"),
        ("a: 2024-99-99", "not usable YAML"),
        ("a: b\n" * 20_000, "no closing '---' within 64 KB"),
    ],
    ids=["broken", "alias", "deep", "list", "tag", "number", "date", "large"],
)
def test_a_bad_block_is_named_and_the_text_kept_whole(block: str, problem: str) -> None:
    text = f"---\n{block}\n---\nbody"
    front = split_front_matter(text)
    assert front.problem is not None
    assert problem in front.problem
    assert (front.fields, front.body, front.first_line) == ({}, text, 1)


@given(st.text(st.sampled_from("-\n:ab [*&{}!|>'\"#?,1.\t"), max_size=60))
def test_no_text_is_fatal_and_none_is_lost(block: str) -> None:
    text = f"---\n{block}\n---\nbody"
    front = split_front_matter(text)
    assert text.endswith(front.body)
    assert front.first_line == text[: len(text) - len(front.body)].count("\n") + 1


def test_a_folder_reports_a_bad_block_and_keeps_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\nx: [\n---\nbody")
    scope = FileScope(tmp_path)
    assert scope["a.md"]["text"].endswith("body")
    (problem,) = scope.skipped()
    assert problem.id == "a.md (front matter)"
    assert problem.reason.endswith("the text is kept whole")


def test_front_matter_cannot_replace_what_the_file_is(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\npath: /etc/passwd\ntext: no\nformat: x\n_pages: [1]\n---\nbody")
    raw = FileScope(tmp_path)["a.md"]
    assert (raw["text"], raw["path"], raw["format"]) == ("body", str(tmp_path / "a.md"), "markdown")
    assert "_pages" not in raw
