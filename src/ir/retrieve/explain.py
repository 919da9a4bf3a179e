"""Saying why a hit stands where it stands."""

from __future__ import annotations

from typing import Any

from ir.analysis import Analyzer, highlights
from ir.base import Row, heading_of
from ir.options import SearchOptions
from ir.retrieve.ranking import Ranked

__all__ = ["channel_scores", "explanation"]


def channel_scores(ranked: Ranked, place: int) -> dict[str, dict[str, Any]]:
    """Each channel's rank (``None`` if it did not return the record) and raw score."""
    out: dict[str, dict[str, Any]] = {}
    for name, channel in ranked.candidates.channels.items():
        position = int(channel.ranks[place])
        if position or channel.completed:
            out[name] = {"rank": position or None, "score": float(channel.scores[place])}
    return out


def explanation(ranked: Ranked, place: int, row: Row, analyzer: Analyzer, options: SearchOptions) -> dict[str, Any]:
    """Terms that matched and where, what each channel added to the fused score, and what changed it afterwards."""
    terms = set(ranked.question.terms)
    present = terms & {*analyzer.terms(row.text), *analyzer.terms(heading_of(row.metadata))}
    fused = options.mode == "hybrid"
    return {
        "query": ranked.question.text,
        "mode": options.mode,
        "fusion": options.fusion if fused else None,
        "channels": channel_scores(ranked, place),
        "matched_terms": [term for term in ranked.question.terms if term in present],
        "missing_terms": [term for term in ranked.question.terms if term not in present],
        "highlights": [list(span) for span in highlights(analyzer, row.text, terms)],
        "shares": {name: float(share[place]) for name, share in ranked.candidates.shares.items()},
        "boosts": dict(ranked.boosts.get(place, {})),
    }
