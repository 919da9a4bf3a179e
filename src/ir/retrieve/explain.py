"""Saying why a hit stands where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ir.analysis import Analyzer, highlights
from ir.base import Row, heading_of
from ir.options import SearchOptions
from ir.retrieve.ranking import Ranked

__all__ = ["channel_scores", "explanation"]


def channel_scores(ranked: Ranked, places: Sequence[int]) -> list[dict[str, dict[str, Any]]]:
    """For each place, each channel's rank (``None`` if it did not return the record) and raw score."""
    out: list[dict[str, dict[str, Any]]] = [{} for _ in places]
    for name, channel in ranked.candidates.channels.items():
        ranks, scores = channel.ranks[places].tolist(), channel.scores[places].tolist()
        for found, position, score in zip(out, ranks, scores, strict=True):
            if position or channel.completed:
                found[name] = {"rank": position or None, "score": score}
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
        "channels": channel_scores(ranked, [place])[0],
        "matched_terms": [term for term in ranked.question.terms if term in present],
        "missing_terms": [term for term in ranked.question.terms if term not in present],
        "highlights": [list(span) for span in highlights(analyzer, row.text, terms)],
        "shares": {name: float(share[place]) for name, share in ranked.candidates.shares.items()},
        "boosts": dict(ranked.boosts.get(place, {})),
    }
