"""Cases written by machine."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ir.errors import InvalidInput, LlmError
from ir.eval import probe_queries
from ir.eval_gen import (
    build_eval_set,
    corpus_signature,
    extract_queries,
    generate_abstention_cases,
    generate_cases,
    leaks_name,
    make_llm_abstention_generator,
    make_llm_query_generator,
    mask_name,
)

TOOLS: dict[str, Any] = {
    "pdf-reader": {"name": "PdfReader", "description": "PdfReader reads PDF files and finds the tables in them."},
    "ci_advisor": {"description": "Looks at a failed build and says what to change. Use ci advisor daily."},
    "short": {"description": "Too short."},
}


def _echo(description: str, *, n: int) -> list[str]:
    return [f"{description} number {count}" for count in range(n)]


# --- names -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("written", ["ci-advisor", "CI Advisor", "ci_advisor", "ciadvisor", "CiAdvisor", "ci.advisor"])
def test_a_name_is_masked_however_it_is_written(written: str) -> None:
    assert mask_name(f"Use {written} now.", "ci-advisor") == "Use this capability now."
    assert mask_name("Use ci-advisor now.", written if written != "ciadvisor" else "ci-advisor").count("advisor") == 0


def test_only_whole_words_are_masked() -> None:
    assert mask_name("specific circumstances", "ci") == "specific circumstances"
    assert mask_name("cat category", "cat") == "this capability category"


def test_names_too_small_to_mask_are_left() -> None:
    assert mask_name("a cat and a dog", "a") == "a cat and a dog"
    assert mask_name("x - y", "-") == "x - y"
    assert not leaks_name("a cat", "a")


def test_a_placeholder_that_is_the_name_is_replaced() -> None:
    masked = mask_name("capability x", "capability")
    assert "capability" not in masked


def test_special_characters_in_name_and_placeholder_are_taken_literally() -> None:
    assert mask_name("use c++ (fast)", "fast", placeholder=r"\1") == r"use c++ (\1)"


def test_leaks_are_phrases_or_all_words_in_any_order() -> None:
    assert leaks_name("the PDF reader, please", "pdf-reader")
    assert leaks_name("a reader for my pdf", "pdf-reader")
    assert not leaks_name("a reader for my text", "pdf-reader")
    assert not leaks_name("readers", "reader")


@given(st.text(max_size=60), st.text(max_size=12))
def test_masked_text_never_leaks_the_name_as_a_phrase(text: str, name: str) -> None:
    once = mask_name(text, name, placeholder="§")
    assert mask_name(once, name, placeholder="§") == once


# --- generating --------------------------------------------------------------------------------------------------


def test_cases_carry_their_artifact_and_not_its_name() -> None:
    told: dict[str, str] = {}
    with pytest.warns(UserWarning, match="1 of 3 artifacts, among them 'short'"):
        cases = generate_cases(
            TOOLS, k=2, query_generator=_echo, corpus_name="tools", on_skip=lambda key, why: told.update({key: why})
        )
    assert [(case.gold, case.source_id, case.corpus) for case in cases] == [
        (("pdf-reader",), "pdf-reader", "tools"),
        (("pdf-reader",), "pdf-reader", "tools"),
        (("ci_advisor",), "ci_advisor", "tools"),
        (("ci_advisor",), "ci_advisor", "tools"),
    ]
    assert not any(leaks_name(case.query, "PdfReader") for case in cases[:2])
    assert not any(leaks_name(case.query, "ci_advisor") for case in cases[2:])
    assert cases[0].metadata == {"generator": "custom", "masked": True}
    assert "20 characters" in told["short"]


def test_a_query_that_names_the_artifact_is_thrown_away() -> None:
    def tells(description: str, *, n: int) -> list[str]:
        return ["open the pdf with a reader", "find tables", "", "find tables"]

    cases = generate_cases({"pdf-reader": "A text that is long enough to use."}, query_generator=tells)
    assert [case.query for case in cases] == ["find tables"]
    kept = generate_cases({"pdf-reader": "A text that is long enough."}, query_generator=tells, mask_names=False)
    assert [case.query for case in kept] == ["open the pdf with a reader", "find tables"]


def test_one_failing_artifact_does_not_stop_the_others() -> None:
    def moody(description: str, *, n: int) -> list[str]:
        if "first" in description:
            raise RuntimeError("no ideas")
        return ["a query"]

    told: list[tuple[str, str]] = []
    with pytest.warns(UserWarning, match="no ideas"):
        cases = generate_cases(
            {"one": "the first description", "two": "the second description"},
            query_generator=moody,
            on_skip=lambda key, why: told.append((key, why)),
        )
    assert [case.gold for case in cases] == [("two",)]
    assert told == [("one", "no ideas")]


def test_a_cap_takes_the_first_ids() -> None:
    scope = {name: f"a long enough description of {name}" for name in ("zulu", "alpha", "mike")}
    cases = generate_cases(scope, k=1, query_generator=lambda text, *, n: ["some query"], max_artifacts=2)
    assert [case.source_id for case in cases] == ["alpha", "mike"]


@pytest.mark.parametrize("options", [{"k": 0}, {"k": True}, {"max_artifacts": 0}])
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        generate_cases(TOOLS, query_generator=_echo, **options)


# --- language models ---------------------------------------------------------------------------------------------


def test_a_model_answers_in_lines() -> None:
    asked: list[str] = []

    def complete(prompt: str) -> str:
        asked.append(prompt)
        return '1. "find tables"\n- 3D models\n\n* find tables\n```\n2) -9 degrees'

    generate = make_llm_query_generator(complete=complete)
    queries = generate("Finds tables.", n=5)
    assert list(queries) == ["find tables", "3D models", "-9 degrees"]
    assert "Finds tables." in asked[0]
    assert "5 different" in asked[0]
    assert list(generate("x", n=1)) == ["find tables"]


def test_a_model_that_is_down_falls_back_and_is_not_asked_for_ever() -> None:
    calls = 0

    def down(prompt: str) -> str:
        nonlocal calls
        calls += 1
        raise LlmError("connection refused")

    scope = {f"n{n}": f"Sentence number {n} says something. And more of it." for n in range(8)}
    with pytest.warns(UserWarning, match="3 times in a row"):
        cases = generate_cases(scope, k=1, query_generator=make_llm_query_generator(complete=down))
    assert calls == 3
    assert len(cases) == 8
    assert {case.metadata["generator"] for case in cases} == {"extracted"}
    assert cases[4].query == "Sentence number 4 says something"


def test_nonsense_from_a_model_is_a_failure_too() -> None:
    generate = make_llm_query_generator(complete=lambda prompt: "\n \n")
    assert list(generate("Something long enough to use.", n=2)) == ["Something long enough to use"]


def test_without_a_configured_model_cases_are_extracted() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = generate_cases({"a": "Reads the meter once a day."}, k=1)
    assert [(case.query, case.metadata["generator"]) for case in cases] == [("Reads the meter once a day", "extracted")]


def test_extracted_queries_are_sentences() -> None:
    assert list(extract_queries("# Title here\nOne sentence. Another one! x", n=5)) == ["One sentence", "Another one"]


def test_code_tables_and_headings_are_nobodys_queries() -> None:
    text = """# Brewing

