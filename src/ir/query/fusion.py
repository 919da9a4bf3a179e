"""Making one ranking of several, by ranks alone or by where each score lies among those of its list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from statistics import fmean, stdev

from ir.errors import InvalidInput
from ir.options import DFLT_RRF_K

__all__ = ["FusedResult", "RankedCandidate", "distribution", "ranked_list", "reciprocal"]

#: Scores that differ by no more than this have no spread.
_NO_SPREAD = 1e-9


@dataclass(frozen=True, slots=True)
class RankedCandidate:
    """A document in one list: its rank, counted from 1, and the score that its back end gave it."""

    document_id: str
    rank: int
    raw_score: float = 0.0


@dataclass(frozen=True, slots=True)
class FusedResult:
    """A document of the fused list; ``source_ranks`` has its rank in each list that it was in, by the list's name."""

    document_id: str
    fused_score: float
    fused_rank: int
    source_ranks: Mapping[str, int] = field(default_factory=dict)


Lists = Sequence[Sequence[RankedCandidate]]


def ranked_list(ids: Sequence[str], scores: Sequence[float] | None = None) -> list[RankedCandidate]:
    """Documents that come best first, as a list to be fused."""
    given = [0.0] * len(ids) if scores is None else scores
    return [RankedCandidate(name, at, float(score)) for at, (name, score) in enumerate(zip(ids, given, strict=True), 1)]


def reciprocal(
    lists: Lists,
    *,
    k: float = DFLT_RRF_K,
    top_k: int | None = None,
    weights: Sequence[float] | None = None,
    names: Sequence[str] | None = None,
) -> list[FusedResult]:
    """Sum ``weight / (k + rank)`` over the lists, in their order; equal sums by id. ``top_k``: no more than so many.

    >>> [(one.document_id, one.fused_score) for one in reciprocal([ranked_list(["a", "b"]), ranked_list(["b"])])]
    [('b', 0.03252247488101534), ('a', 0.01639344262295082)]
    """
    if not isfinite(k) or k <= 0:
        raise InvalidInput(f"k must be a number above 0, not {k!r}.")
    shares = [
        {one.document_id: weight / (k + one.rank) for one in ranked}
        for ranked, weight in zip(lists, _weights(lists, weights), strict=True)
    ]
    return _fused(lists, shares, top_k, names)


def distribution(
    lists: Lists,
    *,
    top_k: int | None = None,
    weights: Sequence[float] | None = None,
    names: Sequence[str] | None = None,
) -> list[FusedResult]:
    """Sum where each score lies between three standard deviations below the mean of its list (0) and above it (1).

    Nothing is cut off at 0 or 1; a list without spread gives a half to each of its documents.
    """
    shares = [_placed(ranked, weight) for ranked, weight in zip(lists, _weights(lists, weights), strict=True)]
    return _fused(lists, shares, top_k, names)


def _placed(ranked: Sequence[RankedCandidate], weight: float) -> dict[str, float]:
    scores = [one.raw_score for one in ranked]
    spread = stdev(scores) if len(scores) > 1 else 0.0
    if spread < _NO_SPREAD:
        return {one.document_id: weight * 0.5 for one in ranked}
    low = fmean(scores) - 3 * spread
    return {one.document_id: weight * (one.raw_score - low) / (6 * spread) for one in ranked}


def _weights(lists: Lists, weights: Sequence[float] | None) -> Sequence[float]:
    if weights is None:
        return [1.0] * len(lists)
    if len(weights) != len(lists):
        raise InvalidInput(f"There are {len(lists)} lists and {len(weights)} weights; give one for each.")
    for weight in weights:
        if not isfinite(weight) or weight < 0:
            raise InvalidInput(f"A weight must be a number of at least 0, not {weight!r}.")
    return weights


def _fused(
    lists: Lists, shares: Sequence[Mapping[str, float]], top_k: int | None, names: Sequence[str] | None
) -> list[FusedResult]:
    if top_k is not None and top_k < 0:
        raise InvalidInput(f"top_k must be 0 or more, not {top_k}.")
    labels = [str(number) for number in range(len(lists))] if names is None else list(names)
    if len(labels) != len(lists):
        raise InvalidInput(f"There are {len(lists)} lists and {len(labels)} names; give one for each.")
    sums: dict[str, float] = {}
    for share in shares:
        for name, value in share.items():
            sums[name] = sums.get(name, 0.0) + value
    best = sorted(sums.items(), key=lambda one: (-one[1], one[0]))[:top_k]
    ranks: dict[str, dict[str, int]] = {name: {} for name, _ in best}
    for label, ranked in zip(labels, lists, strict=True):
        for one in ranked:
            if one.document_id in ranks:
                ranks[one.document_id].setdefault(label, one.rank)
    return [FusedResult(name, score, at, ranks[name]) for at, (name, score) in enumerate(best, start=1)]
