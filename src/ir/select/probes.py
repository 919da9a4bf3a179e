"""What queries about other things score on a corpus: the floor that needs no labels.

A few hundred probe queries over many subjects ship with the package. Most of them are off topic for any one corpus, so
the scores of their best hits show what *off topic* looks like there; the floor is a high percentile of those. Some
probes are on topic by chance. They score higher, lie above the percentile, and as long as they are a minority they
move the floor little.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["percentile_floor", "probe_queries", "share_below_curve"]


@cache
def probe_queries() -> tuple[str, ...]:
    """The probes that ship with the package.

    >>> len(probe_queries()) >= 250
    True
    """
    from importlib.resources import files  # takes longer to load than most of what a search needs

    text = files("ir.select").joinpath("probes.txt").read_text(encoding="utf-8")
    return tuple(line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#"))


def percentile_floor(scores: Floats, percentile: float) -> float:
    """The floor at a percentile of the probes' scores; minus infinity is a probe that found nothing.

    >>> percentile_floor(np.array([0.0, 0.1, 0.2, 0.3, 0.4]), 75)
    0.3
    """
    finite = scores[np.isfinite(scores)]
    floor = float(np.percentile(_counted(scores, finite), percentile))
    if float((scores >= floor).sum()) <= len(scores) * (1 - percentile / 100) + 1:
        return floor
    # Many probes score just the same: a floor on that score would let all of them in, so it goes above it.
    above = finite[finite > floor]
    return (floor + float(above.min())) / 2 if len(above) else float(np.nextafter(floor, np.inf))


def share_below_curve(scores: Floats | Sequence[float], points: int = 21) -> list[list[float]]:
    """The share of probes that score no higher than a score, at evenly spaced shares.

    >>> share_below_curve([0.0, 1.0], points=3)
    [[0.0, 0.0], [0.5, 0.5], [1.0, 1.0]]
    """
    given = np.asarray(scores, dtype=float)
    finite = given[np.isfinite(given)]
    if not len(finite):
        return []
    shares = np.linspace(0.0, 1.0, points)
    curve: dict[float, float] = {}
    for score, share in zip(np.quantile(_counted(given, finite), shares), shares, strict=True):
        curve[float(score)] = float(share)
    return [[score, share] for score, share in curve.items()]


def _counted(scores: Floats, finite: Floats) -> Floats:
    """All scores; a probe that found nothing counts as no match at all, or as the lowest if that is lower."""
    return np.where(np.isfinite(scores), scores, min(0.0, float(finite.min())))
