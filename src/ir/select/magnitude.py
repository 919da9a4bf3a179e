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
from ir.options import DFLT_RRF_K
from ir.retrieve.fusion import DFLT_SATURATION

__all__ = ["COMPARABLE", "Scale", "blend_of", "magnitude", "measure", "raw_score"]

#: Fusions whose score says where a hit stands among the others, not how good it is.
ORDINAL_FUSIONS = frozenset({"rrf", "minmax", "dbsf"})
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
    against the strongest of all. Where that best is not positive, a ratio means nothing: it has 1, all others −1.
    """
    meta: Mapping[str, Any] = getattr(hits, "meta", {})
    values = tuple(magnitude(hit, meta) for hit in hits)
    kind = "score" if all(value == hit.score for value, hit in zip(values, hits, strict=True)) else "magnitude"
    merged = any(_is_merged(hit) for hit in hits)
    comparable = bool(meta.get(COMPARABLE))
    groups = [hit.source if merged and not comparable else None for hit in hits]
    reference: dict[str | None, int] = {}
    for place, (group, value) in enumerate(zip(groups, values, strict=True)):
        held = reference.setdefault(group, place)
        if comparable and value > values[held]:
            reference[group] = place
    ratios = []
    for place, (group, value) in enumerate(zip(groups, values, strict=True)):
        best = values[reference[group]]
        if best > 0:
            ratios.append(1.0 if value == best else value / best)
        else:
            ratios.append(1.0 if place == reference[group] else -1.0)
    return Scale(values, tuple(ratios), kind)


def magnitude(hit: SearchHit, meta: Mapping[str, Any] | None = None) -> float:
    """A hit's strength: its score, or a blend of its raw channel scores where the score is only ordinal."""
    score = raw_score(hit)
    if score != score:
        return _WORST
    return blend_of(hit) if _is_ordinal(hit, score, meta or {}) else score


def raw_score(hit: SearchHit) -> float:
    """The score that a hit had in its own source, before it was merged with others'."""
    return float(hit.metadata["source_score"] if _is_merged(hit) else hit.score)


def _is_merged(hit: SearchHit) -> bool:
    """Whether the hit comes from :func:`ir.fuse_hits`; an artifact may have a field of that name for itself."""
    return "source_rank" in hit.metadata and isinstance(hit.metadata.get("source_score"), (int, float))


def _is_ordinal(hit: SearchHit, score: float, meta: Mapping[str, Any]) -> bool:
    if not hit.channels:
        return False
    if "fusion" not in meta:
        # The list was cut or copied, so how it was fused is known only by what reciprocal ranks add up to.
        ranks = [channel.get("rank") for channel in hit.channels.values()]
        return abs(sum(1.0 / (DFLT_RRF_K + int(rank)) for rank in ranks if rank) - score) < 1e-9
    reranked = bool(meta.get("reranked")) and "reranker" not in meta.get("degraded", ())
    fusion: object = meta["fusion"]
    return not reranked and fusion in ORDINAL_FUSIONS


def blend_of(hit: SearchHit) -> float:
    """Half the cosine and half the saturated BM25, as ``fusion="blend"`` scores by default."""
    cosine = float(hit.channels.get("dense", {}).get("score") or 0.0)
    bm25 = max(float(hit.channels.get("lexical", {}).get("score") or 0.0), 0.0)
    return 0.5 * cosine + 0.5 * bm25 / (bm25 + DFLT_SATURATION)
