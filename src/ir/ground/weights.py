"""How much each channel counts: in general, and as held-back aliases or usage say of one vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

__all__ = ["DEFAULTS", "Probe", "Weights", "choose"]

#: Set by hand on one vocabulary, with and without models; recall there was flat around these values.
DEFAULTS: dict[str, float] = {
    "surfaces": 1.0,
    "acronyms": 0.4,
    "spelling": 0.4,
    "words": 0.3,
    "definition-spelling": 0.4,
    "definition-words": 0.4,
    "meaning": 0.5,
    "definition-meaning": 0.5,
    "subword": 0.0,
    "context": 0.0,
    "usage": 1.5,
    "usage-map": 1.0,
    "prior": 0.03,
}
_FACTORS = (0.0, 0.25, 0.5, 0.75, 1.33, 2.0, 4.0)
#: Where a channel counts nothing by default, it is tried with these.
_TRIED = (0.05, 0.1, 0.3)
_ROUNDS = 3
#: Fewer probes say nothing, and a gain within two standard errors is noise.
FEWEST_PROBES = 60
_SURE = 2.0


@dataclass(frozen=True)
class Weights:
    """``values`` by channel; ``source`` says where they come from and ``figures`` what was measured."""

    values: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULTS))
    source: str = "defaults"
    figures: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {"values": dict(self.values), "source": self.source, "figures": dict(self.figures)}


@dataclass(frozen=True)
class Probe:
    """A lookup whose right terms are known: the scores of its candidates in each channel, and which are right.

    ``missed`` right terms are not among the candidates.
    """

    scores: Floats
    right: NDArray[np.bool_]
    missed: int = 0


def choose(probes: Sequence[Probe], names: Sequence[str], source: str) -> Weights:
    """The weights that rank the right terms highest, or the defaults if the gain could be chance.

    They are chosen on each half of the probes and tried on the other, where chance does not help.
    """
    start = np.array([DEFAULTS.get(name, 0.0) for name in names], np.float64)
    if len(probes) < FEWEST_PROBES:
        return Weights(figures={"probes": len(probes), "note": f"fewer than {FEWEST_PROBES} probes"})
    halves = (probes[::2], probes[1::2])
    before = np.concatenate([_gains(part, start) for part in halves])
    crossed = (_climbed(halves[1], start), _climbed(halves[0], start))
    after = np.concatenate([_gains(part, weights) for part, weights in zip(halves, crossed, strict=True)])
    gain = after - before
    error = float(gain.std(ddof=1) / np.sqrt(len(gain)))
    figures: dict[str, Any] = {
        "probes": len(probes),
        "ndcg_defaults": round(float(before.mean()), 4),
        "ndcg_held_back": round(float(after.mean()), 4),
        "standard_error": round(error, 4),
        "single": {
            name: round(float(_gains(probes, row).mean()), 4)
            for name, row in zip(names, np.eye(len(names)), strict=True)
        },
    }
    if float(gain.mean()) <= _SURE * error:
        return Weights(figures=figures | {"note": "other weights gained no more than chance would"})
    chosen = _climbed(probes, start)
    values = dict(DEFAULTS) | {name: round(float(value), 4) for name, value in zip(names, chosen, strict=True)}
    return Weights(values, source, figures)


def _climbed(probes: Sequence[Probe], start: NDArray[np.float64]) -> NDArray[np.float64]:
    """One weight after the other is tried at other values, and kept at the best."""
    weights = start.copy()
    best = float(_gains(probes, weights).mean())
    for _ in range(_ROUNDS):
        before = best
        for channel in range(len(weights)):
            was = weights[channel]
            tried = [factor * was for factor in _FACTORS] if was else _TRIED
            for value in tried:
                other = weights.copy()
                other[channel] = value
                score = float(_gains(probes, other).mean())
                if score > best + 1e-6:
                    best, weights = score, other
        if best - before < 1e-4:
            break
    return weights


def _gains(probes: Sequence[Probe], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nDCG of each probe."""
    return np.array([_ndcg(probe, weights) for probe in probes])


def _ndcg(probe: Probe, weights: NDArray[np.float64]) -> float:
    total = probe.scores @ weights
    right = total[probe.right]
    wanted = len(right) + probe.missed
    ideal = float((1 / np.log2(np.arange(2, wanted + 2))).sum())
    if not len(right):
        return 0.0
    # A tie counts as if half of those were in front.
    above = (total[None] > right[:, None]).sum(1) + ((total[None] == right[:, None]).sum(1) - 1) / 2
    return float((1 / np.log2(2 + above)).sum()) / ideal
