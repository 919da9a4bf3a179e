"""From one query to its best records: channels, fusion, boosts, reranking, collapsing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.base import Row, SearchHit
from ir.errors import InvalidInput
from ir.options import SearchOptions
from ir.protocols import Snapshot
from ir.retrieve.blend import blend
from ir.retrieve.candidates import Candidates, Channel, Found, Pick, union
from ir.retrieve.channels import Question, complete, initial_depth, run_channels
from ir.retrieve.fusion import NEEDS_COMPLETION, fuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ir.protocols import Refs

    Positions = NDArray[np.int64]

__all__ = ["Ranked", "rank"]

#: How much deeper the channels look when too few artifacts were found.
DEEPENING = 4


@dataclass
class Ranked:
    """What one question found, best first, and what became of its second stage."""

    question: Question
    picks: list[Pick]
    channels: Sequence[str]
    degraded: Sequence[str] = ()
    rerank_report: dict[str, Any] | None = None
    notes: Sequence[str] = ()

    @property
    def refs(self) -> Refs:
        return np.array([pick.ref for pick in self.picks], dtype=np.int64)


@dataclass
class _Fused:
    """The candidates of one question, and the places of those that were picked, best first."""

    question: Question
    candidates: Candidates
    groups: NDArray[np.int64]
    kinds: Sequence[str]
    picks: list[int]
    boosts: dict[int, dict[str, float]] = field(default_factory=dict)
    degraded: list[str] = field(default_factory=list)
    rerank_report: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)

    def group(self, place: int) -> int:
        return int(self.groups[place])


def rank(snapshot: Snapshot, question: Question, options: SearchOptions, saturation: float) -> Ranked:
    """Look as deep as it takes to find ``k`` results, or to know that there are no more."""
    depth = min(initial_depth(options), max(len(snapshot), 1))
    while True:
        found = run_channels(snapshot, question, options, depth)
        if len(found) > 1 and options.fusion == "blend" and not _reordered(options):
            best = blend(snapshot, question, found, options, saturation)
            if best is not None:
                return Ranked(question, best, tuple(found))
        fused = _fused(snapshot, question, found, options, saturation)
        found_enough = len(fused.picks) >= options.k and not _may_be_lifted(snapshot, fused, options, saturation)
        if found_enough or fused.candidates.exhausted or depth >= len(snapshot):
            break
        depth = min(depth * DEEPENING, len(snapshot))
    if options.graph_boost is not None or options.rerank is not None:
        _second_stage(snapshot, fused, fused.candidates.order(), options)
    for name in fused.candidates.channels:
        complete(snapshot, question, fused.candidates, name, np.array(fused.picks, dtype=np.int64))
    picks = fused.candidates.picked(fused.picks, fused.boosts)
    return Ranked(question, picks, tuple(found), fused.degraded, fused.rerank_report, fused.notes)


def _fused(
    snapshot: Snapshot, question: Question, found: dict[str, Found], options: SearchOptions, saturation: float
) -> _Fused:
    """What the channels found, fused, and the best of it."""
    candidates = union(found)
    if len(found) > 1 and options.fusion in NEEDS_COMPLETION:
        for name in candidates.channels:
            complete(snapshot, question, candidates, name)
    fuse(candidates, options, saturation)
    groups, kinds = snapshot.grouping(candidates.refs)
    fused = _Fused(question, candidates, groups, kinds, [])
    _weigh(fused, options)
    fused.picks = _pick(fused, candidates.order(), options.k, options.per_artifact)
    return fused


def _reordered(options: SearchOptions) -> bool:
    """Whether something after the fusion may lift a record that is not among the best yet."""
    return bool(options.surface_weights) or options.rerank is not None or options.graph_boost is not None


def _weigh(fused: _Fused, options: SearchOptions) -> None:
    if not options.surface_weights:
        return
    weights = np.array([options.surface_weights.get(kind, 1.0) for kind in fused.kinds], dtype=np.float64)
    fused.candidates.scores = fused.candidates.scores * weights
    for place in np.flatnonzero(weights != 1.0):
        fused.boosts.setdefault(int(place), {})["surface_weight"] = float(weights[place])


def _may_be_lifted(snapshot: Snapshot, fused: _Fused, options: SearchOptions, saturation: float) -> bool:
    """Whether a weight could bring a record among the best that no channel has returned yet.

    Who names ``fetch_k`` says how deep to look; min-max and distribution-based fusion look deep anyway, and have no
    scale for what they did not see.
    """
    channels = fused.candidates.channels
    if not options.surface_weights or options.fetch_k is not None:
        return False
    if len(channels) > 1 and options.fusion not in ("rrf", "blend"):
        return False
    dense = channels.get("dense")
    if dense is not None and dense.exhausted:  # it has returned every record
        return False
    best = Candidates(np.zeros(1, np.int64), {name: _next(channel) for name, channel in channels.items()})
    fuse(best, options, saturation)
    weight = max(options.surface_weights.get(kind, 1.0) for kind in snapshot.kinds())
    return bool(best.scores[0] * weight > fused.candidates.scores[fused.picks[-1]])


def _next(channel: Channel) -> Channel:
    """What a channel would say at most of a record that it did not return."""
    if channel.exhausted or not channel.ranks.any():
        return Channel(np.zeros(1, np.int64), np.zeros(1), True)
    last = int(channel.ranks.argmax())
    return Channel(channel.ranks[last : last + 1] + 1, channel.scores[last : last + 1], False)


def _pick(fused: _Fused, order: Positions, k: int, per_artifact: bool) -> list[int]:
    if not per_artifact:
        return [int(place) for place in order[:k]]
    seen: set[int] = set()
    picks: list[int] = []
    for place in order.tolist():
        group = fused.group(place)
        if group not in seen:
            seen.add(group)
            picks.append(place)
            if len(picks) == k:
                break
    return picks


def _second_stage(snapshot: Snapshot, fused: _Fused, order: Positions, options: SearchOptions) -> None:
    """Boost and rerank the best ``fetch_k`` records, and the best of each picked artifact, then pick again."""
    first = [int(place) for place in order[: options.candidates]]
    held = set(first)
    pool = np.array(first + [place for place in fused.picks if place not in held], dtype=np.int64)
    rows = snapshot.rows(fused.candidates.refs[pool])
    scores = fused.candidates.scores[pool].astype(np.float64)
    if options.graph_boost is not None:
        scores = scores + _boosts(fused, pool, rows, scores, options)
    if options.rerank is not None:
        from ir.retrieve.rerank import reranked_scores

        texts = _rerank_texts(fused, pool, rows, options.rerank_text)
        second = reranked_scores(options.rerank, fused.question.text, rows, texts, scores, options.rerank_weight)
        fused.rerank_report = second.report
        if second.note:
            fused.notes.append(second.note)
        if second.scores is None:
            fused.degraded.append("reranker")
        else:
            scores = second.scores
            for place, score in zip(pool.tolist(), scores.tolist(), strict=True):
                fused.boosts.setdefault(place, {})["rerank"] = score
    fused.candidates.scores = np.full(len(fused.candidates), -np.inf)
    fused.candidates.scores[pool] = scores
    order = pool[np.lexsort((fused.candidates.refs[pool], -scores))]
    fused.picks = _pick(fused, order, options.k, options.per_artifact)


def _boosts(
    fused: _Fused, pool: Positions, rows: Sequence[Row], scores: NDArray[np.float64], options: SearchOptions
) -> NDArray[np.float64]:
    added = np.zeros(len(pool))
    for index, (place, row) in enumerate(zip(pool.tolist(), rows, strict=True)):
        hit = SearchHit.of_row(row, float(scores[index]), None, {})
        added[index] = _boost(options.graph_boost, hit)
        if added[index]:
            fused.boosts.setdefault(place, {})["graph"] = float(added[index])
    return added


def _boost(graph_boost: Any, hit: SearchHit) -> float:
    value = graph_boost(hit)
    if not isinstance(value, (int, float, np.number)) or not np.isfinite(value):
        raise InvalidInput(f"graph_boost must return a finite number, not {value!r}.")
    return float(value)


def _rerank_texts(fused: _Fused, pool: Positions, rows: Sequence[Row], what: str) -> list[str]:
    """What the reranker reads: each record's own text, or the text of all the artifact's records in the pool."""
    if what == "surface":
        return [row.text for row in rows]
    parts: dict[int, list[Row]] = {}
    for place, row in zip(pool.tolist(), rows, strict=True):
        parts.setdefault(fused.group(place), []).append(row)
    whole = {
        group: "\n".join(row.text for row in sorted(members, key=lambda row: row.surface_index))
        for group, members in parts.items()
    }
    return [whole[fused.group(place)] for place in pool.tolist()]
