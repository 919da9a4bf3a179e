"""Merging the rankings of several sources: ranks meet, raw scores never do."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ir.base import SearchHit, best_per_artifact, tag_source
from ir.errors import InvalidInput
from ir.options import DFLT_RRF_K, count

__all__ = ["Identity", "fuse_hits"]

#: How hits of different sources are recognised as one thing: ``"pointer"`` (they point at the same file), a function
#: of the hit, or not at all. A hit whose key is empty is merged with no other.
Identity = Callable[[SearchHit], Any] | str | None
_KeyOf = Callable[[SearchHit], Hashable]


@dataclass
class _Merged:
    """One result in the making: its representative is the hit that ranked best."""

    hit: SearchHit
    rank: int
    order: int
    weight: float
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
    Ties go to the better rank, then to the source given first, then to the artifact id. ``weights`` may name a source
    by the tag that its hits carry or by its key here; a name that is neither is ignored. A weight that was given
    stands in ``metadata["source_weight"]``, where :func:`ir.select` reads it.

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
    key_of = _key_of(identity)
    groups = _group(hits_by_source)
    ranked = {source: _distinct(hits, key_of) for source, hits in groups.items()}
    if len(ranked) <= 1:
        return [hit for hits in ranked.values() for hit in hits][:k]
    weighed = _weights(hits_by_source, weights or {})
    merged: dict[Hashable, _Merged] = {}
    for order, (source, hits) in enumerate(ranked.items()):
        weight = weighed.get(source, 1.0)
        for rank, hit in enumerate(hits, start=1):
            entry = merged.setdefault(key_of(hit), _Merged(hit, rank, order, weight))
            if rank < entry.rank:
                entry.hit, entry.rank, entry.order = hit, rank, order
            entry.weight = max(entry.weight, weight)
            entry.score += weight / (rrf_k + rank)
            entry.sources.append(source)
    best = sorted(merged.values(), key=lambda entry: (-entry.score, entry.rank, entry.order, entry.hit.artifact_id))
    return [_fused(entry, weighted=bool(weighed)) for entry in best[:k]]


def _group(hits_by_source: Mapping[str | None, Sequence[SearchHit]]) -> dict[str | None, list[SearchHit]]:
    """Hits by the source they carry; an untagged one takes its key. One corpus under two keys stays one source."""
    groups: dict[str | None, list[SearchHit]] = {}
    for key, hits in hits_by_source.items():
        for hit in tag_source(hits, key):
            groups.setdefault(hit.source, []).append(hit)
    return groups


def _weights(
    hits_by_source: Mapping[str | None, Sequence[SearchHit]], weights: Mapping[Any, float]
) -> dict[str | None, float]:
    """The weight of each source that has one: by its own name, else by the first key that it came under."""
    found: dict[str | None, float] = {}
    for key, hits in hits_by_source.items():
        for source in dict.fromkeys(hit.source if hit.source is not None else key for hit in hits):
            name = source if source in weights else key
            if name in weights:
                found.setdefault(source, float(weights[name]))
    return found


def _distinct(hits: Sequence[SearchHit], key_of: _KeyOf) -> list[SearchHit]:
    best: dict[Hashable, SearchHit] = {}
    for hit in best_per_artifact(hits):
        best.setdefault(key_of(hit), hit)
    return list(best.values())


def _key_of(identity: Identity) -> _KeyOf:
    """What makes two hits one result: the identity, and for hits that have none, source and artifact."""
    if identity is None:
        return _own_key
    if identity == "pointer":
        return _keyed(lambda hit: hit.pointer)
    if callable(identity):
        return _keyed(identity)
    raise InvalidInput(f"Unknown identity {identity!r}; use None, 'pointer' or a function of the hit.")


def _own_key(hit: SearchHit) -> Hashable:
    return (hit.source, hit.artifact_id)


def _keyed(identify: Callable[[SearchHit], Any]) -> _KeyOf:
    def key(hit: SearchHit) -> Hashable:
        value = identify(hit)
        if not value:
            return _own_key(hit)
        return ("identity", value if isinstance(value, Hashable) else repr(value))

    return key


def _fused(entry: _Merged, *, weighted: bool) -> SearchHit:
    metadata = {**entry.hit.metadata, "source_score": entry.hit.score, "source_rank": entry.rank}
    if weighted:
        metadata["source_weight"] = entry.weight
    distinct = list(dict.fromkeys(entry.sources))
    if len(distinct) > 1:
        metadata["fused_sources"] = distinct
    return replace(entry.hit, score=entry.score, metadata=metadata)
