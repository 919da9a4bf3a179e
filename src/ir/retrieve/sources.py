"""Merging the rankings of several sources: ranks meet, raw scores never do."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ir.base import SearchHit, best_per_artifact, tag_source
from ir.errors import InvalidInput
from ir.options import DFLT_RRF_K, count

__all__ = ["Identity", "fuse_hits"]

#: How hits of different sources are recognised as one thing: a function of the hit, a metadata key, or not at all.
Identity = Callable[[SearchHit], Any] | str | None


@dataclass
class _Merged:
    """One result in the making: its representative is the hit that ranked best."""

    hit: SearchHit
    rank: int
    order: int
    score: float = 0.0
    sources: list[str | None] = field(default_factory=list)


def fuse_hits(
    hits_by_source: Mapping[str | None, Sequence[SearchHit]],
    *,
    rrf_k: float = DFLT_RRF_K,
    weights: Mapping[str, float] | None = None,
    identity: Identity = None,
    k: int | None = None,
) -> list[SearchHit]:
    """One ranking of several sources' rankings, by weighted reciprocal rank: ``weight / (rrf_k + rank)``.

    Within a source, duplicates collapse to their best score before ranking. A single source passes through with its
    raw scores. Otherwise ``score`` is ordinal (compare it with nothing but its neighbours), and the hit keeps
    ``metadata["source_score"]``, ``["source_rank"]`` and, where ``identity`` merged several, ``["fused_sources"]``.
    Ties go to the better rank, then to the source given first, then to the artifact id.

    >>> a, b = SearchHit("x", "document", 9.0, ""), SearchHit("y", "document", 0.2, "")
    >>> [(hit.source, hit.artifact_id) for hit in fuse_hits({"notes": [a], "code": [b]})]
    [('notes', 'x'), ('code', 'y')]
    """
    if k is not None:
        count("k", k)
    if not rrf_k > 0:
        raise InvalidInput(f"rrf_k must be above 0, not {rrf_k!r}.")
    for name, weight in (weights or {}).items():
        if not weight >= 0:
            raise InvalidInput(f"The weight of source {name!r} must be at least 0, not {weight!r}.")
    groups = _group(hits_by_source)
    ranked = {source: _distinct(hits, identity) for source, hits in groups.items()}
    if len(ranked) <= 1:
        return [hit for hits in ranked.values() for hit in hits][:k]
    merged: dict[Hashable, _Merged] = {}
    for order, (source, hits) in enumerate(ranked.items()):
        weight = 1.0 if weights is None or source is None else weights.get(source, 1.0)
        for rank, hit in enumerate(hits, start=1):
            entry = merged.setdefault(_key(hit, identity), _Merged(hit, rank, order))
            if rank < entry.rank:
                entry.hit, entry.rank, entry.order = hit, rank, order
            entry.score += weight / (rrf_k + rank)
            entry.sources.append(source)
    best = sorted(merged.values(), key=lambda entry: (-entry.score, entry.rank, entry.order, entry.hit.artifact_id))
    return [_fused(entry) for entry in best[:k]]


def _group(hits_by_source: Mapping[str | None, Sequence[SearchHit]]) -> dict[str | None, list[SearchHit]]:
    """Hits by the source they carry; an untagged one takes its key. One corpus under two keys stays one source."""
    groups: dict[str | None, list[SearchHit]] = {}
    for key, hits in hits_by_source.items():
        for hit in tag_source(hits, key):
            groups.setdefault(hit.source, []).append(hit)
    return groups


def _distinct(hits: Sequence[SearchHit], identity: Identity) -> list[SearchHit]:
    if identity is None:
        return best_per_artifact(hits)
    best: dict[Hashable, SearchHit] = {}
    for hit in best_per_artifact(hits):
        best.setdefault(_key(hit, identity), hit)
    return list(best.values())


def _key(hit: SearchHit, identity: Identity) -> Hashable:
    if identity is None:
        return (hit.source, hit.artifact_id)
    value = hit.metadata.get(identity) if isinstance(identity, str) else identity(hit)
    if value is None:
        return (hit.source, hit.artifact_id)
    return ("identity", value if isinstance(value, Hashable) else repr(value))


def _fused(entry: _Merged) -> SearchHit:
    metadata = {**entry.hit.metadata, "source_score": entry.hit.score, "source_rank": entry.rank}
    distinct = list(dict.fromkeys(entry.sources))
    if len(distinct) > 1:
        metadata["fused_sources"] = distinct
    return replace(entry.hit, score=entry.score, metadata=metadata)
