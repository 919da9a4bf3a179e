"""Saying why a hit stands where it stands."""

from __future__ import annotations

from typing import Any

from ir.analysis import Analyzer, highlights
from ir.base import Row, lead_of
from ir.options import SearchOptions
from ir.retrieve.candidates import Pick
from ir.retrieve.channels import Question

__all__ = ["explanation"]


def explanation(question: Question, pick: Pick, row: Row, analyzer: Analyzer, options: SearchOptions) -> dict[str, Any]:
    """Terms that matched and where, what each channel added to the fused score, and what changed it afterwards."""
    terms = set(question.terms)
    present = terms & {*analyzer.terms(row.text), *analyzer.terms(lead_of(row.metadata))}
    fused = options.mode == "hybrid"
    return {
        "query": question.text,
        "mode": options.mode,
        "fusion": options.fusion if fused else None,
        "channels": {name: dict(found) for name, found in pick.channels.items()},
        "matched_terms": [term for term in question.terms if term in present],
        "missing_terms": [term for term in question.terms if term not in present],
        "highlights": [list(span) for span in highlights(analyzer, row.text, terms)],
        "shares": dict(pick.shares),
        "boosts": dict(pick.boosts),
    }
