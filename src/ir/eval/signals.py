"""The signal that abstention reads, and which of several reads best.

Every calibration and report of this package takes the signal from here, so that a floor is calibrated on the same
number that :func:`ir.discover` compares with it: made of raw channel scores, whatever the ranking was fused from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ir.errors import InvalidInput
from ir.eval.floors import Floats, Objective, decided_by_others
from ir.options import DFLT_FUSION
from ir.protocols import Corpus
from ir.select.gate import Gate, find_gate, gate_score, rerank_name

if TYPE_CHECKING:
    from ir.base import Hits

__all__ = ["Choice", "choose_signal", "fusion_of", "gate_for", "gate_signal"]

#: With fewer cases of a kind than this nothing is chosen, and the default signal stays.
FEWEST_TO_CHOOSE = 10
#: How much better than the default a signal must be, in standard errors of the difference.
MARGIN = 0.5


def gate_signal(hits: Hits, mode: str, signal: str | None = None) -> float | None:
    """The score that a floor is compared with; ``None`` when nothing was found."""
    score = gate_score(hits, mode, signal)
    return None if score is None else float(score)


def fusion_of(mode: str, search_kw: Mapping[str, Any]) -> str | None:
    """The fusion that a search with these keywords uses; ``None`` where nothing is fused."""
    return str(search_kw.get("fusion", DFLT_FUSION)) if mode == "hybrid" else None


def gate_for(corpus: Corpus, mode: str, min_score: str, search_kw: Mapping[str, Any]) -> Gate:
    """The gate that ``min_score="auto"`` means; an error where discovery would only warn and go on without."""
    if min_score != "auto":
        raise InvalidInput(f"min_score must be a number, 'auto' or None, not {min_score!r}.")
    rerank, space = rerank_name(search_kw.get("rerank")), search_kw.get("space")
    gate = find_gate(corpus, mode, fusion=search_kw.get("fusion"), rerank=rerank, space=space)
    if gate.floor is None:
        raise InvalidInput(gate.note or "No calibration is kept with this corpus.")
    return gate


@dataclass(frozen=True)
class Choice:
    """The chosen signal, and J of each that was tried, on cases that its floor was not made from."""

    signal: str
    tried: Mapping[str, float] = field(default_factory=dict)


def choose_signal(samples: Mapping[str, tuple[Floats, Floats]], objective: Objective, *, seed: int = 0) -> Choice:
    """Which signal parts answerable from off-topic cases best; the first one is the default and wins by default.

    Each case is decided by a floor made from other cases, for each signal; another than the first is taken if it
    decides better by more than ``MARGIN`` standard errors of that difference. ``samples`` holds for each signal its
    scores of the answerable and of the off-topic cases, in the same order for all.
    """
    default, *others = samples
    positive, negative = samples[default]
    if not others or min(len(positive), len(negative)) < FEWEST_TO_CHOOSE:
        return Choice(default)
    right = {name: decided_by_others(*scores, objective, seed=seed) for name, scores in samples.items()}
    weights = objective.sensitivity_weight, 1 - objective.sensitivity_weight
    best, lead = default, 0.0
    for name in others:
        gains = [now - before for now, before in zip(right[name], right[default], strict=True)]
        gain = sum(weight * float(part.mean()) for weight, part in zip(weights, gains, strict=True))
        error = sum(weight**2 * float(part.var()) / len(part) for weight, part in zip(weights, gains, strict=True))
        if gain > MARGIN * error**0.5 + 1e-9 and gain > lead:
            best, lead = name, gain
    return Choice(best, {name: float(kept.mean() + refused.mean() - 1) for name, (kept, refused) in right.items()})
