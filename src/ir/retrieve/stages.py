"""The stages of a search after its channels: each takes the pool, changes it, and says what it did.

channels → fusion → code → graph → boosts → exit or rerank → final boosts → collapse → expansion
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ir.base import SearchHit, StageReport
from ir.errors import InvalidInput
from ir.options import SearchOptions
from ir.retrieve.apart import places_of, spread
from ir.retrieve.boosts import add_boost, each_hit
from ir.retrieve.channels import complete
from ir.retrieve.graphs import apply_graph, graph_of
from ir.retrieve.pool import Pool
from ir.retrieve.rankings import apply_ranking, ranking_of

if TYPE_CHECKING:
    from ir.retrieve.pool import Positions

__all__ = ["Did", "Stage", "collapse", "later_stages", "merged_reports", "pick", "plain_reports", "run_stages"]


class Did(NamedTuple):
    """What a stage did: whether it ran, why or why not, and whether it had to be done without."""

    ran: bool
    why: str | None = None
    degraded: bool = False


Stage = Callable[[Pool], Did]

# Why stages that nobody asked for do not run.
_ONE_CHANNEL = "there is one channel only"
_NO_RANKING = "the corpus is neither source code nor a book"
_PLAIN = "a plain ranking was asked for"
_NO_GRAPH = "nobody asked for links"
_NO_BOOST = "no boost was given"
_NOTHING_TO_SKIP = "there is no reranker to skip"
_NO_RERANKER = "no reranker was given"
_ALL = "every record is a hit of its own"
_NO_EXPANSION = "no expansion was given"


def later_stages(pool: Pool) -> None:
    """All stages after the fusion, in order."""
    if pool.options.whole and pool.options.links:
        # Whatever is linked may be lifted, and not only what is among the best already.
        run_stages(pool, until="boosts")
        pool.narrow(_head(pool))
        run_stages(pool, since="boosts")
        return
    if pool.options.reorders:
        pool.narrow(_head(pool))
    run_stages(pool)


def run_stages(pool: Pool, *, since: str | None = None, until: str | None = None) -> None:
    """The stages after the fusion in order, from ``since`` on, and none from ``until`` on."""
    names = [name for name, _ in _LATER]
    first = names.index(since) if since is not None else 0
    last = names.index(until) if until is not None else len(names)
    for name, stage in _LATER[first:last]:
        began = perf_counter()
        did = stage(pool)
        ms = (perf_counter() - began) * 1e3
        pool.stages.append({"name": name, "ran": did.ran, "why": did.why, "ms": ms, "degraded": did.degraded})
        if did.degraded:
            pool.degraded.append("reranker" if name == "rerank" else name)


def _head(pool: Pool) -> Positions:
    """The best ``fetch_k`` records and the best of each picked artifact, best first."""
    first = [int(place) for place in pool.candidates.order()[: pool.options.candidates]]
    held = set(first)
    return np.array(first + [place for place in pool.picks if place not in held], dtype=np.int64)


def _code(pool: Pool) -> Did:
    """What the corpus has a ranking for: what a question about code or a book says beside its meaning and words."""
    if not pool.options.ranks:
        return Did(False, _why_plain(pool.options))
    return Did(True, apply_ranking(pool, ranking_of(pool.options)))


def _why_plain(options: SearchOptions) -> str:
    return _PLAIN if options.ranking == "plain" else _NO_RANKING


def _graph(pool: Pool) -> Did:
    """What the links of good candidates lift."""
    if not pool.options.links:
        return Did(False, _NO_GRAPH)
    return Did(True, apply_graph(pool, graph_of(pool.options)))


def _boosts(pool: Pool) -> Did:
    options = pool.options
    if options.graph_boost is None and not options.boosts:
        return Did(False, _NO_BOOST)
    if options.graph_boost is not None:
        add_boost(pool, each_hit(options.graph_boost, "graph_boost"), "graph")
    for boost in options.boosts:
        add_boost(pool, boost)
    return Did(True)


def _exit(pool: Pool) -> Did:
    """Whether what was found so far is good enough to leave out the reranker."""
    if pool.options.rerank is None:
        return Did(False, _NOTHING_TO_SKIP)
    if pool.options.exit_when is None:
        return Did(False, "no exit was given")
    answer = pool.options.exit_when(pool)
    if not answer:
        return Did(False, "the first stage's result is not good enough")
    pool.exited = answer if isinstance(answer, str) else "the first stage's result is good enough"
    return Did(True, pool.exited)


def _rerank(pool: Pool) -> Did:
    options = pool.options
    if options.rerank is None:
        return Did(False, _NO_RERANKER)
    if pool.exited:
        return Did(False, pool.exited)
    from ir.retrieve.rerank import reranked_scores

    second = reranked_scores(
        options.rerank, pool.query, pool.rows, _rerank_texts(pool), pool.scores, options.rerank_weight
    )
    pool.rerank_report = second.report
    if second.note:
        pool.notes.append(second.note)
    if second.scores is None:
        return Did(False, second.note, degraded=True)
    pool.candidates.scores = second.scores
    for ref, score in zip(pool.refs.tolist(), second.scores.tolist(), strict=True):
        pool.changes.setdefault(ref, {})["rerank"] = score
    return Did(True, second.note)


def _final_boosts(pool: Pool) -> Did:
    if pool.options.dep_boost is None:
        return Did(False, _NO_BOOST)
    add_boost(pool, each_hit(pool.options.dep_boost, "dep_boost"), "dep")
    return Did(True)


def collapse(pool: Pool) -> Did:
    """The best ``k``, of each artifact the best record only, with the score of every channel."""
    if pool.options.reorders:
        pool.picks = pick(pool)
    for name in pool.candidates.channels:
        complete(pool.snapshot, pool.question, pool.candidates, name, np.array(pool.picks, dtype=np.int64))
    return Did(True) if pool.options.per_artifact else Did(False, _ALL)


def _expansion(pool: Pool) -> Did:
    if pool.options.expansion is None:
        return Did(False, _NO_EXPANSION)
    added = pool.options.expansion(pool)
    if not isinstance(added, Iterable):
        raise InvalidInput(f"expansion must return a list of hits, not {added!r}.")
    pool.expanded = list(added)
    for hit in pool.expanded:
        if not isinstance(hit, SearchHit):
            raise InvalidInput(f"expansion must return a list of hits; {hit!r} is none.")
    return Did(True, f"{len(pool.expanded)} added")


#: The stages after the fusion.
_LATER: tuple[tuple[str, Stage], ...] = (
    ("code", _code),
    ("graph", _graph),
    ("boosts", _boosts),
    ("exit", _exit),
    ("rerank", _rerank),
    ("final_boosts", _final_boosts),
    ("collapse", collapse),
    ("expansion", _expansion),
)


def pick(pool: Pool) -> list[int]:
    """The places of the best ``k``, of each artifact the best one only if so asked, or a few that are apart."""
    order, k = pool.candidates.order(), pool.options.k
    if not pool.options.per_artifact:
        return [int(place) for place in order[:k]]
    groups: list[int] = pool.groups.tolist()
    if pool.options.each > 1:
        best: list[int] = order.tolist()
        where = places_of(pool.snapshot, pool.refs[order].tolist())
        return spread(best, k, pool.options.each, group=groups.__getitem__, place=where)
    seen: set[int] = set()
    picks: list[int] = []
    for place in order.tolist():
        if groups[place] not in seen:
            seen.add(groups[place])
            picks.append(place)
            if len(picks) == k:
                break
    return picks


def _rerank_texts(pool: Pool) -> list[str]:
    """What the reranker reads: each record's own text, or the text of all the artifact's records in the pool."""
    if pool.options.rerank_text == "surface":
        return [row.text for row in pool.rows]
    groups = pool.groups.tolist()
    parts: dict[int, list[tuple[int, str]]] = {}
    for group, row in zip(groups, pool.rows, strict=True):
        parts.setdefault(group, []).append((row.surface_index, row.text))
    whole = {
        group: "\n".join(text for _, text in sorted(members, key=lambda member: member[0]))
        for group, members in parts.items()
    }
    return [whole[group][: pool.options.rerank_max_chars] for group in groups]


# -- reports ---------------------------------------------------------------------------------------------------------


def plain_reports(channels_ms: float, fusion_ms: float, options: SearchOptions) -> list[StageReport]:
    """The reports of a search in which nothing comes after the fusion; picking the best is part of that."""
    fused, collapsed = options.mode == "hybrid", bool(options.per_artifact)
    return [
        {"name": "channels", "ran": True, "why": None, "ms": channels_ms, "degraded": False},
        {"name": "fusion", "ran": fused, "why": None if fused else _ONE_CHANNEL, "ms": fusion_ms, "degraded": False},
        {"name": "code", "ran": False, "why": _why_plain(options), "ms": 0.0, "degraded": False},
        {"name": "graph", "ran": False, "why": _NO_GRAPH, "ms": 0.0, "degraded": False},
        {"name": "boosts", "ran": False, "why": _NO_BOOST, "ms": 0.0, "degraded": False},
        {"name": "exit", "ran": False, "why": _NOTHING_TO_SKIP, "ms": 0.0, "degraded": False},
        {"name": "rerank", "ran": False, "why": _NO_RERANKER, "ms": 0.0, "degraded": False},
        {"name": "final_boosts", "ran": False, "why": _NO_BOOST, "ms": 0.0, "degraded": False},
        {"name": "collapse", "ran": collapsed, "why": None if collapsed else _ALL, "ms": 0.0, "degraded": False},
        {"name": "expansion", "ran": False, "why": _NO_EXPANSION, "ms": 0.0, "degraded": False},
    ]


def merged_reports(runs: Sequence[list[StageReport]]) -> list[StageReport]:
    """The reports of several queries as one: a stage ran if it did for any, and its times add up."""
    if len(runs) == 1:
        return runs[0]
    return [
        {
            "name": same[0]["name"],
            "ran": any(one["ran"] for one in same),
            "why": next((one["why"] for one in same if one["why"]), None),
            "ms": sum(one["ms"] for one in same),
            "degraded": any(one["degraded"] for one in same),
        }
        for same in zip(*runs, strict=True)
    ]
