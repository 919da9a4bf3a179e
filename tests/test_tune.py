"""Tuning: choosing how to search by judged cases, and refusing to choose on noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ir
from ir.errors import InvalidInput
from ir.eval import DiscoveryCase
from ir.retrieve import tuned_options
from ir.tune import Forgotten, Tuning, Way, default_way, forget, tune, tuned_run, ways

SUBJECTS = [f"{kind}{number}" for kind in ("alder", "birch", "cedar", "dogwood", "elm") for number in range(9)]


class Opinionated:
    """An embedder whose vectors are right or wrong on purpose: a text is the number in its first word."""

    fingerprint = "opinionated"

    def __init__(self, *, right: bool) -> None:
        self.id = f"opinionated-{right}"
        self.right = right

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> NDArray[np.float32]:
        out = np.full((len(texts), len(SUBJECTS)), 0.01, dtype=np.float32)
        for row, text in enumerate(texts):
            name = next((word for word in text.split() if word in SUBJECTS), SUBJECTS[0])
            at = SUBJECTS.index(name)
            shift = 1 if input_type == "query" and not self.right else 0
            out[row, (at + shift) % len(SUBJECTS)] = 1.0
        return out


def corpus_with(*, right: bool) -> ir.Corpus:
    """Each document is about one subject. Wrong vectors point every query at its neighbour."""
    texts = {name: f"{name} grows in the yard and is watered on weekdays" for name in SUBJECTS}
    source = ir.CorpusSource.from_mapping(texts, name="trees")
    return ir.build(source, store=ir.CorpusStore.memory(), embedder=Opinionated(right=right), floor=False)


def cases() -> list[DiscoveryCase]:
    return [DiscoveryCase(f"where is {name} watered", name) for name in SUBJECTS]


def test_the_default_comes_first_and_every_way_is_a_search_that_works() -> None:
    corpus = corpus_with(right=True)
    tried = ways()
    assert tried[0] == default_way()
    assert len({way.name for way in tried}) == len(tried)
    for way in tried:
        assert corpus.search("where is elm3 watered", k=3, **way.options)


def test_what_is_better_on_unseen_queries_is_chosen_and_kept() -> None:
    corpus = corpus_with(right=False)
    tuning = tune(corpus, cases(), save=True)
    assert tuning.improved
    assert tuning.held_out is not None
    assert tuning.held_out_default is not None
    assert tuning.held_out > tuning.held_out_default
    assert tuning.p is not None
    assert tuning.p < 0.05
    assert tuned_options(corpus) == dict(tuning.choice.options)
    assert corpus.store.get_config()["tuned"]["name"] == tuning.choice.name
    assert "Chose" in str(tuning)


def test_nothing_is_chosen_where_the_default_is_as_good() -> None:
    corpus = corpus_with(right=True)
    tuning = tune(corpus, cases(), save=True)
    assert not tuning.improved
    assert tuning.choice == default_way()
    assert "tuned" not in corpus.store.get_config()


def test_nothing_is_chosen_on_noise() -> None:
    """Judgements drawn at random: some way always looks best on them."""
    corpus = corpus_with(right=False)
    rng = np.random.default_rng(3)
    noise = [DiscoveryCase(case.query, str(rng.choice(SUBJECTS))) for case in cases()]
    tuning = tune(corpus, noise)
    assert max(trial.difference for trial in tuning.trials) > 0
    assert not tuning.improved
    assert "Kept the default" in tuning.reason


def test_a_handful_of_cases_decides_nothing() -> None:
    tuning = tune(corpus_with(right=False), cases()[:10])
    assert not tuning.improved
    assert tuning.trials == ()
    assert "too few" in tuning.reason


def test_without_save_the_corpus_stays_as_it_was() -> None:
    corpus = corpus_with(right=False)
    before = corpus.store.get_config()
    assert tune(corpus, cases()).improved
    assert corpus.store.get_config() == before


def test_an_earlier_choice_goes_when_the_default_wins() -> None:
    corpus = corpus_with(right=True)
    Tuning("trees", corpus.embedder_id, "ndcg@10", 50, 5, (), Way("lexical", {"mode": "lexical"}), "").save(corpus)
    assert tuned_options(corpus) == {"mode": "lexical"}
    tune(corpus, cases(), save=True)
    assert tuned_options(corpus) == {}


def test_a_choice_made_for_another_embedder_is_not_used() -> None:
    corpus = corpus_with(right=True)
    corpus.store.set_config({**corpus.store.get_config(), "tuned": {"mode": "dense", "embedder_id": "another"}})
    assert tuned_options(corpus) == {}


def test_a_build_keeps_the_choice() -> None:
    corpus = corpus_with(right=False)
    tune(corpus, cases(), save=True)
    source = ir.CorpusSource.from_mapping({"new": "a new text"}, name="trees")
    ir.build(source, store=corpus.store, embedder=corpus.embedder, full=False, floor=False)
    assert tuned_options(corpus)


def kept(corpus: ir.Corpus, **options: Any) -> None:
    Tuning("trees", corpus.embedder_id, "ndcg@10", 50, 5, (), Way("mine", options), "").save(corpus)


def test_discovery_uses_a_hybrid_choice_unless_told_otherwise() -> None:
    corpus = corpus_with(right=False)
    query = "where is elm3 watered"
    assert ir.discover(corpus, query, alpha=1.0).ids[0] == "elm4"
    kept(corpus, mode="hybrid", fusion="blend", alpha=0.0)
    assert ir.discover(corpus, query).ids[0] == "elm3"
    assert ir.discover(corpus, query, alpha=1.0).ids[0] == "elm4"
    assert ir.discover(corpus, query, mode="dense").ids[0] == "elm4"


@pytest.mark.parametrize(("mode", "first"), [("lexical", "elm3"), ("dense", "elm4")])
def test_discovery_uses_a_choice_of_one_channel_unless_told_otherwise(mode: str, first: str) -> None:
    corpus = corpus_with(right=False)
    query = "where is elm3 watered"
    kept(corpus, mode=mode)
    found = ir.discover(corpus, query)
    assert (found.mode, found.ids[0]) == (mode, first)
    assert ir.discover(corpus, query, mode="hybrid").mode == "hybrid"
    assert ir.discover(corpus, query, fusion="rrf").mode == "hybrid"
    assert ir.discover([corpus], query).mode == "hybrid"


def test_the_floor_of_a_tuned_channel_is_the_one_that_auto_means() -> None:
    corpus = corpus_with(right=False)
    off_topic = [DiscoveryCase(f"parliament {number}") for number in range(12)]
    tuning = tune(corpus, [*cases(), *off_topic], save=True)
    refused = ir.discover(corpus, "parliament 3", min_score="auto")
    assert refused.mode == tuning.choice.options["mode"]
    assert refused.abstained
    assert not ir.discover(corpus, "where is elm3 watered", min_score="auto").abstained


def test_cases_without_an_answer_set_the_floor_of_the_choice() -> None:
    corpus = corpus_with(right=False)
    off_topic = [DiscoveryCase(f"parliament {number}") for number in range(5)]
    tuning = tune(corpus, [*cases(), *off_topic], save=True)
    assert tuning.floor is not None
    assert corpus.store.calibration_modes()


@pytest.mark.parametrize("seed", range(3))
def test_no_floor_is_set_by_labels_drawn_at_random(seed: int) -> None:
    corpus = corpus_with(right=True)
    rng = np.random.default_rng(seed)
    noise = [
        DiscoveryCase(f"{case.query} {n}", case.gold if rng.random() < 0.5 else ()) for case in cases() for n in "abc"
    ]
    tuning = tune(corpus, noise, save=True)
    assert tuning.floor is None
    assert "No floor" in tuning.floor_reason
    assert "luck" in str(tuning)
    assert corpus.store.calibration_modes() == []


def test_a_couple_of_cases_without_an_answer_sets_no_floor() -> None:
    tuning = tune(corpus_with(right=True), [*cases(), DiscoveryCase("parliament")])
    assert tuning.floor is None
    assert "too few" in tuning.floor_reason


def with_a_floor(corpus: ir.Corpus) -> Tuning:
    off_topic = [DiscoveryCase(f"parliament {number}") for number in range(12)]
    return tune(corpus, [*cases(), *off_topic], save=True)


def test_to_forget_drops_the_choice_and_its_floor() -> None:
    corpus = corpus_with(right=False)
    before = corpus.store.get_config()
    tuning = with_a_floor(corpus)
    assert forget(corpus) == Forgotten(tuning.choice.name, floor=True)
    assert corpus.store.calibration_modes() == []
    assert corpus.store.get_config() == before
    assert not forget(corpus)


def test_to_forget_brings_back_a_floor_of_before_and_leaves_one_of_after() -> None:
    corpus = corpus_with(right=False)
    mine = {"min_score": 0.25, "mode": "hybrid", "embedder_id": corpus.embedder_id}
    corpus.store.set_calibration("hybrid", mine)
    with_a_floor(corpus)
    assert corpus.store.get_calibration("lexical") or corpus.store.get_calibration("hybrid") != mine
    forget(corpus)
    assert corpus.store.get_calibration("hybrid") == mine
    with_a_floor(corpus)
    for mode in corpus.store.calibration_modes():
        corpus.store.set_calibration(mode, mine)
    assert not forget(corpus).floor
    assert corpus.store.get_calibration("hybrid") == mine


def test_tuning_again_drops_a_floor_that_is_no_longer_shown() -> None:
    corpus = corpus_with(right=False)
    with_a_floor(corpus)
    assert corpus.store.calibration_modes()
    tune(corpus, cases(), save=True)
    assert corpus.store.calibration_modes() == []


def test_every_query_of_a_tuned_run_is_searched_by_what_was_chosen_without_it() -> None:
    corpus = corpus_with(right=False)
    queries = {name: f"where is {name} watered" for name in SUBJECTS}
    qrels = {name: {name: 1.0} for name in SUBJECTS}
    run, chosen = tuned_run(corpus, queries, qrels, k=5)
    assert list(run) == list(queries)
    assert len(chosen) == 2
    assert all(way != default_way() for way in chosen)
    assert sum(max(found, key=found.__getitem__) == name for name, found in run.items()) > 35


@pytest.mark.parametrize("folds", [1, 0, True, 2.5])
def test_folds_must_be_at_least_two(folds: Any) -> None:
    with pytest.raises(InvalidInput, match="folds"):
        tune(corpus_with(right=True), cases(), folds=folds)


def test_cases_without_any_answer_cannot_be_tuned_by() -> None:
    with pytest.raises(InvalidInput, match="No case has an answer"):
        tune(corpus_with(right=True), [DiscoveryCase("nothing")])


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    tune(corpus_with(right=True), cases(), progress=lambda done, total: told.append((done, total)))
    assert told == [(done, len(ways())) for done in range(len(ways()))]
