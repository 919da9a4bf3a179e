"""The signal that abstention reads, and which channel it is of.

Every calibration and report of this package takes the signal from here, so that a floor is calibrated on the same
number that :func:`ir.discover` compares with it: the raw score of a channel, whatever the ranking was fused from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ir.errors import InvalidInput
from ir.options import DFLT_FUSION
from ir.select.gate import Gate, find_gate, gate_score, rerank_name

if TYPE_CHECKING:
    from ir.base import Hits

__all__ = ["fusion_of", "gate_for", "gate_signal"]


def gate_signal(hits: Hits, mode: str) -> float | None:
    """The score that a floor is compared with; ``None`` when nothing was found."""
    score = gate_score(hits, mode)
    return None if score is None else float(score)


def fusion_of(mode: str, search_kw: Mapping[str, Any]) -> str | None:
    """The fusion that a search with these keywords uses; ``None`` where nothing is fused."""
    return str(search_kw.get("fusion", DFLT_FUSION)) if mode == "hybrid" else None


def gate_for(corpus: Any, mode: str, min_score: str, search_kw: Mapping[str, Any]) -> Gate:
    """The gate that ``min_score="auto"`` means; an error where discovery would only warn and go on without."""
    if min_score != "auto":
        raise InvalidInput(f"min_score must be a number, 'auto' or None, not {min_score!r}.")
    gate = find_gate(corpus, mode, fusion=search_kw.get("fusion"), rerank=rerank_name(search_kw.get("rerank")))
    if gate.floor is None:
        raise InvalidInput(gate.note or "No calibration is kept with this corpus.")
    return gate
