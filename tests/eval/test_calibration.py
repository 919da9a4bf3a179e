"""Floors from labelled cases and from probes, and what they are kept as."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ir
from ir.errors import InvalidInput
from ir.eval import (
    DiscoveryCase,
    MinScoreCalibration,
    abstention_report,
    auroc,
    calibrate_from_probes,
    calibrate_min_score,
    evaluate_discovery,
    evaluate_selection,
    gold_removed_report,
    load_calibration,
    probability_at,
    probe_queries,
)
from ir.eval.curves import isotonic, isotonic_curve, share_below
from ir.eval.floors import Objective, candidate_floors, pick, rates, resample
from ir.eval.signals import Choice, choose_signal
from ir.index import Corpus
from ir.select.probes import share_below_curve

MODES = ("dense", "lexical", "hybrid")
OWN = {
    "tea": "green tea leaves",
    "bread": "knead bread dough",
    "bike": "flat bike tyre",
    "rose": "prune rose bush",
    "chess": "chess queen pawn",
}


@pytest.fixture
def cases(off_topic: tuple[str, ...]) -> list[DiscoveryCase]:
    return [*(DiscoveryCase(q, g) for g, q in OWN.items()), *(DiscoveryCase(q) for q in off_topic)]


@pytest.mark.parametrize("mode", MODES)
def test_a_separable_corpus_gets_a_floor_between(corpus: Corpus, cases: list[DiscoveryCase], mode: str) -> None:
    found = calibrate_min_score(corpus, cases, mode=mode)
    assert found.min_score is not None
    assert (found.sensitivity, found.specificity, found.youden_j) == (1.0, 1.0, 1.0)
    assert found.balanced_accuracy == 1.0
    assert found.separable
    assert (found.n_positive, found.n_abstention, found.n_retrieval_miss) == (5, 4, 0)
    assert found.min_score <= found.positive_scores["min"]
    assert found.min_score > found.abstention_scores.get("max", float("-inf"))
    assert (found.reason, found.kind, found.mode, found.embedder_id) == ("calibrated", "labelled", mode, "words")
    assert found.signal == ("lexical" if mode == "lexical" else "dense")
    assert any(row["min_score"] == found.min_score for row in found.grid)


def test_the_floor_is_on_the_raw_score_whatever_the_fusion(corpus: Corpus, cases: list[DiscoveryCase]) -> None:
    floors = {
        fusion: calibrate_min_score(corpus, cases, mode="hybrid", fusion=fusion) for fusion in ("rrf", "blend", "dbsf")
    }
    dense = calibrate_min_score(corpus, cases, mode="dense")
    for fusion, found in floors.items():
        assert found.min_score == pytest.approx(dense.min_score)
        assert found.fusion == fusion


def test_cases_that_retrieval_missed_are_left_aside(corpus: Corpus, cases: list[DiscoveryCase]) -> None:
    found = calibrate_min_score(corpus, [*cases, DiscoveryCase("green tea", "absent")])
    assert (found.n_positive, found.n_retrieval_miss) == (5, 1)


def test_one_kind_of_case_gives_no_floor(corpus: Corpus, cases: list[DiscoveryCase]) -> None:
    reasons = [
        calibrate_min_score(corpus, part, persist=True).reason
        for part in (cases[:5], cases[5:], [], [DiscoveryCase("green tea", "absent")])
    ]
    assert reasons == ["no_abstention_cases", "no_positive_cases", "no_cases", "no_cases"]
    assert load_calibration(corpus, "hybrid") is None
    with pytest.raises(InvalidInput, match="no_cases"):
        calibrate_min_score(corpus, []).save(corpus)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("options", [{}, {"sensitivity_weight": 0.3}, {"signal": "dense"}, {"floor_grid": [0.3, 0.7]}])
def test_labels_drawn_at_random_give_no_floor(corpus: Corpus, seed: int, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(seed)
    words = {gold: query.split() for gold, query in OWN.items()}
    queries = [(gold, f"{rng.choice(words[gold])} {rng.choice(words[gold])} {n}") for n in range(24) for gold in OWN]
    noise = [DiscoveryCase(query, gold if rng.random() < 0.5 else ()) for gold, query in queries]
    made = calibrate_min_score(corpus, noise, persist=True, **options)
    assert (made.min_score, made.reason) == (None, "no_better_than_chance")
    assert made.by_luck
    assert made.held_out_j is not None
    assert abs(made.held_out_j) < 0.3
    assert load_calibration(corpus, "hybrid") is None


def test_what_a_floor_is_worth_on_other_cases_comes_with_it(corpus: Corpus, cases: list[DiscoveryCase]) -> None:
    made = calibrate_min_score(corpus, cases)
    assert made.held_out_j == 1.0
    assert made.p == pytest.approx(1 / 126)  # of all ways to tell four of nine from the rest, one is right
    assert not made.by_luck
    few = calibrate_min_score(corpus, [cases[0], cases[1], *cases[5:7]])
    assert few.min_score is not None
    assert few.by_luck
    assert calibrate_min_score(corpus, [cases[0], *cases[5:]]).p is None


def test_a_kept_calibration_is_loaded_and_used_by_discover(corpus: Corpus, cases: list[DiscoveryCase]) -> None:
    made = calibrate_min_score(corpus, cases, persist=True)
    assert load_calibration(corpus, "hybrid") == made
    assert load_calibration(corpus, "dense") is None
    assert load_calibration(corpus, "hybrid", rerank="other") is None
    refused = ir.discover(corpus, "mortgage interest rates", min_score="auto")
    accepted = ir.discover(corpus, "green tea leaves", min_score="auto")
    assert refused.abstained
    assert not accepted.abstained


def test_the_record_has_the_agreed_keys_and_survives_json(corpus: Corpus, cases: list[DiscoveryCase]) -> None:
    made = calibrate_min_score(corpus, cases, max_loss=0.2)
    record = json.loads(json.dumps(made.to_dict()))
    keys = {"min_score", "signal", "mode", "fusion", "embedder_id", "rerank", "kind", "error_rate", "curve"}
    assert keys <= set(record)
    assert MinScoreCalibration.from_dict(record) == made
    assert MinScoreCalibration.from_dict({"min_score": 0.4, "unheard_of": 1}).min_score == 0.4


@pytest.mark.parametrize(
    "options",
    [
        {"sensitivity_weight": 2},
        {"max_loss": 1.0},
        {"max_loss": -0.1},
        {"floor_grid": []},
        {"floor_grid": [float("nan")]},
        {"mode": "psychic"},
        {"persist": True, "rerank": lambda query, segments: [0.0 for _ in segments]},
        {"persist": True, "surface_weights": {"document": 0.5}},
    ],
)
def test_bad_options_are_refused(corpus: Corpus, cases: list[DiscoveryCase], options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        calibrate_min_score(corpus, cases, **options)


def test_a_given_grid_is_the_only_choice(corpus: Corpus, cases: list[DiscoveryCase]) -> None:
    found = calibrate_min_score(corpus, cases, floor_grid=[0.9, 0.0])
    assert found.min_score in (0.0, 0.9)
    assert len(found.grid) == 2


# --- choosing a floor --------------------------------------------------------------------------------------------

scores = st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=25)


@given(scores, scores)
def test_no_floor_beats_the_chosen_one_by_more_than_chance(positive: list[float], negative: list[float]) -> None:
    up, down = np.sort(positive), np.sort(negative)
    grid = candidate_floors(np.concatenate([up, down]))
    best = pick(grid, up, down, Objective())
    everywhere = np.concatenate([grid, up, down, np.linspace(-6, 6, 50)])
    kept, refused = rates(everywhere, up, down)
    top = int(np.argmax(kept + refused))
    error = np.sqrt(kept[top] * (1 - kept[top]) / len(up) + refused[top] * (1 - refused[top]) / len(down))
    assert best.youden_j >= kept[top] + refused[top] - 1 - error - 1e-9
    assert best.sensitivity == pytest.approx(np.mean(up >= best.min_score))
    assert best.specificity == pytest.approx(np.mean(down < best.min_score))


@given(scores, scores)
def test_samples_that_are_apart_are_kept_apart(positive: list[float], negative: list[float]) -> None:
    up, down = np.asarray(positive) + 20, np.asarray(negative)
    assert pick(candidate_floors(np.concatenate([up, down])), up, down, Objective()).youden_j == 1.0


def test_a_floor_does_better_on_other_queries_than_the_best_of_its_sample() -> None:
    rng = np.random.default_rng(4)
    tested_up, tested_down = rng.normal(1, 1, 20_000), rng.normal(-1, 1, 20_000)
    smooth, plain = [], []
    for _ in range(60):
        up, down = rng.normal(1, 1, 40), rng.normal(-1, 1, 40)
        grid = candidate_floors(np.concatenate([up, down]))
        kept, refused = rates(grid, np.sort(up), np.sort(down))
        for floor, found in (
            (pick(grid, up, down, Objective()).min_score, smooth),
            (grid[np.argmax(kept + refused)], plain),
        ):
            found.append(np.mean(tested_up >= floor) + np.mean(tested_down < floor) - 1)
    assert np.mean(smooth) > np.mean(plain) + 0.01
    assert np.mean(smooth) == pytest.approx(0.683, abs=0.02)


@given(st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=30), st.lists(st.floats(-9, 9), min_size=1))
def test_a_smoothed_share_rises_and_stays_a_share(sample: list[float], places: list[float]) -> None:
    shares = share_below(np.sort(sample), np.sort(np.asarray(places)))
    assert np.all((shares >= -1e-9) & (shares <= 1 + 1e-9))
    assert np.all(np.diff(shares) >= -1e-9)


@given(scores, scores, st.floats(0, 0.9))
def test_a_stated_loss_is_kept_to(positive: list[float], negative: list[float], loss: float) -> None:
    up, down = np.asarray(positive), np.asarray(negative)
    best = pick(candidate_floors(np.concatenate([up, down])), up, down, Objective(max_loss=loss))
    assert np.mean(up < best.min_score) <= loss + 1e-9


def test_more_loss_allowed_refuses_more() -> None:
    rng = np.random.default_rng(1)
    up, down = rng.normal(0.6, 0.1, 300), rng.normal(0.4, 0.1, 300)
    grid = candidate_floors(np.concatenate([up, down]))
    refused = [pick(grid, up, down, Objective(max_loss=loss)).specificity for loss in (0.0, 0.05, 0.2, 0.5)]
    assert refused == sorted(refused)
    assert refused[0] < refused[-1]


def test_the_interval_holds_the_true_separation_and_error() -> None:
    rng = np.random.default_rng(2)
    up, down = rng.normal(1.0, 1.0, 400), rng.normal(-1.0, 1.0, 400)
    spread = resample(up, down, Objective(), rounds=200, seed=3)
    assert spread is not None
    assert spread.youden_j[0] < 0.683 < spread.youden_j[1]
    assert spread.floor[0] < 0.05
    assert spread.floor[1] > -0.05
    assert spread.error_rate == pytest.approx(0.1587, abs=0.03)
    assert resample(up, down, Objective(), rounds=200, seed=3) == spread


# --- choosing what the floor reads -------------------------------------------------------------------------------


def samples_of(**separations: float) -> dict[str, tuple[Any, Any]]:
    """For each signal a hundred scores of both kinds, this many standard deviations apart."""
    rng = np.random.default_rng(8)
    return {name: (rng.normal(apart, 1, 100), rng.normal(0, 1, 100)) for name, apart in separations.items()}


def test_the_signal_that_parts_clearly_better_is_chosen() -> None:
    chosen = choose_signal(samples_of(plain=1.0, better=3.0, worse=0.2), Objective())
    assert chosen.signal == "better"
    assert chosen.tried["better"] > chosen.tried["plain"] > chosen.tried["worse"]


def test_the_default_stays_where_nothing_is_better_or_cases_are_few() -> None:
    samples = samples_of(plain=2.0, worse=1.0)
    assert choose_signal({**samples, "same": samples["plain"]}, Objective()).signal == "plain"
    few = {name: (up[:9], down) for name, (up, down) in samples_of(plain=0.1, better=5.0).items()}
    assert choose_signal(few, Objective()) == Choice("plain")


def test_choosing_is_repeatable_and_heeds_the_weight_of_losses() -> None:
    samples = samples_of(plain=1.0, better=1.2)
    assert choose_signal(samples, Objective(), seed=3) == choose_signal(samples, Objective(), seed=3)
    # One that loses no answer but refuses little is worse at equal weight, and better where losing counts for more.
    lenient = {"plain": samples["plain"], "lenient": (np.full(100, 9.0), np.r_[np.full(60, 9.0), np.zeros(40)])}
    assert choose_signal(lenient, Objective(0.2)).signal == "plain"
    assert choose_signal(lenient, Objective(0.8)).signal == "lenient"


def crowded() -> tuple[dict[str, str], list[DiscoveryCase]]:
    """Four notes on each of twelve subjects. A query on a subject is fairly near to all four; an off-topic one is
    nearer to a single note, by a word that is there by chance."""
    subjects = [f"subject{letter}" for letter in "abcdefghijkl"]
    notes = {f"{s}/{n}": f"{s} {s}" + f" chance{s}{n}" * 3 for s in subjects for n in "wxyz"}
    own = [DiscoveryCase(f"{s} unheard", f"{s}/w") for s in subjects]
    foreign = [DiscoveryCase(f"chance{s}x chance{s}x") for s in subjects]
    return notes, own + foreign


def test_a_corpus_where_more_than_the_best_counts_is_calibrated_and_gated_on_that(
    make_corpus: Callable[..., Corpus],
) -> None:
    notes, cases = crowded()
    corpus = make_corpus(notes)
    plain = calibrate_min_score(corpus, cases, mode="dense", signal="dense")
    made = calibrate_min_score(corpus, cases, mode="dense", persist=True)
    assert made.signal == "dense-top3"
    assert set(made.signals_tried) == {"dense", "dense-top3"}
    assert made.youden_j == 1.0
    assert (plain.min_score, plain.reason) == (None, "no_better_than_chance")
    assert load_calibration(corpus, "dense") == made
    # Everything that reads the floor reads it on the signal that it was made for.
    accepted, refused = (ir.discover(corpus, case.query, mode="dense", min_score="auto") for case in cases[11:13])
    assert not accepted.abstained
    assert refused.abstained
    assert refused.signals["gate_scale"] == "dense-top3"
    assert "mean of the best three cosines" in refused.signals["notes"][0]
    report = abstention_report(
        corpus, [case.query for case in cases[:12]], [case.query for case in cases[12:]], mode="dense"
    )
    assert (report.youden_j, report.signal) == (1.0, "dense-top3")
    assert evaluate_discovery(corpus, cases, mode="dense", abstain_threshold="auto").abstention_accuracy == 1.0
    number = evaluate_discovery(corpus, cases, mode="dense", abstain_threshold=made.min_score)
    assert number.abstention_accuracy == 0.0  # a bare number is on the best score, which tells nothing here
    assert evaluate_selection(corpus, cases, mode="dense", min_score="auto").abstention_accuracy == 1.0
    assert "mean of the best three" in made.table()


def test_a_signal_may_be_named_and_must_be_one_of_the_mode(corpus: Corpus, cases: list[DiscoveryCase]) -> None:
    named = calibrate_min_score(corpus, cases, signal="blend-top3")
    assert (named.signal, dict(named.signals_tried)) == ("blend-top3", {})
    probes = calibrate_from_probes(corpus, signal="dense-top3")
    assert probes.signal == "dense-top3"
    assert calibrate_from_probes(corpus).signal == "dense"
    for bad in ({"mode": "dense", "signal": "blend"}, {"signal": "moon"}):
        with pytest.raises(InvalidInput, match="signal"):
            calibrate_min_score(corpus, cases, **bad)
        with pytest.raises(InvalidInput, match="signal"):
            calibrate_from_probes(corpus, **bad)
    with pytest.raises(InvalidInput, match="signal of its own"):
        abstention_report(corpus, ["tea"], ["visa"], named, signal="dense")


def test_a_record_of_before_there_was_a_choice_reads_the_best_score() -> None:
    assert MinScoreCalibration.from_dict({"min_score": 0.4, "mode": "hybrid"}).signal == "dense"
    assert MinScoreCalibration.from_dict({"min_score": 4.0, "mode": "lexical"}).signal == "lexical"


def test_auroc_counts_ties_half() -> None:
    assert auroc([1, 2], [0, 0]) == 1.0
    assert auroc([1, 1], [1, 1]) == 0.5
    assert auroc([], [1]) is None


# --- curves ------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.1, 3)), min_size=1, max_size=30))
def test_isotonic_rises_and_keeps_the_weighted_sum(points: list[tuple[float, float]]) -> None:
    values, weights = [v for v, _ in points], [w for _, w in points]
    fitted = isotonic(values, weights)
    assert all(a <= b + 1e-12 for a, b in pairwise(fitted))
    assert np.dot(fitted, weights) == pytest.approx(np.dot(values, weights))


@given(scores, scores)
def test_a_curve_rises_and_never_claims_certainty(positive: list[float], negative: list[float]) -> None:
    curve = isotonic_curve(positive, negative)
    xs, ps = [x for x, _ in curve], [p for _, p in curve]
    assert xs == sorted(xs)
    assert ps == sorted(ps)
    assert all(0 < p < 1 for p in ps)


def test_a_curve_follows_the_odds() -> None:
    rng = np.random.default_rng(5)
    curve = isotonic_curve(rng.normal(1, 1, 4000).tolist(), rng.normal(-1, 1, 400).tolist())
    for score in (-1.0, 0.0, 1.0):
        assert probability_at(curve, score) == pytest.approx(1 / (1 + np.exp(-2 * score)), abs=0.08)


def test_share_below() -> None:
    curve = share_below_curve([1.0, 2.0, 3.0, 4.0, 5.0])
    assert probability_at(curve, 0.0) == 0.0
    assert probability_at(curve, 3.0) == 0.5
    assert probability_at(curve, 9.0) == 1.0
    assert share_below_curve([]) == []


# --- probes ------------------------------------------------------------------------------------------------------


def test_the_probes_are_many_and_differ() -> None:
    probes = probe_queries()
    assert 250 <= len(probes) <= 400
    assert len({probe.lower() for probe in probes}) == len(probes)


@pytest.mark.parametrize("mode", MODES)
def test_probes_give_a_floor_that_refuses_their_percentile(corpus: Corpus, mode: str) -> None:
    found = calibrate_from_probes(corpus, mode=mode, persist=True)
    assert found.kind == "probes"
    assert found.min_score is not None
    assert found.error_rate is not None
    assert found.error_rate <= 0.25 + 1 / len(probe_queries())
    assert found.specificity == pytest.approx(1 - found.error_rate)
    assert (found.sensitivity, found.youden_j) == (None, None)
    assert found.n_abstention == len(probe_queries())
    assert [p for _, p in found.curve] == sorted(p for _, p in found.curve)
    assert load_calibration(corpus, mode) == found
    assert "probe" in found.to_dict()["curve_meaning"]


def test_a_minority_of_on_topic_probes_moves_the_floor_little(corpus: Corpus) -> None:
    off = [f"unheard {'x' * (5 + n % 40)} words" for n in range(200)]
    on = list(OWN.values()) * 8
    clean = calibrate_from_probes(corpus, mode="dense", probes=off).min_score
    mixed = calibrate_from_probes(corpus, mode="dense", probes=[*off, *on]).min_score
    lowest_own = min(calibrate_min_score(corpus, [DiscoveryCase(q, g)]).positive_scores["min"] for g, q in OWN.items())
    assert clean is not None
    assert mixed is not None
    assert abs(mixed - clean) < 0.1 * (lowest_own - clean)


def test_equal_scores_do_not_let_all_probes_in(corpus: Corpus) -> None:
    found = calibrate_from_probes(corpus, mode="dense", probes=["quite unheard of"] * 30)
    assert found.error_rate == 0.0


def test_an_empty_corpus_gives_no_floor(make_corpus: Callable[..., Corpus]) -> None:
    found = calibrate_from_probes(make_corpus({"a": "some text"}), mode="lexical", probes=["zzz"] * 20)
    assert (found.min_score, found.reason) == (None, "no_hits")


@pytest.mark.parametrize("options", [{"percentile": 0}, {"percentile": 100}, {"probes": ["few"]}])
def test_bad_probe_options_are_refused(corpus: Corpus, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        calibrate_from_probes(corpus, **options)


# --- abstention reports ------------------------------------------------------------------------------------------


def test_abstention_report_counts_both_kinds(
    corpus: Corpus, cases: list[DiscoveryCase], off_topic: tuple[str, ...]
) -> None:
    made = calibrate_min_score(corpus, cases, persist=True)
    for floor in (made, "auto", made.min_score):
        report = abstention_report(corpus, list(OWN.values()), off_topic, floor)  # type: ignore[arg-type]
        assert (report.sensitivity, report.specificity, report.youden_j, report.auroc) == (1.0, 1.0, 1.0, 1.0)
    nothing_refused = abstention_report(corpus, list(OWN.values()), off_topic, -1.0)
    assert (nothing_refused.sensitivity, nothing_refused.specificity, nothing_refused.youden_j) == (1.0, 0.0, 0.0)
    assert json.loads(json.dumps(nothing_refused.to_dict()))["n_foreign"] == len(off_topic)
    assert "off topic" in nothing_refused.table()


def test_abstention_report_needs_both_kinds_and_a_floor(corpus: Corpus, off_topic: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput, match="both kinds"):
        abstention_report(corpus, [], off_topic, 0.1)
    with pytest.raises(InvalidInput, match="No calibration"):
        abstention_report(corpus, ["green tea"], off_topic)
    with pytest.raises(InvalidInput, match="'auto'"):
        abstention_report(corpus, ["green tea"], off_topic, "high")


def test_gold_removed_reads_signals_with_and_without_the_answer(
    make_corpus: Callable[..., Corpus], cases: list[DiscoveryCase]
) -> None:
    # Every document has a twin, so taking one away changes the best score of nothing.
    twins = {f"{name}{n}": f"{text} leaves dough" for name, text in OWN.items() for n in (1, 2)}
    twin_cases = [DiscoveryCase(query, f"{name}1") for name, query in OWN.items()]
    report = gold_removed_report(make_corpus(twins), [*twin_cases, *cases[5:]])
    assert report.auroc["dense top"] == pytest.approx(0.5)
    assert (report.n_queries, report.n_retrieved) == (5, 5)
    assert "missing answer" in report.table()
    assert json.loads(json.dumps(report.to_dict()))["n_queries"] == 5


def test_gold_removed_sees_a_lone_answer_go(corpus: Corpus, cases: list[DiscoveryCase]) -> None:
    report = gold_removed_report(corpus, cases)
    assert report.auroc["dense top"] == 1.0
    assert report.best is not None
    assert report.best[1] == 1.0


def test_gold_that_was_not_found_counts_as_indistinguishable(corpus: Corpus, cases: list[DiscoveryCase]) -> None:
    missed = [DiscoveryCase(query, ("absent",)) for query in OWN.values()]
    report = gold_removed_report(corpus, [*cases, *missed])
    kinder = gold_removed_report(corpus, [*cases, *missed], retrieved_only=True)
    assert (report.n_queries, report.n_retrieved, kinder.n_queries) == (10, 5, 5)
    assert report.auroc["dense top"] is not None
    assert kinder.auroc["dense top"] == 1.0
    assert 0.5 < report.auroc["dense top"] < 1.0
