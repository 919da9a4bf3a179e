"""The seed's door: its decisions and worked examples, one by one."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir.errors import InvalidInput
from ir.ground import Term, Vocabulary, psq
from ir.ground.context import ContextModel
from ir.ground.psq import Candidate, State, psq_candidates_from_rewrite_phrases

COUNTS = {"canid": 5000, "fox": 900, "vixen_(character)": 40}
ALIASES = {
    "canine": ["canid"],
    "vixen": ["fox", "vixen_(character)"],
    "fox": ["canid"],
    "ghost": ["rare_row"],
}


class Near:
    """A subword model that knows a few neighbours, and remembers what it was asked."""

    def __init__(self, known: dict[str, list[tuple[str, float]]]) -> None:
        self.known = known
        self.asked: list[str] = []

    def neighbours(self, words: Sequence[str], k: int) -> list[list[tuple[str, float]]]:
        self.asked += words
        return [self.known.get(word, [])[:k] for word in words]


def context(scores: dict[str, float], *, known: str = "probe") -> ContextModel:
    """A model in which the request is the first axis, so that a row's first number is its cosine."""
    names = [*scores, known]
    rows = np.array([[cosine, (1 - cosine**2) ** 0.5] for cosine in (*scores.values(), 1.0)], np.float32)
    directions = np.zeros((len(names), 2), np.float32)
    directions[-1, 0] = 1.0
    return ContextModel(names, np.ones(len(names), np.float32), directions, rows)


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("RETRIEVAL_GLOBAL_K", "RETRIEVAL_PER_PHRASE_K", "RETRIEVAL_PER_PHRASE_FINAL_K", "MIN_TAG_COUNT")
    for name in (*names, "SKIP_FASTTEXT_FOR_EXACT_ALIAS"):
        monkeypatch.delenv(f"PSQ_{name}", raising=False)


def animals(**rows: float) -> State:
    rows = {"fox": 0.5, "canid": 0.4, "rare_row": 0.3} | rows
    return State(COUNTS, ALIASES, context=context(rows))


def worked() -> State:
    """The phrase of the worked example: subword and context scores of five tags, one of them without a context."""
    near = [("red_fox", 1.0), ("fox", 0.9), ("canid", 0.8), ("vixen", 0.7), ("wolf", 0.6)]
    rows = {"red_fox": 0.1, "fox": 0.6, "canid": 0.2, "wolf": -0.2}
    model = Near({"red_thing": near})
    counts = dict.fromkeys(("red_fox", "fox", "canid", "vixen", "wolf"), 10)
    return State(counts, {}, fasttext_model=model, context=context(rows))


def report_of(state: State, phrases: Sequence[str] = ("red thing",), **options: Any) -> dict[str, Any]:
    _, reports = psq_candidates_from_rewrite_phrases(phrases, True, ["probe"], state=state, verbose=True, **options)
    return reports[0]


@pytest.mark.parametrize(
    ("given", "final"),
    [
        (["Big_Shirt", " grey  SHIRT ", "big shirt"], ["big shirt", "grey shirt", "shirt"]),
        (["looking at viewer", "1girl"], ["looking at viewer", "1girl", "viewer"]),
        (["", "___", "the cat and the"], ["the cat and the"]),
        (["cat in it", "go by tv"], ["cat in it", "go by tv"]),
    ],
)
def test_phrases_are_normalised_and_heads_follow_them(given: list[str], final: list[str]) -> None:
    _, reports = psq_candidates_from_rewrite_phrases(given, True, state=State({}), verbose=True)
    assert [report["normalized"] for report in reports] == final
    assert [report["lookup"] for report in reports] == [phrase.replace(" ", "_") for phrase in final]


def test_normalising_twice_changes_nothing() -> None:
    for phrase in ("Big_Shirt", "  A  __ b ", "É_È"):
        assert psq._normalised(psq._normalised(phrase)) == psq._normalised(phrase)


