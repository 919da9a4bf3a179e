from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from ir.strategy import Chunked, WholeText


def test_without_metadata_a_mapping_s_own_scalars_are_fields() -> None:
    raw = {
        "text": "t",
        "owner": "me",
        "stars": 3,
        "good": True,
        "tags": ["a", "b"],
        "when": date(2024, 1, 2),
        "size": np.int64(7),
        "nested": {"x": 1},
        "mixed": [1, {"y": 2}],
        "none": None,
        "_private": 1,
        "long": "x" * 5000,
        3: "number",
    }
    assert WholeText().decompose("a", raw).filter_fields == {
        "owner": "me",
        "stars": 3,
        "good": True,
        "tags": ["a", "b"],
        "when": "2024-01-02",
        "size": 7,
    }


def test_given_metadata_are_the_fields_and_the_pointer_and_title_stay() -> None:
    raw = {"text": "t", "owner": "me", "path": "/x/a.md", "title": "T"}
    fields = WholeText().decompose("a", raw, {"lang": "en"}).filter_fields
    assert fields == {"path": "/x/a.md", "lang": "en", "title": "T"}
    assert WholeText().decompose("a", raw, {"title": "Mine"}).filter_fields["title"] == "Mine"
    assert WholeText().decompose("a", "t", {"lang": "en"}).filter_fields == {"lang": "en"}


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("a.md", "words\n\n# Late title #\n", "Late title"),
        ("a.md", "```\n# comment\n```\n# Real", "Real"),
        ("a.md", "# Notes on C#\n", "Notes on C#"),
        ("a.md", "# F# ##  \r\n", "F#"),
        ("a.md", "---\ntitle: 'From front matter'\n---\n# Heading", "From front matter"),
        ("a.md", "---\r\ntitle: 'From front matter'\r\n---\r\n# Heading", "From front matter"),
        ("note", "# Opening\n\ntext", "Opening"),
        ("note", "text\n\n# Not at the top", None),
        ("a.py", "# a comment", None),
        ("a.md", "## only a second level", None),
    ],
)
def test_the_title_that_a_text_gives_itself(name: str, text: str, title: str | None) -> None:
    assert Chunked().decompose(name, text).filter_fields.get("title") == title
