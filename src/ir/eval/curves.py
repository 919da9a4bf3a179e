"""Monotone curves from a score to a probability."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Curve", "isotonic", "isotonic_curve", "probability_at", "share_below"]

#: ``[[score, probability], …]``, both rising; between two points it is a straight line, outside it stays level.
Curve = list[list[float]]
Floats = NDArray[np.float64]


def isotonic(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The rising sequence nearest to ``values`` by weighted squares (pool adjacent violators).

    >>> isotonic([0.0, 1.0, 0.0, 1.0], [1, 1, 1, 1])
    [0.0, 0.5, 0.5, 1.0]
    """
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        level, mass, size = float(value), float(weight), 1
        while blocks and blocks[-1][0] >= level:
            before, its_mass, its_size = blocks.pop()
            level = (before * its_mass + level * mass) / (its_mass + mass)
            mass, size = mass + its_mass, size + its_size
        blocks.append((level, mass, size))
    return [level for level, _, size in blocks for _ in range(size)]


def isotonic_curve(positive: Sequence[float], negative: Sequence[float]) -> Curve:
    """P(positive | score), as if both kinds were equally common, by isotonic regression.

    A finite sample never shows certainty: the ends are kept 1 / (n + 2) away from 0 and 1.
    """
    if not len(positive) or not len(negative):
        return []
    scores = np.concatenate([np.asarray(positive, dtype=float), np.asarray(negative, dtype=float)])
    labels = np.concatenate([np.ones(len(positive)), np.zeros(len(negative))])
    weights = np.concatenate([np.full(len(positive), 0.5 / len(positive)), np.full(len(negative), 0.5 / len(negative))])
    usable = np.isfinite(scores)
    if not usable.any():
        return []
    distinct, where = np.unique(scores[usable], return_inverse=True)
    mass = np.bincount(where, weights=weights[usable])
    share = np.bincount(where, weights=(weights * labels)[usable]) / mass
    edge = 1.0 / (len(scores) + 2)
    levels = np.clip(isotonic(share.tolist(), mass.tolist()), edge, 1 - edge)
    return _corners(distinct, levels)


def _corners(scores: Floats, levels: Floats) -> Curve:
    """The first and last point of each level stretch: all that a straight line between them needs."""
    keep = np.ones(len(levels), dtype=bool)
    keep[1:-1] = (levels[1:-1] != levels[:-2]) | (levels[1:-1] != levels[2:])
    return [[float(score), float(level)] for score, level in zip(scores[keep], levels[keep], strict=True)]


def share_below(scores: Floats, at: Floats, points: int = 256) -> Floats:
    """The share of sorted ``scores`` below each of ``at`` (rising), smoothed by a normal kernel of the usual width.

    >>> share_below(np.array([0.0, 1.0, 2.0, 3.0]), np.array([-9.0, 1.5, 9.0])).round(2)
    array([0. , 0.5, 1. ])
    """
    finite = scores[np.isfinite(scores)]
    plain = np.searchsorted(scores, at, side="left") / len(scores)
    step = float(at[-1] - at[0]) / (points - 1)
    if len(finite) < 2 or step <= 0:
        return np.asarray(plain)
    quartiles = np.quantile(finite, [0.25, 0.75])
    spread = min(float(finite.std()), float(quartiles[1] - quartiles[0]) / 1.34) or float(finite.std())
    width = 0.9 * spread * len(finite) ** -0.2
    reach = int(np.ceil(3 * width / step))
    if not 0 < reach <= 4 * points:
        return np.asarray(plain)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) * step / width) ** 2)
    # The grid goes on beyond its ends, so that the kernel sees the scores that lie there.
    grid = at[0] + step * np.arange(-reach, points + reach)
    steps = np.searchsorted(scores, grid, side="left") / len(scores)
    return np.interp(at, grid[reach : points + reach], np.convolve(steps, kernel / kernel.sum(), "valid"))


def probability_at(curve: Sequence[Sequence[float]], score: float) -> float | None:
    """The curve's value at ``score``; ``None`` for an empty curve.

    >>> probability_at([[0.2, 0.1], [0.4, 0.9]], 0.3), probability_at([], 0.3)
    (0.5, None)
    """
    if not curve:
        return None
    return round(float(np.interp(score, [point[0] for point in curve], [point[1] for point in curve])), 12)
