"""From one query to its best records: the channels, then the short way of a plain blend or all stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.base import SearchHit, StageReport
from ir.options import SearchOptions
from ir.protocols import Snapshot
from ir.retrieve.blend import blend
from ir.retrieve.candidates import Candidates, Channel, Found, Pick, union
from ir.retrieve.channels import Question, complete, initial_depth, run_channels
from ir.retrieve.fusion import NEEDS_COMPLETION, fuse
from ir.retrieve.pool import Pool
from ir.retrieve.stages import collapse, later_stages, pick, plain_reports
from ir.retrieve.whole import rows_of, whole_candidates

if TYPE_CHECKING:
    from ir.protocols import Refs

__all__ = ["Ranked", "rank"]

#: How much deeper the channels look when too few artifacts were found.
DEEPENING = 4


@dataclass
class Ranked:
    """What one question found, best first, and what its stages did."""

    question: Question
    picks: list[Pick]
    channels: Sequence[str]
    stages: list[StageReport]
    #: Whether the index has any word of the question; ``None`` where nobody looked for them.
    words_found: bool | None = None
    degraded: Sequence[str] = ()
    notes: Sequence[str] = ()
    rerank_report: dict[str, Any] | None = None
    expanded: list[SearchHit] = field(default_factory=list)

    @property
    def refs(self) -> Refs:
        return np.array([pick.ref for pick in self.picks], dtype=np.int64)


def rank(
    snapshot: Snapshot,
    question: Question,
    options: SearchOptions,
    saturation: float,
    corpus: Any = None,
    among: Refs | None = None,
) -> Ranked:
    """Look as deep as it takes to find ``k`` results, or to know that there are no more.

    With ``among`` no other records than those are looked at.
    """
    if options.whole:
        return _rank_whole(snapshot, question, options, saturation, corpus, among)
    depth = min(initial_depth(options), max(len(snapshot), 1))
    channels_s = 0.0
    began = perf_counter()
    while True:
        asked = perf_counter()
        found = run_channels(snapshot, question, options, depth, among)
        channels_s += perf_counter() - asked
        if len(found) > 1 and options.fusion == "blend" and options.plain:
            best = blend(snapshot, question, found, options, saturation)
            if best is not None:
                fusion_s = perf_counter() - began - channels_s
                told = plain_reports(channels_s * 1e3, fusion_s * 1e3, options)
                return Ranked(question, best, tuple(found), told, _words_found(found))
        pool = _fused(snapshot, question, found, options, saturation, corpus)
        pool.among = among
        found_enough = len(pool.picks) >= options.k and not _may_be_lifted(pool, saturation)
        if found_enough or pool.candidates.exhausted or depth >= len(snapshot):
            break
        depth = min(depth * DEEPENING, len(snapshot))
    return _finished(pool, channels_s, perf_counter() - began - channels_s, _words_found(found))


def _rank_whole(
    snapshot: Snapshot,
    question: Question,
    options: SearchOptions,
    saturation: float,
    corpus: Any,
    among: Refs | None,
) -> Ranked:
    """The same where every record of the corpus is a candidate."""
    began = perf_counter()
    candidates = whole_candidates(corpus, snapshot, question, options.alpha)
    words_found = bool(candidates.channels["lexical"].ranks.any())
    if among is not None:
        candidates = candidates.at(np.flatnonzero(np.isin(candidates.refs, among)))
    pool = _pool(snapshot, question, {}, candidates, options, saturation, corpus)
    pool.among = among
    if options.links:
        pool.hold(rows_of(corpus, snapshot, candidates.refs))
    return _finished(pool, perf_counter() - began, 0.0, words_found)


def _finished(pool: Pool, channels_s: float, fusion_s: float, words_found: bool | None) -> Ranked:
    """What the stages after the fusion make of a pool."""
    pool.stages = plain_reports(channels_s * 1e3, fusion_s * 1e3, pool.options)
    if pool.options.plain:
        collapse(pool)
    else:
        del pool.stages[2:]  # the others will tell for themselves
        later_stages(pool)
    return Ranked(
        pool.question,
        pool.picked(),
        tuple(pool.candidates.channels),
        pool.stages,
        words_found,
        pool.degraded,
        pool.notes,
        pool.rerank_report,
        pool.expanded,
    )


def _words_found(found: dict[str, Found]) -> bool | None:
    return len(found["lexical"].refs) > 0 if "lexical" in found else None


def _fused(
    snapshot: Snapshot,
    question: Question,
    found: dict[str, Found],
    options: SearchOptions,
    saturation: float,
    corpus: Any,
) -> Pool:
    """The pool of what the channels found, fused, and the best of it."""
    candidates = union(found)
    if len(found) > 1 and options.fusion in NEEDS_COMPLETION:
        for name in candidates.channels:
            complete(snapshot, question, candidates, name)
    fuse(candidates, options, saturation)
    return _pool(snapshot, question, found, candidates, options, saturation, corpus)


def _pool(
    snapshot: Snapshot,
    question: Question,
    found: dict[str, Found],
    candidates: Candidates,
    options: SearchOptions,
    saturation: float,
    corpus: Any,
) -> Pool:
    groups, kinds = snapshot.grouping(candidates.refs)
    pool = Pool(question, snapshot, options, corpus, found, candidates, groups, kinds, saturation=saturation)
    if options.surface_weights:
        _weigh(pool, options.surface_weights)
    pool.picks = pick(pool)
    return pool


def _weigh(pool: Pool, by_kind: Any) -> None:
    weights = np.array([by_kind.get(kind, 1.0) for kind in pool.kinds], dtype=np.float64)
    pool.candidates.scores = pool.scores * weights
    for place in np.flatnonzero(weights != 1.0).tolist():
        pool.changes.setdefault(int(pool.refs[place]), {})["surface_weight"] = float(weights[place])


def _may_be_lifted(pool: Pool, saturation: float) -> bool:
    """Whether a weight could bring a record among the best that no channel has returned yet.

    Who names ``fetch_k`` says how deep to look; min-max and distribution-based fusion look deep anyway, and have no
    scale for what they did not see.
    """
    channels, options = pool.candidates.channels, pool.options
    if not options.surface_weights or options.fetch_k is not None:
        return False
    if len(channels) > 1 and options.fusion not in ("rrf", "blend"):
        return False
    dense = channels.get("dense")
    if dense is not None and dense.exhausted and not pool.snapshot.unembedded(pool.question.space):
        return False  # it has returned every record
    best = Candidates(np.zeros(1, np.int64), {name: _next(channel) for name, channel in channels.items()})
    fuse(best, options, saturation)
    weight = max(options.surface_weights.get(kind, 1.0) for kind in pool.snapshot.kinds())
    return bool(best.scores[0] * weight > pool.scores[pool.picks[-1]])


def _next(channel: Channel) -> Channel:
    """What a channel would say at most of a record that it did not return."""
    if channel.exhausted or not channel.ranks.any():
        return Channel(np.zeros(1, np.int64), np.zeros(1), True)
    last = int(channel.ranks.argmax())
    return Channel(channel.ranks[last : last + 1] + 1, channel.scores[last : last + 1], False)
