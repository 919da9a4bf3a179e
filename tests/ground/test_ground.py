"""Phrases and the terms that they mean."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ground.conftest import TERMS

from ir.errors import InvalidInput
from ir.ground import (
    Folding,
    Grounding,
    Term,
    Vocabulary,
    choose_by_rule,
    ground,
    ground_formulator,
    make_llm_chooser,
    phrases_in,
    term_schema,
)

NAMES = {term.name for term in TERMS}
WORDS = st.text(st.characters(codec="utf-8"), max_size=30)


def first(found: list[Grounding]) -> list[str]:
    return [one.terms[0].term for one in found]


@pytest.mark.parametrize(
    ("phrase", "term"),
    [
        ("Machine_Learning", "machine-learning"),
        ("machinelearning", "machine-learning"),
        ("ML", "machine-learning"),
        ("iot", "internet-of-things"),
        ("k8s", "kubernetes"),
        ("kubernets", "kubernetes"),
        ("C#", "csharp"),
        ("C", "c"),
        ("gruner tee", "green-tea"),
        ("learn machines", "machine-learning"),
    ],
)
def test_a_term_is_found_by_other_spellings_without_any_model(plain: Vocabulary, phrase: str, term: str) -> None:
    assert first(ground([phrase], plain)) == [term]


def test_an_alias_is_found_with_the_reason(plain: Vocabulary) -> None:
    found = ground("sencha", plain, k=1, explain=True)[0].terms[0]
    assert (found.term, found.count, found.category) == ("green-tea", 40, "drink")
    reasons = {reason.channel: reason for reason in found.reasons}
    assert reasons["surfaces"].by == "sencha"
    assert found.score == pytest.approx(sum(one.score * one.weight for one in found.reasons), abs=1e-3)


def test_meaning_finds_what_shares_no_letters(boxed: Vocabulary) -> None:
    assert "meaning" in {channel.name for channel in boxed.channels}
    assert first(ground(["hot beverage of beans"], boxed)) == ["coffee"]


def test_a_blocked_term_is_given_by_no_route(plain: Vocabulary) -> None:
    for phrase in ("coffee", "espresso", "cofee", "roasted beans", "drink"):
        assert "coffee" not in {one.term for one in ground(phrase, plain, k=50)[0].terms}
    assert first(ground(["coffee"], plain, allow_blocked=True)) == ["coffee"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(WORDS, st.sampled_from([*NAMES, "espresso", "ML", "", "___"])), max_size=4))
def test_what_is_given_is_in_the_vocabulary_in_one_order_and_not_blocked(phrases: list[str]) -> None:
    vocabulary = _shared()
    found = ground(phrases, vocabulary, k=5)
    assert [one.phrase for one in found] == phrases
    for one in found:
        names = [term.term for term in one.terms]
        assert set(names) <= NAMES - {"coffee"}
        assert len(names) == len(set(names)) <= 5
        assert [(-term.score, term.term) for term in one.terms] == sorted(
            (-term.score, term.term) for term in one.terms
        )
    assert ground(phrases, vocabulary, k=5) == found
    assert [ground(phrase, vocabulary, k=5)[0] for phrase in phrases] == found


_made: list[Vocabulary] = []


def _shared() -> Vocabulary:
    if not _made:
        _made.append(Vocabulary.of(TERMS, embedders=(), policy={"coffee": 0.97}))
    return _made[0]


@given(st.text(max_size=40))
def test_folding_twice_changes_nothing(text: str) -> None:
    for fold in (Folding(), Folding("_", case=True), Folding(" ", accents=True)):
        assert fold(fold(text)) == fold(text)


def test_a_term_can_be_left_out_by_its_count(plain: Vocabulary) -> None:
    assert first(ground(["green tea"], plain)) == ["green-tea"]
    assert "green-tea" not in {one.term for one in ground("green tea", plain, min_count=41)[0].terms}


def test_below_the_floor_nothing_is_given(plain: Vocabulary) -> None:
    assert plain.floor is not None
    sure, unsure = ground(["kubernetes", "zxqv"], plain, floor=plain.floor)
    assert first([sure]) == ["kubernetes"]
    assert (unsure.terms, unsure.abstained) == ((), True)


def test_bad_input_is_told(plain: Vocabulary) -> None:
    assert ground([], plain) == []
    assert ground(["", "  "], plain) == [Grounding("", ()), Grounding("  ", ())]
    with pytest.raises(InvalidInput, match="k must be"):
        ground(["tea"], plain, k=0)
    with pytest.raises(InvalidInput, match="'spelling'"):
        ground(["tea"], plain, channels=["speling"])
    with pytest.raises(InvalidInput, match="channel"):
        ground(["tea"], plain, weights={"speling": 1.0})
    with pytest.raises(InvalidInput, match="must be text"):
        ground([3], plain)  # type: ignore[list-item]
    assert len(ground(["\ud800", "\x00", "😀", "\u0301"], plain)) == 4
    assert first(ground(["tea " * 20_000], plain)) == ["green-tea"]


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        (["tea", "tea"], "twice"),
        ([{"name": "tea", "count": -1}], "at least 0"),
        ([{"name": " "}], "not empty"),
        ([{"title": "tea"}], "'title'"),
        ([{"name": "tea", "aliases": "leaf"}], "list of texts"),
        ([7], "mapping"),
        (["\ud800"], "no character"),
    ],
)
def test_terms_that_are_none_are_refused(terms: list[object], told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        Vocabulary.of(terms, embedders=())  # type: ignore[arg-type]


def test_an_empty_vocabulary_gives_nothing() -> None:
    assert ground(["tea"], Vocabulary.of([], embedders=())) == [Grounding("tea", ())]


def test_more_terms_and_aliases_are_groundable_at_once_as_after_a_full_build(plain: Vocabulary) -> None:
    larger = plain.extended([Term("rust", "Rust", "A language.", count=5)], {"arabica": ["coffee"], "tea": "green-tea"})
    full = Vocabulary.of(
        [
            *(
                Term(
                    **{
                        **vars(term),
                        "aliases": (
                            *term.aliases,
                            *{"coffee": ["arabica"], "green-tea": ["tea"]}.get(term.name, []),
                        ),
                    }
                )
                for term in TERMS
            ),
            Term("rust", "Rust", "A language.", count=5),
        ],
        embedders=(),
        policy=plain.policy,
    )
    phrases = ["rust", "arabica", "tea", "ML", "languages", "kube", "roasted"]
    for channel in (None, *(channel.name for channel in full.channels)):
        chosen = [channel] if channel is not None else None
        assert ground(phrases, larger, channels=chosen) == ground(phrases, full, channels=chosen)
    assert first(ground(["rust", "tea"], larger)) == ["rust", "green-tea"]
    with pytest.raises(InvalidInput, match="no term"):
        plain.extended(aliases={"x": "nothing"})
    assert "kubernetes" not in plain.extended(removed=["kubernetes"])


def test_phrases_are_taken_from_a_text(plain: Vocabulary) -> None:
    text = "Please use machine learning (on Kubernetes), and brew fast green tea."
    assert phrases_in(text, plain) == ["machine learning", "Kubernetes", "brew fast", "green tea"]
    assert phrases_in("", plain) == []


def test_candidates_are_chosen_by_a_rule_or_by_a_model_that_can_name_nothing_else(plain: Vocabulary) -> None:
    found = ground(["ML", "kube"], plain, k=3)
    assert set(choose_by_rule(found)) == {"machine-learning", "kubernetes"}
    names = term_schema(found)["items"]["enum"]
    assert {"machine-learning", "kubernetes"} <= set(names) <= NAMES
    prompts: list[str] = []

    def complete(prompt: str) -> str:
        prompts.append(prompt)
        return 'Sure: ["kubernetes", "docker"]'

    assert make_llm_chooser(complete=complete)("run it", found) == ["kubernetes"]
    assert "machine-learning" in prompts[0]
    assert make_llm_chooser(complete=lambda prompt: "no idea")("x", found) == choose_by_rule(found)
    assert make_llm_chooser(complete=lambda prompt: "[]")("x", []) == []
    assert term_schema([])["maxItems"] == 0


def test_a_query_is_asked_in_the_words_of_the_vocabulary(plain: Vocabulary) -> None:
    formulate = ground_formulator(plain)
    assert formulate("ml with kube") == ["ml with kube", "Machine Learning Kubernetes"]
    assert formulate("zxqv") == ["zxqv"]


def test_a_vocabulary_is_a_corpus_too(plain: Vocabulary) -> None:
    import ir

    corpus = ir.build(plain.source("terms"), store=ir.CorpusStore.memory(), embedder="light")
    assert ir.search(corpus, "sencha", mode="lexical")[0].artifact_id == "green-tea"
    assert ir.discover(corpus, "green tea leaves").results[0].artifact_id == "green-tea"
