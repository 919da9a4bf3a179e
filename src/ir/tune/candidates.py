"""The ways to search that tuning tries: few, so that little can be won by luck."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Way", "default_way", "ways"]

ALPHAS = (0.2, 0.35, 0.5, 0.65, 0.8)
#: BM25 scores grow with the length of queries; the constants at which they count half, from short queries to long.
SATURATIONS = (15.0, 35.0, 70.0)
FEEDBACK = 0.4
FEEDBACK_ALPHAS = (0.35, 0.5, 0.65)
#: Fusions that stretch scores look a thousand deep and take ten times as long, so only one weight of each is tried.
STRETCHED_ALPHA = 0.6


@dataclass(frozen=True)
class Way:
    """A name for people and the keywords of :func:`ir.search` that it stands for."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)


def default_way() -> Way:
    """The hybrid search that one gets without tuning."""
    return Way("default", {"mode": "hybrid"})


def ways() -> list[Way]:
    """Every way that is tried, the default first: single channels, then fusions from simple to involved."""
    tried = [
        default_way(),
        Way("dense", {"mode": "dense"}),
        Way("lexical", {"mode": "lexical"}),
        Way("rrf", {"mode": "hybrid", "fusion": "rrf"}),
    ]
    for saturation in SATURATIONS:
        tried += [_blend(alpha, saturation) for alpha in ALPHAS]
    tried += [_blend(alpha, 35.0, FEEDBACK) for alpha in FEEDBACK_ALPHAS]
    for fusion in ("minmax", "dbsf"):
        options = {"mode": "hybrid", "fusion": fusion, "alpha": STRETCHED_ALPHA}
        tried.append(Way(f"{fusion} α={STRETCHED_ALPHA:g}", options))
    return tried


def _blend(alpha: float, saturation: float, feedback: float = 0.0) -> Way:
    name = f"blend α={alpha:g} s={saturation:g}"
    options: dict[str, Any] = {"mode": "hybrid", "fusion": "blend", "alpha": alpha, "bm25_sat_k": saturation}
    if feedback:
        name += " + feedback"
        options["feedback"] = feedback
    return Way(name, options)