@pytest.mark.parametrize(
    ("token", "least", "tags"),
    [
        ("vixen", 0, ["fox", "vixen_(character)"]),
        ("vixen", 100, ["fox"]),
        ("ghost", 0, ["rare_row"]),
        ("ghost", 100, []),
        ("fox", 0, ["fox"]),
        ("fox", 1000, []),
        ("nobody", 0, []),
    ],
)
def test_a_token_is_projected_to_tags(token: str, least: int, tags: list[str]) -> None:
    found = psq_candidates_from_rewrite_phrases(
        [token], True, state=animals(), min_tag_count=least, per_phrase_final_k=9
    )
    assert sorted(one.tag for one in found) == sorted(tags)


@pytest.mark.parametrize(
    ("scores", "imputed"), [([0.1, 0.2, 0.3, 0.4, 0.5], 0.14), ([0.6, -0.2, 0.1, 0.3], -0.11), ([], 0.0)]
)
def test_a_missing_context_is_the_tenth_percentile_of_the_others(scores: list[float], imputed: float) -> None:
    tags = {f"tag{number}": score for number, score in enumerate(scores)}
    near = [(tag, 0.5) for tag in (*tags, "bare")]
    counts = dict.fromkeys((*tags, "bare"), 1)
    state = State(counts, {}, fasttext_model=Near({"red_thing": near}), context=context(tags))
    rows = {row["tag"]: row for row in report_of(state, per_phrase_final_k=9)["candidates"]}
    assert rows["bare"]["score_context"] == pytest.approx(imputed, abs=1e-6)
    assert rows["bare"]["context_imputed"]
    assert not any(rows[tag]["context_imputed"] for tag in tags)


def test_the_two_scores_are_fused_by_their_weight() -> None:
    rows = report_of(worked(), per_phrase_final_k=5)["candidates"]
    expected = {"fox": 0.75, "red_fox": 0.55, "canid": 0.5, "vixen": 0.295, "wolf": 0.2}
    assert [row["tag"] for row in rows] == list(expected)
    assert [row["score_combined"] for row in rows] == pytest.approx(list(expected.values()), abs=1e-6)
    assert next(row for row in rows if row["tag"] == "vixen")["score_context"] == pytest.approx(-0.11, abs=1e-6)


@pytest.mark.parametrize(("k", "required", "kept"), [(1, ["red_fox"], ["red_fox"]), (2, ["wolf"], ["fox", "wolf"])])
def test_what_is_required_is_kept(k: int, required: list[str], kept: list[str]) -> None:
    state = worked()
    rows = psq._scored("red_thing", [], state.fasttext_model.known["red_thing"], *_request(state))  # type: ignore[union-attr]
    found, dropped = psq._truncated(rows, required, k)
    assert [row.tag for row in found] == kept
    assert dropped == []


def _request(state: State) -> tuple[Any, State, Any]:
    asked = psq._Asked(50, 1, 300, 0, 0.5, frozenset())
    return state.context.request({"probe": 1.0}), state, asked  # type: ignore[union-attr]


def test_more_required_tags_than_fit_keep_the_best_and_tell_of_the_rest() -> None:
    state = animals(**{"vixen_(character)": 0.9})
    report = report_of(state, ["vixen"])
    assert [row["tag"] for row in report["candidates"]] == ["vixen_(character)"]
    assert report["dropped_required"] == ["fox"]


def test_the_signature_is_that_of_the_contract() -> None:
    parameters = inspect.signature(psq_candidates_from_rewrite_phrases).parameters
    defaults = {
        "context_tags": None,
        "context_tag_weight": 1.0,
        "context_weight": 0.5,
        "per_phrase_k": 50,
        "per_phrase_final_k": 1,
        "global_k": 300,
        "min_tag_count": 0,
        "verbose": False,
        "return_phrase_ranks": False,
    }
    assert list(parameters)[:2] == ["rewrite_phrases", "allow_nsfw_tags"]
    assert {name: parameters[name].default for name in defaults} == defaults