Water for *green* tea
is [not boiling](water.md).

| kind of tea | minutes to steep |
|---|---:|
| green tea | two minutes |

tea with milk | tea without milk
--- | ---
assam and ceylon | sencha and gyokuro

Underlined heading
------------------

```python
boil("a kettle of water")
```

- Warm the pot before use.
2. Discard the first water
"""
    assert list(extract_queries(text, n=9)) == [
        "Water for green tea is not boiling",
        "Warm the pot before use",
        "Discard the first water",
    ]
    assert list(extract_queries("| kind of tea | minutes |\n|---|---|\n| green tea | two |", n=3)) == []


@pytest.mark.parametrize(
    ("artifact_id", "raw"),
    [
        ("drinks/green-tea.md", "Steep it shortly at most. Green tea is best at 80 degrees."),
        ("drinks/green-tea/README.md", "Steep it shortly at most. Green tea is best at 80 degrees."),
        ("a.md", "# Green Tea\n\nSteep it shortly at most. A tea that is green is best at 80 degrees."),
        ("a.md", {"title": "Green tea", "text": "Steep it shortly at most. Green tea is best at 80 degrees."}),
        ("7", {"name": "GreenTea", "text": "Steep it shortly at most. Green tea is best at 80 degrees."}),
    ],
)
def test_no_query_names_its_artifact_by_file_title_or_heading(artifact_id: str, raw: Any) -> None:
    def echo(description: str, *, n: int) -> list[str]:
        return [*description.split(". "), "how long does green tea take"]

    for generator in (extract_queries, echo):
        cases = generate_cases({artifact_id: raw}, query_generator=generator)
        assert cases
        assert not any(leaks_name(case.query, "green tea") for case in cases)
    assert [case.query for case in generate_cases({artifact_id: raw}, query_generator=extract_queries)] == [
        "Steep it shortly at most"
    ]


# --- abstention and sets -----------------------------------------------------------------------------------------


def test_abstention_cases_have_no_gold() -> None:
    cases = generate_abstention_cases(
        2, generator=lambda *, n, theme: [f"{theme} {i}" for i in range(n + 3)], theme="tea", corpus_name="shop"
    )
    assert [(case.query, case.gold, case.corpus) for case in cases] == [("tea 0", (), "shop"), ("tea 1", (), "shop")]
    assert generate_abstention_cases(0) == []


def test_abstention_falls_back_to_probes() -> None:
    def down(prompt: str) -> str:
        raise LlmError("down")

    generate = make_llm_abstention_generator(complete=down)
    cases = generate_abstention_cases(10, generator=generate)
    assert {case.query for case in cases} <= set(probe_queries())
    assert {case.metadata["generator"] for case in cases} == {"probes"}
    assert len(cases) == 10


@pytest.mark.parametrize(("share", "expected"), [(0.0, 0), (0.25, 1), (0.5, 3), (0.15, 1)])
def test_a_set_has_the_asked_share_of_abstention(share: float, expected: int) -> None:
    scope = {"a": "a long enough description"}
    cases = build_eval_set(
        scope,
        k=3,
        abstention_frac=share,
        query_generator=lambda text, *, n: [f"query {i}" for i in range(n)],
        abstention_generator=lambda *, n, theme: [f"far {i}" for i in range(n)],
    )
    assert sum(case.gold_is_none for case in cases) == expected
    assert sum(not case.gold_is_none for case in cases) == 3


def test_a_share_of_one_is_refused() -> None:
    with pytest.raises(InvalidInput, match="abstention_frac"):
        build_eval_set(TOOLS, abstention_frac=1.0, query_generator=_echo)


def test_signatures_follow_the_ids_alone() -> None:
    one = corpus_signature({"a": 1, "b": 2})
    assert one == corpus_signature({"b": 9, "a": 9})
    assert one != corpus_signature({"a": 1})
    assert len(one) == 16
