"""What a passage gains by its links to passages that score well: pure functions of scores and neighbours.

A graph is a function from nodes to the neighbours of each, whatever their direction. Passages are the nodes that have a
score; other nodes may stand between them. Equal scores keep the order in which the passages are given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import sqrt

from ir.errors import InvalidInput
from ir.options import count

__all__ = ["Neighbours", "additive", "expanded", "followers", "frontier", "propagated"]

Neighbours = Callable[[Sequence[str]], Sequence[Sequence[str]]]


def additive(
    scores: Mapping[str, float],
    neighbours: Neighbours,
    *,
    seeds: int = 12,
    depth: int = 1,
    boost: float = 0.05,
    decay: float = 0.5,
) -> dict[str, float]:
    """One walk from each of the best passages; what it reaches gains ``boost``, less with each step, and gains add up.

    >>> chain = {"a": ["b"], "b": ["a", "c"], "c": ["b"]}
    >>> additive({"a": 0.9, "b": 0.8, "c": 0.7}, lambda nodes: [chain[node] for node in nodes], seeds=2)
    {'b': 0.05, 'a': 0.05, 'c': 0.05}
    """
    _check(seeds, depth, boost, decay)
    gains: dict[str, float] = {}
    for seed in best(scores, seeds):
        for distance, reached in enumerate(_rings([seed], neighbours, depth)):
            if distance:
                for node in reached:
                    if node in scores:
                        gains[node] = gains.get(node, 0.0) + boost * decay ** (distance - 1)
    return gains


def frontier(
    scores: Mapping[str, float],
    neighbours: Neighbours,
    *,
    seeds: int = 3,
    depth: int = 2,
    boost: float = 0.05,
    decay: float = 0.4,
    top_k: int = 50,
) -> dict[str, float]:
    """One walk from all of the best passages at once: each passage among the first ``top_k`` gains once, seeds most."""
    _check(seeds, depth, boost, decay)
    within = set(best(scores, count("top_k", top_k)))
    gains: dict[str, float] = {}
    for distance, reached in enumerate(_rings(best(scores, seeds), neighbours, depth)):
        gains.update({node: boost * decay**distance for node in reached if node in within})
    return gains


def propagated(
    scores: Mapping[str, float], neighbours: Neighbours, *, hits: int = 5, share: float = 0.6
) -> dict[str, float]:
    """What is linked to one of the first ``hits`` gains a share of its score; the less, the more it is linked to.

    Of several that lead to a passage the one that gives most counts.
    """
    _check(hits, 1, share, 1.0)
    gains: dict[str, float] = {}
    chosen = best(scores, hits)
    for seed, found in zip(chosen, neighbours(chosen), strict=True):
        others = [node for node in dict.fromkeys(found) if node != seed]
        given = share * scores[seed] / sqrt(len(others)) if others else 0.0
        for node in others:
            if node in scores:
                gains[node] = max(gains.get(node, 0.0), given)
    return gains


def expanded(
    scores: Mapping[str, float], neighbours: Neighbours, *, hits: int = 2, each: int = 2, least: float = 0.0
) -> list[str]:
    """The passages in their order, with the best ``each`` that the first ``hits`` are linked to right behind them.

    The first stays the first. Where a hit has one link, that tells; of ``n`` only those do that score at least
    ``least · (1 − 1/√n)`` of what the hit does, and the others stay where they are.
    """
    order = best(scores, len(scores))
    behind = followers(scores, neighbours, hits=hits, each=each, least=least)
    placed: dict[str, None] = {}
    for node in order:
        if node not in placed:
            placed[node] = None
            placed.update(dict.fromkeys(one for one in behind.get(node, ()) if one not in placed))
    return list(placed)


def followers(
    scores: Mapping[str, float], neighbours: Neighbours, *, hits: int, each: int, least: float
) -> dict[str, list[str]]:
    """What each of the first ``hits`` is followed by in :func:`expanded`."""
    _check(hits, 1, 1.0, 1.0)
    heads = best(scores, hits)
    behind: dict[str, list[str]] = {}
    for head, found in zip(heads, neighbours(heads), strict=True):
        others = [node for node in dict.fromkeys(found) if node != head]
        floor = least * (1 - 1 / sqrt(len(others))) * scores[head] if len(others) > 1 and least else float("-inf")
        linked = {node: scores[node] for node in others if node in scores and node not in heads}
        behind[head] = best({node: score for node, score in linked.items() if score >= floor}, each)
    return behind


def best(scores: Mapping[str, float], most: int) -> list[str]:
    """The nodes with the highest scores, equal ones in their order."""
    return sorted(scores, key=lambda node: -scores[node])[:most]


def _rings(start: Sequence[str], neighbours: Neighbours, depth: int) -> Iterable[list[str]]:
    """The nodes at distance 0, 1, … from the start, each once."""
    seen = dict.fromkeys(start)
    ring = list(seen)
    yield ring
    for _ in range(depth):
        reached: dict[str, None] = {}
        for found in neighbours(ring):
            reached.update(dict.fromkeys(node for node in found if node not in seen))
        if not reached:
            return
        seen.update(reached)
        ring = list(reached)
        yield ring


def _check(seeds: int, depth: int, boost: float, decay: float) -> None:
    count("seeds", seeds)
    count("depth", depth, least=0)
    for name, value in (("boost", boost), ("decay", decay)):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
            raise InvalidInput(f"{name} must be a number of at least 0, not {value!r}.")