def test_return_variants() -> None:
    call = lambda **options: psq_candidates_from_rewrite_phrases(["canine"], True, state=animals(), **options)  # noqa: E731
    plain = call()
    assert isinstance(plain, list)
    assert plain == [Candidate("canid", 1.0, 1.0, None, 5000, ["canine"])]
    candidates, reports = call(verbose=True)
    assert candidates == plain
    candidates, ranks = call(return_phrase_ranks=True)
    assert ranks == {"canid": 1}
    candidates, reports, ranks = call(verbose=True, return_phrase_ranks=True)
    assert (candidates, ranks) == (plain, {"canid": 1})
    row = {"tag": "canid", "alias_token": "canine", "score_fasttext": 1.0, "score_context": None}
    row |= {"score_combined": 1.0, "context_imputed": False, "count": 5000}
    assert reports[0]["candidates"] == [row]
    expected = {"phrase": "canine", "normalized": "canine", "lookup": "canine"}
    expected |= {"tfidf_vocab": False, "oov_terms": ["canine"]}
    assert {key: reports[0][key] for key in expected} == expected


def test_settings_hold_where_the_caller_passes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(psq_candidates_from_rewrite_phrases(["red thing"], True, ["probe"], state=worked())) == 1
    monkeypatch.setenv("PSQ_RETRIEVAL_PER_PHRASE_FINAL_K", "5")
    assert len(psq_candidates_from_rewrite_phrases(["red thing"], True, ["probe"], state=worked())) == 5
    assert (
        len(psq_candidates_from_rewrite_phrases(["red thing"], True, ["probe"], state=worked(), per_phrase_final_k=1))
        == 1
    )
    monkeypatch.setenv("PSQ_RETRIEVAL_GLOBAL_K", "3")
    assert len(psq_candidates_from_rewrite_phrases(["red thing"], True, ["probe"], state=worked())) == 3
    monkeypatch.setenv("PSQ_RETRIEVAL_PER_PHRASE_K", "2")
    assert len(psq_candidates_from_rewrite_phrases(["red thing"], True, ["probe"], state=worked())) == 2
    monkeypatch.setenv("PSQ_MIN_TAG_COUNT", "100")
    assert psq_candidates_from_rewrite_phrases(["red thing"], True, ["probe"], state=worked()) == []
    monkeypatch.setenv("PSQ_MIN_TAG_COUNT", "many")
    with pytest.raises(InvalidInput, match="PSQ_MIN_TAG_COUNT"):
        psq_candidates_from_rewrite_phrases(["red thing"], True, ["probe"], state=worked())


def test_an_exact_match_asks_for_no_neighbours_unless_it_is_set_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting, asked in ((None, ["dog"]), ("1", ["dog"]), ("0", ["canine", "dog"])):
        if setting is not None:
            monkeypatch.setenv("PSQ_SKIP_FASTTEXT_FOR_EXACT_ALIAS", setting)
        model = Near({})
        state = State(COUNTS, ALIASES, fasttext_model=model)
        psq_candidates_from_rewrite_phrases(["canine", "dog"], True, state=state)
        assert model.asked == asked


def test_neighbours_give_what_they_are_aliases_of_by_the_best_of_them() -> None:
    model = Near({"dog": [("canines", 0.4), ("canine", 0.9), ("canid", 0.7), ("vixen", 0.3)]})
    state = State(COUNTS, ALIASES, fasttext_model=model)
    rows = report_of(state, ["dog"], per_phrase_final_k=9)["candidates"]
    assert [(row["tag"], row["alias_token"], row["score_fasttext"]) for row in rows] == [
        ("canid", "canine", 0.9),
        ("fox", "vixen", 0.3),
        ("vixen_(character)", "vixen", 0.3),
    ]


@pytest.mark.parametrize("phrases", [["dog"], ["canine"], ["canid"]])
def test_the_policy_holds_on_every_route(phrases: list[str]) -> None:
    model = Near({"dog": [("canine", 0.9), ("canid", 0.8), ("fox", 0.1)]})
    state = State(COUNTS, ALIASES, fasttext_model=model, nsfw_tags={"canid"})
    options: dict[str, Any] = {"state": state, "per_phrase_final_k": 9}
    blocked = psq_candidates_from_rewrite_phrases(phrases, False, **options)
    assert "canid" not in {one.tag for one in blocked}
    assert "canid" in {one.tag for one in psq_candidates_from_rewrite_phrases(phrases, True, **options)}


