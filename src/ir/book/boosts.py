"""Links as a stage of a search: candidates that good candidates lead to gain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.book.spreading import Neighbours, additive, expanded, frontier, propagated
from ir.options import choice, count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.protocols import Snapshot
    from ir.retrieve import Pool

__all__ = ["DFLT_RELATIONS", "VARIANTS", "GraphBoost"]

#: Links that mean something. What stands next to what, or contains it, is context and not relevance.
DFLT_RELATIONS = ("refers_to", "mentions")
VARIANTS = ("additive", "frontier", "propagate", "expand")
#: What is linked to more than this joins nothing: a book as a whole, a tag of every entry.
DFLT_HUB = 100
_SPREADS: dict[str, Any] = {"additive": additive, "frontier": frontier, "propagate": propagated}
#: What is enough to be before another.
_JUST = 1e-9


@dataclass(frozen=True)
class GraphBoost:
    """A boost for ``ir.search(boosts=…)`` on any corpus with links.

    ``additive``: one walk from each of the best, gains add up. ``frontier``: one walk from all of them. ``propagate``:
    what one of the first five is linked to gains a share of its score. ``expand``: the best two that each of the first
    two is linked to come right behind it, and the first stays the first. Only links of the given ``relations`` count
    (``None``: all), and nodes with more than ``hub`` of them are passed over.
    """

    variant: str = "expand"
    relations: tuple[str, ...] | None = DFLT_RELATIONS
    hub: int = DFLT_HUB

    def __post_init__(self) -> None:
        choice("graph boost", self.variant, VARIANTS)
        count("hub", self.hub)

    @property
    def __name__(self) -> str:
        return self.variant

    def __call__(self, pool: Pool) -> NDArray[np.float64]:
        rows, scores = pool.rows, pool.scores
        #: The best candidate of each artifact stands for it, and each candidate for itself.
        places: dict[str, int] = {}
        for place in np.argsort(-scores, kind="stable").tolist():
            places.setdefault(rows[place].artifact_id, place)
        named = {artifact: float(scores[place]) for artifact, place in places.items()}
        near = _neighbours(pool.snapshot, {row.id: row.artifact_id for row in rows}, self.relations, self.hub)
        added = np.zeros(len(rows))
        if self.variant == "expand":
            order = expanded(named, near)
            for place, gain in _lifted([places[name] for name in order], scores).items():
                added[place] = gain
            return added
        spread: Callable[[dict[str, float], Neighbours], dict[str, float]] = _SPREADS[self.variant]
        for name, gain in spread(named, near).items():
            added[places[name]] = gain
        return added


def _neighbours(
    snapshot: Snapshot, artifact_of: dict[str, str], relations: tuple[str, ...] | None, hub: int
) -> Callable[[Sequence[str]], list[list[str]]]:
    """What artifacts are linked to, by themselves or by one of their candidates; a record counts as its artifact."""
    records: dict[str, list[str]] = {}
    for record, artifact in artifact_of.items():
        records.setdefault(artifact, []).append(record)

    def near(nodes: Sequence[str]) -> list[list[str]]:
        asked = list(dict.fromkeys(one for node in nodes for one in (node, *records.get(node, ()))))
        found = snapshot.neighbours(asked, types=relations, direction="both", limit=hub + 1)
        ends = {
            node: [artifact_of.get(one.id, one.id) for one in others if one.place == "here" and len(others) <= hub]
            for node, others in zip(asked, found, strict=True)
        }
        return [[end for one in (node, *records.get(node, ())) for end in ends[one]] for node in nodes]

    return near


def _lifted(order: Sequence[int], scores: NDArray[np.float64]) -> dict[int, float]:
    """What each candidate gains for their order to be this one; nobody loses."""
    gains: dict[int, float] = {}
    floor = float("-inf")
    for place in reversed(order):
        wanted = max(float(scores[place]), floor + _JUST)
        if wanted > scores[place]:
            gains[place] = wanted - float(scores[place])
        floor = wanted
    return gains
