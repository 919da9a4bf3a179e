from __future__ import annotations

import logging
from typing import Any

import pytest

from ir.base import SearchHit
from ir.errors import InvalidInput
from ir.select import make_llm_selector, select

HITS = [
    SearchHit("a", "document", 0.9, "tea\n  and water", source="x"),
    SearchHit("b", "document", 0.89, "bread", source="x"),
    SearchHit("c", "document", 0.2, "song", source="x"),
]


def test_the_chooser_sees_query_and_candidates_and_its_choice_is_kept() -> None:
    seen: dict[str, str] = {}

    def chooser(*, query: str, candidates: str) -> list[str]:
        seen.update(query=query, candidates=candidates)
        return ["c", " a ", "unknown"]

    selection = select(HITS, strategy=make_llm_selector("a drink", chooser=chooser))
    assert selection.selected_ids == ["a", "c"]
    assert "note" not in selection.signals
    assert seen == {"query": "a drink", "candidates": "- a: tea and water\n- b: bread\n- c: song"}


def test_choosing_nothing_is_an_abstention() -> None:
    assert select(HITS, strategy=make_llm_selector("q", chooser=lambda **asked: [])).abstained


def failing(**asked: Any) -> list[str]:
    raise TimeoutError("slow model")


@pytest.mark.parametrize("chooser", [failing, lambda **asked: ["nonsense", "more"], lambda **asked: None])
def test_trouble_falls_back_and_says_so(chooser: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "ir.select")
    selection = select(HITS, strategy=make_llm_selector("q", chooser=chooser))
    assert selection.selected_ids == ["a", "b"]
    assert "selecting without it" in selection.signals["note"]
    assert "selecting without it" in caplog.text
    other = make_llm_selector("q", chooser=chooser, fallback=lambda hits: [hits[2]])
    assert select(HITS, strategy=other).selected_ids == ["c"]


def test_without_a_model_the_conservative_rule_decides(caplog: pytest.LogCaptureFixture) -> None:
    assert select(HITS, strategy=make_llm_selector("q")).selected_ids == ["a", "b"]
    assert "No language model is configured" in caplog.text


def test_only_the_first_candidates_are_shown() -> None:
    shown: list[str] = []

    def chooser(*, query: str, candidates: str) -> list[str]:
        shown.append(candidates)
        return []

    selector = make_llm_selector("q", max_candidates=1, chooser=chooser)
    selector(HITS)
    assert shown == ["- a: tea and water"]
    assert make_llm_selector("q", chooser=failing)([]) == []


def test_equal_ids_of_two_sources_are_told_apart() -> None:
    hits = [SearchHit("a", "document", 0.9, "tea", source="x"), SearchHit("a", "document", 0.8, "bread", source="y")]
    selection = select(hits, strategy=make_llm_selector("q", chooser=lambda **asked: ["y:a"]))
    assert [hit.source for hit in selection.selected] == ["y"]


def test_bad_options_are_refused() -> None:
    with pytest.raises(InvalidInput, match="max_candidates"):
        make_llm_selector("q", max_candidates=0)
    bad: Any = "gpt"
    with pytest.raises(InvalidInput, match="chooser must be callable"):
        make_llm_selector("q", chooser=bad)