def test_phrases_are_merged_by_their_best_and_never_recomputed() -> None:
    model = Near({"one": [("fox", 0.9)], "two": [("fox", 0.2), ("canid", 0.1)]})
    state = State(COUNTS, {}, fasttext_model=model, context=context({"fox": 0.5}))
    found, ranks = psq_candidates_from_rewrite_phrases(
        ["one", "two"], True, ["probe"], state=state, per_phrase_final_k=2, return_phrase_ranks=True
    )
    fox = next(one for one in found if one.tag == "fox")
    assert fox.sources == ["one", "two"]
    assert fox.score_combined == pytest.approx(0.7)
    canid = next(one for one in found if one.tag == "canid")
    assert canid.score_context == pytest.approx(0.5)  # imputed, and it counts
    assert ranks == {"fox": 1, "canid": 2}


def test_ties_are_ordered_by_name() -> None:
    model = Near({"dog": [("fox", 0.5), ("canid", 0.5)]})
    found = psq_candidates_from_rewrite_phrases(
        ["dog"], True, state=State(COUNTS, {}, fasttext_model=model), per_phrase_final_k=2
    )
    assert [one.tag for one in found] == ["canid", "fox"]


def test_context_tags_count_by_their_weight() -> None:
    bags = [["fox", "forest"], ["fox", "forest"], ["whale", "sea"], ["whale", "sea"]]
    model = Near({"animal": [("fox", 0.5), ("whale", 0.5)]})
    state = State({"fox": 1, "whale": 1}, {}, fasttext_model=model, context=ContextModel.of(bags))
    call = lambda tags, weight: psq_candidates_from_rewrite_phrases(  # noqa: E731
        ["animal"], True, tags, weight, per_phrase_final_k=2, state=state
    )
    assert [one.score_context for one in call(None, 1.0)] == [None, None]
    assert call(["sea"], 1.0)[0].tag == "whale"
    assert call(["Forest"], 1.0)[0].tag == "fox"
    assert [one.score_context for one in call(["sea"], 0.0)] == [None, None]


def test_bad_input_is_told() -> None:
    state = animals()
    assert psq_candidates_from_rewrite_phrases([], True, state=state) == []
    assert psq_candidates_from_rewrite_phrases(["zzz qqq"], True, state=state) == []
    for options in ({"per_phrase_k": 0}, {"global_k": -1}, {"context_weight": 2.0}, {"min_tag_count": -1}):
        with pytest.raises(InvalidInput, match=next(iter(options))):
            psq_candidates_from_rewrite_phrases(["fox"], True, state=state, **options)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="list of texts"):
        psq_candidates_from_rewrite_phrases("fox", True, state=state)


def test_a_loaded_vocabulary_is_asked_by_its_names_and_its_policy_list() -> None:
    terms = [Term("fox", count=9, aliases=("vixen",)), Term("wolf", count=3)]
    try:
        psq.use(Vocabulary.of(terms, policy={"wolf": 0.95, "fox": 0.94}, embedders=()))
        assert psq.get_nsfw_tags() == {"wolf"}
        found = psq_candidates_from_rewrite_phrases(["Vixen", "wolf"], False)
        assert [(one.tag, one.count) for one in found] == [("fox", 9)]
    finally:
        psq.use(None)
    with pytest.raises(InvalidInput, match=r"psq\.use"):
        psq_candidates_from_rewrite_phrases(["fox"], True)


def test_a_policy_list_in_the_folder_goes_over_the_one_that_was_built_in(tmp_path: Path) -> None:
    Vocabulary.of(["fox", "wolf"], policy={"wolf": 1.0}, embedders=()).save(tmp_path)
    (tmp_path / psq.POLICY_FILE).write_text("tag,probability\nfox,0.95\nwolf,0.949\n", "utf-8")
    try:
        psq.use(tmp_path)
        assert psq.get_nsfw_tags() == {"fox"}
    finally:
        psq.use(None)
