"""Phrases that tell of a question about links."""

from __future__ import annotations

import pytest

from ir.query.phrases import PHRASES, asks_for_links, phrases_of


@pytest.mark.parametrize(
    "query",
    [
        "what references the parser",
        "which module uses sqlite",
        "what implements Store",
        "what depends on the tokenizer",
        "What calls parse_order?",
        "who calls parse_order",
        "where is the retry budget used",
    ],
)
def test_the_phrases_of_the_contract_are_known(query: str) -> None:
    assert asks_for_links(query, phrases_of("english"))


@pytest.mark.parametrize("query", ["how are orders parsed", "reuses of buffers", "where is the cache", "misuses"])
def test_other_questions_are_not_taken_for_them(query: str) -> None:
    assert not asks_for_links(query, phrases_of("english"))


def test_each_language_has_its_own_and_others_have_those_of_code() -> None:
    assert asks_for_links("wer ruft parse_order auf", phrases_of("german"))
    assert not asks_for_links("wer ruft parse_order auf", phrases_of("english"))
    assert phrases_of("finnish") == phrases_of(None) == PHRASES["english"]


def test_a_user_s_own_phrases_hold_alone() -> None:
    own = phrases_of("english", "touches, gets * from")
    assert asks_for_links("what gets orders from the disk", own)
    assert not asks_for_links("who calls parse_order", own)
    assert not asks_for_links("anything", phrases_of("english", ()) and ())
