"""Rules that keep some of a ranked list: each takes hits, best first, and returns a part of them in the same order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ir.base import SearchHit
from ir.select.checks import count, fraction, number
from ir.select.magnitude import Scale, measure

__all__ = [
    "DFLT_GAP_RATIO",
    "DFLT_MAX_K",
    "DFLT_REL_THRESHOLD",
    "Selector",
    "abs_threshold",
    "rel_threshold",
    "score_gap",
    "top_k",
]

Selector = Callable[[Sequence[SearchHit]], list[SearchHit]]

DFLT_MAX_K = 3
DFLT_REL_THRESHOLD = 0.9
DFLT_GAP_RATIO = 0.5


def top_k(k: int = DFLT_MAX_K) -> Selector:
    """Keep the first ``k``."""
    count("k", k)
    return lambda hits: list(hits[:k])


def abs_threshold(min_score: float) -> Selector:
    """Keep hits whose magnitude is at least ``min_score``."""
    floor = number("min_score", min_score)
    return lambda hits: _kept(hits, [value >= floor for value in measure(hits).values])


def rel_threshold(ratio: float = DFLT_REL_THRESHOLD) -> Selector:
    """Keep hits at least ``ratio`` times as strong as the best; only the best where that is not positive.

    >>> hits = [SearchHit(name, "document", score, "") for name, score in [("a", 0.8), ("b", 0.7), ("c", 0.75)]]
    >>> [hit.artifact_id for hit in rel_threshold(0.9)(hits)]
    ['a', 'c']
    """
    fraction("ratio", ratio)
    return lambda hits: _kept(hits, near_top(measure(hits), ratio))


def score_gap(gap_ratio: float = DFLT_GAP_RATIO) -> Selector:
    """Keep hits up to the first that is less than ``gap_ratio`` times as strong as the one before it."""
    fraction("gap_ratio", gap_ratio)
    return lambda hits: list(hits[: before_gap(measure(hits), gap_ratio)])


def near_top(scale: Scale, ratio: float) -> list[bool]:
    """For each hit whether it is close enough to the best; the small slack is for rounding."""
    return [share >= ratio - 1e-12 for share in scale.ratios]


def before_gap(scale: Scale, gap_ratio: float) -> int:
    """How many hits stand before the first gap."""
    for place in range(1, len(scale.ratios)):
        before, here = scale.ratios[place - 1], scale.ratios[place]
        if here < gap_ratio * before - 1e-12:
            return place
    return len(scale.ratios)


def _kept(hits: Sequence[SearchHit], keep: Sequence[bool]) -> list[SearchHit]:
    return [hit for hit, kept in zip(hits, keep, strict=True) if kept]
