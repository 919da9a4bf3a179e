"""Committing to a few of the ranked hits, or to none, and saying which rule decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ir.base import SearchHit, json_clean
from ir.errors import InvalidInput
from ir.options import choice
from ir.select.checks import count, fraction, number
from ir.select.magnitude import Scale, measure
from ir.select.selectors import DFLT_GAP_RATIO, DFLT_MAX_K, DFLT_REL_THRESHOLD, Selector, before_gap, near_top

__all__ = ["STRATEGIES", "Selection", "SelectionRule", "select"]

STRATEGIES = ("conservative", "top_k", "abs_threshold", "rel_threshold", "score_gap")


@dataclass(frozen=True)
class Selection:
    """What was committed to, out of what, and why.

    ``reason`` names the rule that ended the commitment: ``max_k``, ``rel_threshold``, ``score_gap``,
    ``abs_threshold``, ``top_k``, ``nonpositive_top``, ``custom``, ``exhausted`` (every candidate was kept), or
    ``abstain:`` and ``no_candidates``, ``below_floor`` or ``custom``. ``signals`` holds the numbers behind it;
    ``top_score`` and ``min_ratio`` are read on the scale that ``signals["scale"]`` names.
    """

    selected: list[SearchHit]
    candidates: list[SearchHit]
    abstained: bool
    reason: str
    signals: Mapping[str, Any] = field(default_factory=dict)

    @property
    def selected_ids(self) -> list[str]:
        """The committed artifact ids, best first."""
        return [hit.artifact_id for hit in self.selected]

    @property
    def sufficient(self) -> bool:
        """Whether anything was committed to; what to do otherwise is the caller's decision."""
        return not self.abstained

    def to_dict(self) -> dict[str, Any]:
        """The selection in JSON's types only."""
        return {
            "selected": [hit.to_dict() for hit in self.selected],
            "selected_ids": self.selected_ids,
            "candidates": [hit.to_dict() for hit in self.candidates],
            "n_candidates": len(self.candidates),
            "abstained": self.abstained,
            "sufficient": self.sufficient,
            "reason": self.reason,
            "signals": json_clean(self.signals),
        }


@dataclass(frozen=True)
class SelectionRule:
    """How to select: the keywords of :func:`select`, checked."""

    strategy: str | Selector = "conservative"
    max_k: int = DFLT_MAX_K
    rel: float = DFLT_REL_THRESHOLD
    gap_ratio: float = DFLT_GAP_RATIO
    min_score: float | None = None

    def __post_init__(self) -> None:
        if not callable(self.strategy):
            choice("selection strategy", self.strategy, STRATEGIES)
        count("max_k", self.max_k)
        fraction("rel", self.rel)
        fraction("gap_ratio", self.gap_ratio)
        if self.min_score is not None:
            number("min_score", self.min_score)

    @property
    def name(self) -> str:
        """The strategy's name; a callable's own, where it has one."""
        if isinstance(self.strategy, str):
            return self.strategy
        return str(getattr(self.strategy, "__name__", type(self.strategy).__name__))


def select(
    hits: Sequence[SearchHit],
    *,
    strategy: str | Callable[[Sequence[SearchHit]], list[SearchHit]] = "conservative",
    max_k: int = DFLT_MAX_K,
    rel: float = DFLT_REL_THRESHOLD,
    gap_ratio: float = DFLT_GAP_RATIO,
    min_score: float | None = None,
) -> Selection:
    """Commit to a part of ranked ``hits``, in their order, or abstain.

    ``"conservative"`` keeps hits at least ``rel`` times as strong as the best, at most ``max_k``. A callable may keep
    any of the hits it is given. Whatever the strategy, ``max_k`` caps it, and a best hit below ``min_score`` means
    abstention. Ratios and the floor read magnitudes, never rank-fused scores.

    >>> ranked = [SearchHit(name, "document", score, "") for name, score in [("a", 0.8), ("b", 0.78), ("c", 0.3)]]
    >>> choice = select(ranked)
    >>> choice.selected_ids, choice.reason
    (['a', 'b'], 'rel_threshold')
    >>> select(ranked, min_score=0.9).reason
    'abstain:below_floor'
    """
    rule = SelectionRule(strategy, max_k, rel, gap_ratio, min_score)
    if rule.strategy == "abs_threshold" and min_score is None:
        raise InvalidInput("The strategy 'abs_threshold' needs min_score, the least score to keep.")
    return apply_rule(hits, rule)


