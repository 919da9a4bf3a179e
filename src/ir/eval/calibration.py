"""The floor below which a corpus should not answer, from labelled cases.

A floor tells queries that the corpus is about from *off-topic* ones. It does not tell whether the right document is
there: for a query on the corpus's own topic whose answer is missing, scores hardly differ
(:func:`ir.eval.gold_removed_report` measures by how little).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ir.errors import InvalidInput
from ir.eval.cases import DiscoveryCase
from ir.eval.curves import isotonic_curve
from ir.eval.floors import Floats, Objective, candidate_floors, decided_by_others, luck, pick, rates, resample
from ir.eval.records import CLEAR, MinScoreCalibration, check_persistable
from ir.eval.retrieval import DFLT_MODE, Retrieved, retrieve_cases
from ir.eval.signals import FEWEST_TO_CHOOSE, Choice, choose_signal, fusion_of, gate_signal
from ir.index.opening import as_corpus
from ir.index.progress import Listener
from ir.options import choice
from ir.protocols import CorpusOrName
from ir.select.gate import rerank_name
from ir.select.signals import default_signal, signals_for

__all__ = ["calibrate_min_score", "calibrate_retrieved", "split_signals", "summary"]

DFLT_SENSITIVITY_WEIGHT = 0.5
_GRID_SHOWN = 101


def calibrate_min_score(
    corpus: CorpusOrName,
    cases: Sequence[DiscoveryCase],
    *,
    mode: str = DFLT_MODE,
    k: int = 10,
    surfaces: Iterable[str] | None = None,
    sensitivity_weight: float = DFLT_SENSITIVITY_WEIGHT,
    floor_grid: Sequence[float] | None = None,
    persist: bool = False,
    max_loss: float | None = None,
    signal: str | None = None,
    rounds: int = 500,
    seed: int = 0,
    progress: Listener | None = None,
    **search_kw: Any,
) -> MinScoreCalibration:
    """The floor that best separates cases with gold from abstention cases.

    It is a floor on a ``signal`` made of raw channel scores, whatever the ranking is fused from. Without a name, the
    cases choose one of those that the mode has (``ir.select.signals``) by cross-validation; few cases, or a
    ``floor_grid``, leave it at the best raw score. By default the floor maximises
    ``sensitivity_weight * sensitivity + (1 - sensitivity_weight) * specificity``, which at 0.5 is Youden's J, for the
    smoothed samples. ``max_loss`` instead states the largest share of answerable queries that may be refused, and the
    floor refuses as many off-topic ones as that allows. Cases whose gold was not among the ``k`` candidates are left
    out: those are misses of retrieval. With only one kind of case there is no floor, and ``reason`` says which kind is
    missing. Nor is there one where ten cases of each kind or more show none: ``held_out_j`` is Youden's J of floors on
    cases that they were not made from, ``p`` how likely that is by luck alone, and at p ≥ .01 ``reason`` is
    ``"no_better_than_chance"``. A stated ``max_loss`` bounds the harm, so a floor is given then all the same, as it is
    for fewer cases; its ``by_luck`` says what it may be. ``rounds`` bootstrap samples give the confidence intervals and
    the error rate of the floor on the chosen signal; ``persist`` saves the result.
    """
    if signal is not None:
        choice("signal", signal, signals_for(mode))
    objective = _objective(sensitivity_weight, max_loss)
    grid = _checked_grid(floor_grid)
    opened = as_corpus(corpus)
    rerank = rerank_name(search_kw.get("rerank"))
    if persist:
        check_persistable(search_kw)
    retrieved = retrieve_cases(opened, cases, mode=mode, k=k, surfaces=surfaces, progress=progress, **search_kw)
    about: dict[str, Any] = {
        "corpus_name": opened.name,
        "mode": mode,
        "k": k,
        "embedder_id": opened.embedder_id,
        "rerank": rerank,
        "fusion": fusion_of(mode, search_kw),
    }
    if signal is None and grid is not None:
        signal = default_signal(mode)
    made = calibrate_retrieved(retrieved, about, objective, signal=signal, grid=grid, rounds=rounds, seed=seed)
    return made.save(opened) if persist and made.min_score is not None else made


def calibrate_retrieved(
    retrieved: Sequence[Retrieved],
    about: Mapping[str, Any],
    objective: Objective,
    *,
    signal: str | None = None,
    grid: Floats | None = None,
    rounds: int = 500,
    seed: int = 0,
) -> MinScoreCalibration:
    """The calibration from searches already made; ``about`` holds how they were made, its mode at least."""
    mode = str(about["mode"])
    chosen = Choice(signal) if signal is not None else _choice(retrieved, mode, objective, seed)
    positive, negative, misses = split_signals(retrieved, mode, chosen.signal)
    common: dict[str, Any] = {
        **about,
        "sensitivity_weight": objective.sensitivity_weight,
        "max_loss": objective.max_loss,
        "n_positive": len(positive),
        "n_abstention": len(negative),
        "n_retrieval_miss": misses,
        "positive_scores": summary(positive),
        "abstention_scores": summary(negative),
        "signal": chosen.signal,
        "signals_tried": dict(chosen.tried),
        "kind": "labelled",
        "degraded": any(item.hits.meta.get("degraded") for item in retrieved),
    }
    reason = _missing(positive, negative)
    if reason:
        return MinScoreCalibration(min_score=None, reason=reason, **common)
    return _calibrated(positive, negative, objective, grid, rounds, seed, common)


def _calibrated(
    positive: Floats,
    negative: Floats,
    objective: Objective,
    grid: Floats | None,
    rounds: int,
    seed: int,
    common: Mapping[str, Any],
) -> MinScoreCalibration:
    spread = resample(positive, negative, objective, floors=grid, rounds=rounds, seed=seed)
    common = {
        **common,
        **_held_out(positive, negative, objective, grid, seed, tried=len(common["signals_tried"])),
        "error_rate": spread.error_rate if spread else None,
        "min_score_interval": spread.floor if spread else None,
        "youden_j_interval": spread.youden_j if spread else None,
    }
    enough = min(len(positive), len(negative)) >= FEWEST_TO_CHOOSE
    if enough and objective.max_loss is None and common["p"] >= CLEAR:
        return MinScoreCalibration(min_score=None, reason="no_better_than_chance", **common)
    floors = candidate_floors(np.concatenate([positive, negative])) if grid is None else grid
    best = pick(floors, positive, negative, objective)
    sensitivity, specificity = rates(floors, np.sort(positive), np.sort(negative))
    return MinScoreCalibration(
        min_score=best.min_score,
        sensitivity=best.sensitivity,
        specificity=best.specificity,
        youden_j=best.youden_j,
        balanced_accuracy=best.balanced_accuracy,
        separable=bool((sensitivity + specificity >= 2 - 1e-9).any()),
        grid=_shown(floors, sensitivity, specificity, objective, best.min_score),
        reason="calibrated",
        curve=isotonic_curve(positive.tolist(), negative.tolist()),
        **common,
    )


def _held_out(
    positive: Floats, negative: Floats, objective: Objective, grid: Floats | None, seed: int, *, tried: int
) -> dict[str, float | None]:
    """What floors are worth on cases that they were not made from, and how likely that is by luck alone."""
    if min(len(positive), len(negative)) < 2:
        return {"held_out_j": None, "p": None}
    kept, refused = decided_by_others(positive, negative, objective, floors=grid, seed=seed)
    # The best of several signals had that many chances to look good.
    p = min(1.0, luck(kept, refused) * max(1, tried))
    return {"held_out_j": float(kept.mean() + refused.mean() - 1), "p": p}


def _choice(retrieved: Sequence[Retrieved], mode: str, objective: Objective, seed: int) -> Choice:
    samples = {name: split_signals(retrieved, mode, name)[:2] for name in signals_for(mode)}
    return choose_signal(samples, objective, seed=seed)


def split_signals(retrieved: Iterable[Retrieved], mode: str, signal: str) -> tuple[Floats, Floats, int]:
    """The gate's score of each answerable and of each off-topic case, and how many cases retrieval missed.

    A query that found nothing is refused at any floor: it scores minus infinity.
    """
    positive: list[float] = []
    negative: list[float] = []
    misses = 0
    for item in retrieved:
        value = gate_signal(item.hits, mode, signal)
        score = float("-inf") if value is None else value
        if item.case.gold_is_none:
            negative.append(score)
        elif set(item.case.gold) & set(item.ranking):
            positive.append(score)
        else:
            misses += 1
    return np.asarray(positive, dtype=float), np.asarray(negative, dtype=float), misses


def summary(scores: Floats) -> dict[str, float]:
    """Least, middle and greatest of the finite scores."""
    finite = scores[np.isfinite(scores)]
    if not len(finite):
        return {}
    return {"min": float(finite.min()), "median": float(np.median(finite)), "max": float(finite.max())}


def _missing(positive: Floats, negative: Floats) -> str:
    if len(positive) and len(negative):
        return ""
    if len(positive):
        return "no_abstention_cases"
    return "no_positive_cases" if len(negative) else "no_cases"


def _objective(weight: float, max_loss: float | None) -> Objective:
    if isinstance(weight, bool) or not 0 <= weight <= 1:
        raise InvalidInput(f"sensitivity_weight must be a number from 0 to 1, not {weight!r}.")
    if max_loss is not None and not 0 <= max_loss < 1:
        raise InvalidInput(f"max_loss must be a share from 0 up to but not including 1, not {max_loss!r}.")
    return Objective(float(weight), max_loss)


def _checked_grid(floor_grid: Sequence[float] | None) -> Floats | None:
    if floor_grid is None:
        return None
    grid = np.asarray(list(floor_grid), dtype=float)
    if not len(grid) or not np.isfinite(grid).all():
        raise InvalidInput(
            f"floor_grid must hold at least one floor, all finite, not {list(floor_grid)!r}.",
            remedy="Leave it out to try every floor that the scores can tell apart.",
        )
    return np.sort(grid)


def _shown(
    floors: Floats, sensitivity: Floats, specificity: Floats, objective: Objective, chosen: float
) -> list[dict[str, float]]:
    """The floors to report: all, or an even choice of many, and always the chosen one."""
    goodness = objective.goodness(sensitivity, specificity)
    at = np.unique(np.linspace(0, len(floors) - 1, min(len(floors), _GRID_SHOWN)).astype(int))
    at = np.union1d(at, np.flatnonzero(floors == chosen))
    return [
        {
            "min_score": float(floors[i]),
            "sensitivity": float(sensitivity[i]),
            "specificity": float(specificity[i]),
            "youden_j": float(sensitivity[i] + specificity[i] - 1),
            "objective": float(goodness[i]),
        }
        for i in at
    ]
