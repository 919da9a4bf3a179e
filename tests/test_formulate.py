from __future__ import annotations

import logging
from typing import Any

import pytest

from ir.errors import InvalidInput
from ir.formulate import identity_formulator, make_llm_formulator


def test_the_identity_changes_nothing() -> None:
    assert identity_formulator("  as it is ") == "  as it is "


@pytest.mark.parametrize(
    ("answer", "queries"),
    [
        (["deploy app", "ship app"], ["deploy app", "ship app"]),
        ([" deploy ", "", "deploy", None, "ship"], ["deploy", "ship"]),
        ("deploy app", "deploy app"),
        (("a", "b"), ["a", "b"]),
    ],
)
def test_a_rewriter_gives_one_query_or_several(answer: Any, queries: Any) -> None:
    assert make_llm_formulator(rewriter=lambda query: answer)("how to deploy") == queries


def failing(query: str) -> str:
    raise RuntimeError("no model")


@pytest.mark.parametrize(
    "rewriter", [failing, lambda query: "", lambda query: [], lambda query: ["  "], lambda query: 7]
)
def test_a_failure_or_an_empty_answer_falls_back_and_says_so(rewriter: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "ir.formulate")
    assert make_llm_formulator(rewriter=rewriter)("query") == "query"
    assert "searching without it" in caplog.text
    assert make_llm_formulator(rewriter=rewriter, fallback=lambda query: [query, "x"])("query") == ["query", "x"]


def test_without_a_model_the_query_is_searched_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    formulate = make_llm_formulator()
    assert formulate("query") == "query"
    assert "No language model is configured" in caplog.text


def test_bad_options_are_refused() -> None:
    with pytest.raises(InvalidInput, match="n must be"):
        make_llm_formulator(n=0)
    with pytest.raises(InvalidInput, match="rewriter must be callable"):
        make_llm_formulator(rewriter="gpt")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="Unknown language model setting"):
        make_llm_formulator(tempratur=0.5)
