"""Choosing a floor between the scores of answerable and of off-topic queries.

A query is accepted when its score is at or above the floor. *Sensitivity* is the share of answerable queries that are
accepted, *specificity* the share of off-topic ones that are refused; Youden's J is their sum less one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, lgamma

import numpy as np
from numpy.typing import NDArray

from ir.eval.curves import share_below

__all__ = [
    "Floor",
    "Objective",
    "Resampled",
    "auroc",
    "candidate_floors",
    "decided_by_others",
    "luck",
    "pick",
    "rates",
    "resample",
]

Floats = NDArray[np.float64]
_FOLDS = 5


@dataclass(frozen=True)
class Floor:
    """A floor and how it separates."""

    min_score: float
    sensitivity: float
    specificity: float

    @property
    def youden_j(self) -> float:
        return self.sensitivity + self.specificity - 1

    @property
    def balanced_accuracy(self) -> float:
        return (self.sensitivity + self.specificity) / 2


@dataclass(frozen=True)
class Objective:
    """What a floor should be best at: a weighted sum of the two rates, or refusing as much as ``max_loss`` allows."""

    sensitivity_weight: float = 0.5
    max_loss: float | None = None

    def goodness(self, sensitivity: Floats, specificity: Floats) -> Floats:
        weighted = self.sensitivity_weight * sensitivity + (1 - self.sensitivity_weight) * specificity
        if self.max_loss is None:
            return weighted
        # A floor that loses too much is worse than any that does not; of those that do, the one that loses least wins.
        allowed = sensitivity >= 1 - self.max_loss - 1e-12
        return np.where(allowed, specificity, sensitivity - 2)

    def noise(self, floor: Floor, n_positive: int, n_negative: int) -> float:
        """The standard error of the goodness at ``floor``; a stated loss leaves no room for any."""
        if self.max_loss is not None:
            return 0.0
        up = self.sensitivity_weight**2 * floor.sensitivity * (1 - floor.sensitivity) / n_positive
        down = (1 - self.sensitivity_weight) ** 2 * floor.specificity * (1 - floor.specificity) / n_negative
        return float(np.sqrt(up + down))


def rates(floors: Floats, positive: Floats, negative: Floats) -> tuple[Floats, Floats]:
    """Sensitivity and specificity at each floor; both samples sorted."""
    lost = np.searchsorted(positive, floors, side="left") / len(positive)
    refused = np.searchsorted(negative, floors, side="left") / len(negative)
    return 1 - lost, refused


def candidate_floors(scores: Floats) -> Floats:
    """One floor between each two neighbouring scores, one below all and one above: no other can do better."""
    distinct = np.unique(scores[np.isfinite(scores)])
    if not len(distinct):
        return np.zeros(1)
    margin = max(float(distinct[-1] - distinct[0]) / len(distinct), abs(float(distinct[-1])) * 1e-3, 1e-9)
    middles = (distinct[1:] + distinct[:-1]) / 2
    # Halving the sum of two neighbouring floats can round to the lower one, which is then not above it.
    middles = np.where(middles > distinct[:-1], middles, distinct[1:])
    return np.concatenate([[distinct[0] - margin], middles, [distinct[-1] + margin]])


def pick(floors: Floats, positive: Floats, negative: Floats, objective: Objective) -> Floor:
    """The floor to take.

    The very best on a sample owes something to the accidents of that sample. So among the floors within one standard
    error of the best, the one that is best for the smoothed samples is taken: it does better on other queries. Where
    there is no such error (the samples are apart, or a loss was stated), it is the one of the best in the widest gap
    between scores, then the lowest.
    """
    positive, negative = np.sort(positive), np.sort(negative)
    sensitivity, specificity = rates(floors, positive, negative)
    goodness = objective.goodness(sensitivity, specificity)

    def floor(at: int) -> Floor:
        return Floor(float(floors[at]), float(sensitivity[at]), float(specificity[at]))

    top = int(np.argmax(goodness))
    noise = objective.noise(floor(top), len(positive), len(negative))
    near = np.flatnonzero(goodness >= goodness[top] - noise - 1e-12)
    if len(near) == 1:
        return floor(top)
    if noise:
        kept, refused = 1 - share_below(positive, floors[near]), share_below(negative, floors[near])
        return floor(int(near[np.argmax(objective.goodness(kept, refused))]))
    return floor(int(near[np.argmax(_room(floors[near], np.sort(np.concatenate([positive, negative]))))]))


def _room(floors: Floats, scores: Floats) -> Floats:
    """How far each floor is from the nearest score, in units of the scores."""
    finite = scores[np.isfinite(scores)]
    if not len(finite):
        return np.zeros(len(floors))
    after = np.clip(np.searchsorted(finite, floors), 0, len(finite) - 1)
    before = np.clip(after - 1, 0, len(finite) - 1)
    return np.minimum(np.abs(finite[after] - floors), np.abs(finite[before] - floors))


def decided_by_others(
    positive: Floats, negative: Floats, objective: Objective, *, floors: Floats | None = None, seed: int = 0
) -> tuple[Floats, Floats]:
    """For each case 1 if a floor made from other cases (four fifths of them) decides it right, else 0.

    Both samples need two cases at least. Samples of the same sizes are parted alike.
    """
    rng = np.random.default_rng(seed)
    up, down = (rng.permutation(len(part)) % _FOLDS for part in (positive, negative))
    kept, refused = np.zeros(len(positive)), np.zeros(len(negative))
    for fold in range(_FOLDS):
        rest = positive[up != fold], negative[down != fold]
        grid = candidate_floors(np.concatenate(rest)) if floors is None else floors
        floor = pick(grid, *rest, objective).min_score
        kept[up == fold], refused[down == fold] = positive[up == fold] >= floor, negative[down == fold] < floor
    return kept, refused


def luck(kept: Floats, refused: Floats) -> float:
    """How likely decisions as good are if they have nothing to do with the cases (Fisher's exact test, one-sided).

    >>> round(luck(np.array([1.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0])), 4)
    0.05
    """
    n, m, right = len(kept), len(refused), int(kept.sum())
    accepted = right + m - int(refused.sum())
    tail = [
        exp(_log_choices(n, k) + _log_choices(m, accepted - k) - _log_choices(n + m, accepted))
        for k in range(max(right, accepted - m), min(n, accepted) + 1)
    ]
    return min(1.0, sum(tail))


def _log_choices(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


@dataclass(frozen=True)
class Resampled:
    """What other samples of the same size would have given: 95 % intervals of the floor and of J, and the mean error;
    J and error on the cases that a sample left out."""

    floor: tuple[float, float]
    youden_j: tuple[float, float]
    error_rate: float


def resample(
    positive: Floats,
    negative: Floats,
    objective: Objective,
    *,
    floors: Floats | None = None,
    rounds: int = 500,
    seed: int = 0,
) -> Resampled | None:
    """Pick a floor on bootstrap samples, test each on the cases that its sample left out.

    ``error_rate`` is the mean of one less the balanced accuracy there. ``None`` when samples are too small to leave
    anything out.
    """
    rng = np.random.default_rng(seed)
    chosen, js = [], []
    for _ in range(rounds):
        rows, columns = (rng.integers(0, len(sample), len(sample)) for sample in (positive, negative))
        out_positive = np.delete(positive, np.unique(rows))
        out_negative = np.delete(negative, np.unique(columns))
        drawn = np.sort(positive[rows]), np.sort(negative[columns])
        grid = candidate_floors(np.concatenate(drawn)) if floors is None else floors
        floor = pick(grid, *drawn, objective)
        chosen.append(floor.min_score)
        if len(out_positive) and len(out_negative):
            kept, refused = rates(np.array([floor.min_score]), np.sort(out_positive), np.sort(out_negative))
            js.append(float(kept[0] + refused[0]) - 1)
    if not js:
        return None
    return Resampled(_interval(chosen), _interval(js), (1 - float(np.mean(js))) / 2)


def _interval(values: Sequence[float]) -> tuple[float, float]:
    low, high = np.quantile(np.asarray(values), [0.025, 0.975])
    return float(low), float(high)


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """How often a positive scores above a negative; ties count half. ``None`` without both.

    >>> auroc([3, 2], [1, 2])
    0.875
    """
    if not len(positive) or not len(negative):
        return None
    up, down = np.sort(np.asarray(positive, dtype=float)), np.sort(np.asarray(negative, dtype=float))
    below = np.searchsorted(down, up, side="left").sum()
    below_or_equal = np.searchsorted(down, up, side="right").sum()
    return float(below + below_or_equal) / (2 * len(up) * len(down))
