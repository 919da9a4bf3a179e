"""How strong a hit is, as opposed to where it stands.

A ratio or a floor only means something on a score that keeps magnitude. Rank-fused scores do not: the best of a hundred
bad matches has the same score as the best of a hundred good ones. So selection ranks by ``hit.score``, and compares by
the numbers made here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ir.base import SearchHit
from ir.options import DFLT_ALPHA
from ir.retrieve.fusion import DFLT_SATURATION, blended

__all__ = ["COMPARABLE", "Scale", "blend_of", "magnitude", "measure", "raw_score"]

#: In the ``meta`` of a federated ranking: whether magnitudes of different sources may be compared.
COMPARABLE = "comparable_sources"
_WORST = float("-inf")


@dataclass(frozen=True)
class Scale:
    """The magnitudes of ranked hits, and each one's share of the best that it may be compared with."""

    values: tuple[float, ...]
    ratios: tuple[float, ...]
    kind: str

    @property
    def top(self) -> float | None:
        return max(self.values, default=None)


def measure(hits: Sequence[SearchHit]) -> Scale:
    """The magnitudes of ``hits``.

    Within one ranking the first hit is what the others are measured against. Hits of several sources, merged by rank,
    are measured against the first of their own source, unless the list says that the sources are comparable: then
    against the strongest of all. Sources that were merged with weights count by them: a hit of a source with half the
    greatest weight has half the ratio. Where the best is not positive, a ratio means nothing: it has 1, all others −1.
    """
    meta: Mapping[str, Any] = getattr(hits, "meta", {})
    values = tuple(map(magnitude, hits))
    kind = "score" if all(value == hit.score for value, hit in zip(values, hits, strict=True)) else "magnitude"
    merged = any(_is_merged(hit) for hit in hits)
    comparable = bool(meta.get(COMPARABLE))
    shares = _shares(hits)
    strengths = [value * share if share else min(value, 0.0) for value, share in zip(values, shares, strict=True)]
    groups = [hit.source if merged and not comparable else None for hit in hits]
    reference: dict[str | None, int] = {}
    for place, (group, strength) in enumerate(zip(groups, strengths, strict=True)):
        held = reference.setdefault(group, place)
        if comparable and strength > strengths[held]:
            reference[group] = place
    ratios = []
    for place, group in enumerate(groups):
        best = reference[group]
        # Sources on scales of their own are compared by their weights alone, those on one scale by both.
        own, top = (strengths[place], strengths[best]) if comparable else (values[place], values[best])
        share = 1.0 if comparable else shares[place]
        if top > 0:
            ratios.append(share if own == top else share * own / top)
        else:
            ratios.append(share if place == best else -1.0)
    return Scale(values, tuple(_led(ratios)), kind)


def _led(ratios: list[float]) -> list[float]:
    """The ratios with a best of at least 1, where weights left none: something is always the best there is."""
    best = max(ratios, default=1.0)
    if best >= 1:
        return ratios
    return [ratio / best for ratio in ratios] if best > 0 else [1.0, *ratios[1:]]


def magnitude(hit: SearchHit) -> float:
    """A hit's strength: its score, or a blend of its raw channel scores where the score is only ordinal."""
    score = raw_score(hit)
    if score != score:
        return _WORST
    return blend_of(hit) if hit.ordinal and hit.channels else score


def raw_score(hit: SearchHit) -> float:
    """The score that a hit had in its own source, before it was merged with others'."""
    return float(hit.metadata["source_score"] if _is_merged(hit) else hit.score)


def _is_merged(hit: SearchHit) -> bool:
    """Whether the hit comes from :func:`ir.fuse_hits`; an artifact may have a field of that name for itself."""
    return "source_rank" in hit.metadata and isinstance(hit.metadata.get("source_score"), (int, float))


def _shares(hits: Sequence[SearchHit]) -> list[float]:
    """The weight of each hit's source as a share of the greatest; 1 where they were merged without weights."""
    weights = [float(hit.metadata.get("source_weight", 1.0)) if _is_merged(hit) else 1.0 for hit in hits]
    most = max(weights, default=1.0)
    return [weight / most for weight in weights] if most > 0 else [1.0] * len(weights)


def blend_of(hit: SearchHit) -> float:
    """Half the cosine and half the saturated BM25, as ``fusion="blend"`` scores by default."""
    cosine = float(hit.channels.get("dense", {}).get("score") or 0.0)
    bm25 = max(float(hit.channels.get("lexical", {}).get("score") or 0.0), 0.0)
    return blended(cosine, bm25, DFLT_ALPHA, DFLT_SATURATION)