def apply_rule(hits: Sequence[SearchHit], rule: SelectionRule) -> Selection:
    """:func:`select` for a rule that is already a value."""
    scale = measure(hits)
    top = scale.top
    signals: dict[str, Any] = {"n_candidates": len(hits), "top_score": top, "scale": scale.kind, "min_ratio": None}
    if rule.min_score is not None:
        signals["min_score"] = signals["floor"] = rule.min_score
    if top is None:
        return _selection(hits, [], "abstain:no_candidates", signals)
    if rule.min_score is not None and top < rule.min_score:
        return _selection(hits, [], "abstain:below_floor", signals)
    if callable(rule.strategy):
        places = _chosen(hits, rule.strategy(hits))
        note = getattr(rule.strategy, "note", None)
        if isinstance(note, str):
            signals["note"] = note
        capped = sorted(places[: rule.max_k])
        reason = "max_k" if len(places) > rule.max_k else "custom"
    else:
        kept, reason = _kept(scale, rule)
        capped = kept[: rule.max_k]
        if len(kept) > rule.max_k:
            reason = "top_k" if rule.strategy == "top_k" else "max_k"
    if not capped:
        return _selection(hits, [], "abstain:custom", signals)
    signals["min_ratio"] = min(scale.ratios[place] for place in capped)
    return _selection(hits, capped, reason, signals)


def _selection(hits: Sequence[SearchHit], places: Sequence[int], reason: str, signals: dict[str, Any]) -> Selection:
    signals["n_selected"] = len(places)
    return Selection([hits[place] for place in places], list(hits), not places, reason, signals)


def _kept(scale: Scale, rule: SelectionRule) -> tuple[list[int], str]:
    """The places that a named strategy keeps before the cap, and the rule that ended it there."""
    everything = list(range(len(scale.values)))
    if rule.strategy == "top_k":
        return everything, "exhausted"
    if rule.strategy == "score_gap":
        kept = everything[: before_gap(scale, rule.gap_ratio)]
        ended = "score_gap"
    elif rule.strategy == "abs_threshold":
        floor = rule.min_score if rule.min_score is not None else float("-inf")
        kept = [place for place in everything if scale.values[place] >= floor]
        ended = "abs_threshold"
    else:
        near = near_top(scale, rule.rel)
        kept = [place for place in everything if near[place]]
        ended = "rel_threshold"
    if len(kept) == len(everything):
        return kept, "exhausted"
    if ended != "abs_threshold" and scale.top is not None and scale.top <= 0:
        return kept, "nonpositive_top"
    return kept, ended


def _chosen(hits: Sequence[SearchHit], chosen: Sequence[SearchHit]) -> list[int]:
    """The places of a callable's choice, in its order; a copy of a hit stands for the hit."""
    by_object = {id(hit): place for place, hit in enumerate(hits)}
    by_name: dict[tuple[Any, ...], int] = {}
    for place, hit in enumerate(hits):
        by_name.setdefault(_name(hit), place)
    places: list[int] = []
    for hit in chosen:
        found = by_object.get(id(hit))
        if found is None and isinstance(hit, SearchHit):
            found = by_name.get(_name(hit))
        if found is None:
            raise InvalidInput(f"The selector returned {hit!r}, which is not one of the hits it was given.")
        if found not in places:
            places.append(found)
    return places


def _name(hit: SearchHit) -> tuple[Any, ...]:
    return (hit.source, hit.artifact_id, hit.surface_kind, hit.surface_index)
