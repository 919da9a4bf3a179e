from __future__ import annotations

import pytest

from ir.strategy import text_of


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("words", "words"),
        (None, ""),
        (b"caf\xc3\xa9", "café"),
        (b"\xff", "\ufffd"),
        (42, "42"),
        ({"description": "d", "body": "b"}, "b"),
        ({"content": "c", "text": None}, "c"),
        ({"text": {"text": "deep"}}, "deep"),
        ({"title": "only"}, ""),
        ("half \ud83d pair", "half \ufffd pair"),
    ],
)
def test_text_of_any_raw_item(raw: object, text: str) -> None:
    assert text_of(raw) == text


def test_a_named_key_is_the_only_one_looked_at() -> None:
    assert text_of({"question": "q", "text": "t"}, "question") == "q"
    assert text_of({"text": "t"}, "question") == ""
