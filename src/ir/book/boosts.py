"""Links as a stage of a search: candidates that good candidates lead to gain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ir.base import Record
from ir.book.spreading import Neighbours, additive, best, expanded, followers, frontier, propagated
from ir.errors import InvalidInput
from ir.filters import matches
from ir.options import GRAPHS, SearchOptions, choice, count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.base import Row
    from ir.protocols import Refs, Snapshot, Where
    from ir.retrieve import Pool

__all__ = ["DFLT_RELATIONS", "VARIANTS", "GraphBoost"]

#: Links that mean something. What stands next to what, or contains it, is context and not relevance.
DFLT_RELATIONS = ("refers_to", "mentions")
VARIANTS = tuple(name for name in GRAPHS if name != "none")
#: What is linked to more than this joins nothing: a book as a whole, a tag of every entry.
DFLT_HUB = 100
#: What each variant can be told, and what it does untold.
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "additive": {"seeds": 12, "depth": 1, "boost": 0.05, "decay": 0.5},
    "frontier": {"seeds": 3, "depth": 2, "boost": 0.05, "decay": 0.4, "top_k": 50},
    "propagate": {"seeds": 5, "boost": 0.2, "adds": True},
    "expand": {"seeds": 1, "each": 2, "least": 0.9, "adds": True},
}
#: A book as a whole leads from everything to everything.
_DOCUMENT = "document"
#: What is enough to be before another.
_JUST = 1e-9
#: What comes forward by a link has at least this share of the score of what it stands behind.
_FOLLOWING = 0.2
#: How many records of one artifact are looked for, at first and at most.
_FIRST_RECORDS, _MOST_RECORDS = 4, 64


@dataclass(frozen=True)
class GraphBoost:
    """What links lift in a search of any corpus that has some: ``ir.search(graph=GraphBoost("expand"))``.

    ``additive``: one walk from each of the best ``seeds``, ``depth`` far; what it reaches gains ``boost``, times
    ``decay`` for each step after the first, and gains add up. ``frontier``: one walk from all of them at once, and only
    the first ``top_k`` gain. ``propagate``: what one of the seeds is linked to gains ``boost`` of its score, divided by
    the root of the number of its links. ``expand``: the best ``each`` that a seed is linked to come right behind it,
    and the first stays the first; those that score far less than the seed (``least``) only where it has few links. The
    last two bring in what no channel found, unless ``adds`` is false.

    Only links of the given ``relations`` count (``None``: all), in both directions; nodes with more than ``hub`` of
    them are passed over, and so are documents as a whole. What is not given is as the variant has it by default.
    """

    variant: str = "expand"
    relations: tuple[str, ...] | None = DFLT_RELATIONS
    hub: int = DFLT_HUB
    seeds: int | None = None
    depth: int | None = None
    boost: float | None = None
    decay: float | None = None
    top_k: int | None = None
    each: int | None = None
    least: float | None = None
    adds: bool | None = None

    def __post_init__(self) -> None:
        options = SearchOptions(graph=self.variant)  # which knows the other name of frontier
        if options.graph not in VARIANTS:
            choice("graph boost", self.variant, VARIANTS)
        object.__setattr__(self, "variant", options.graph)
        if self.relations is not None:
            if isinstance(self.relations, str) or not all(isinstance(one, str) for one in self.relations):
                raise InvalidInput(f"relations must be a list of names, not {self.relations!r}.")
            object.__setattr__(self, "relations", tuple(self.relations))
        count("hub", self.hub)
        for name, least in (("seeds", 1), ("depth", 0), ("top_k", 1), ("each", 0)):
            if getattr(self, name) is not None:
                count(name, getattr(self, name), least=least)
        self._check_known()

    def _check_known(self) -> None:
        known = _DEFAULTS[self.variant]
        for item in fields(self)[3:]:
            value = getattr(self, item.name)
            if value is None:
                continue
            if item.name not in known:
                raise InvalidInput(f"{self.variant!r} has no {item.name!r}; it takes {', '.join(known)}.")
            if item.name in ("boost", "decay", "least") and (
                isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf")
            ):
                raise InvalidInput(f"{item.name} must be a number of at least 0, not {value!r}.")

    @classmethod
    def of(cls, told: Any) -> Self:
        """A boost from its name or a table of its fields; one stays as it is.

        >>> GraphBoost.of({"variant": "top", "seeds": 2}).settings["seeds"], GraphBoost.of("top").settings["seeds"]
        (2, 3)
        """
        if isinstance(told, cls):
            return told
        if isinstance(told, str):
            return cls(told)
        if not isinstance(told, Mapping):
            raise InvalidInput(f"A graph boost is a name or a table of fields, not {told!r}.")
        for name in told:
            choice("field of a graph boost", name, [item.name for item in fields(cls)])
        return cls(**told)

    @property
    def __name__(self) -> str:
        return self.variant

    @property
    def settings(self) -> dict[str, Any]:
        """What it does, told or not."""
        given = {name: getattr(self, name) for name in _DEFAULTS[self.variant]}
        return {name: _DEFAULTS[self.variant][name] if one is None else one for name, one in given.items()}

    def missing(self, pool: Pool) -> Refs:
        """The records that the best candidates are linked to and that are not among the candidates."""
        settings = self.settings
        if not settings.get("adds") or not len(pool):
            return np.empty(0, dtype=np.int64)
        held = _Candidates(pool)
        heads = best(held.scores, settings["seeds"])
        reached = (node for found in self._near(pool, held)(heads) for node in found if node not in held.scores)
        return _records_of(pool, list(dict.fromkeys(reached)))

    def __call__(self, pool: Pool) -> NDArray[np.float64]:
        settings = self.settings
        settings.pop("adds", None)
        held = _Candidates(pool)
        near = self._near(pool, held)
        added = np.zeros(len(pool))
        if self.variant == "expand":
            told = {"hits": settings["seeds"], "each": settings["each"], "least": settings["least"]}
            telling = _telling(near, held)
            order = [held.places[name] for name in expanded(held.scores, telling, **told)]
            leads = {
                held.places[name]: held.places[head]
                for head, linked in reversed(followers(held.scores, telling, **told).items())
                for name in linked
            }
            ties = pool.refs if pool.candidates.ties is None else pool.candidates.ties
            for place, gain in _lifted(order, leads, pool.scores, ties).items():
                added[place] = gain
            return added
        if self.variant == "additive":
            gains = additive(held.scores, near, **settings)
        elif self.variant == "frontier":
            gains = frontier(held.scores, near, **settings)
        else:
            gains = propagated(held.scores, near, hits=settings["seeds"], share=settings["boost"])
        for name, gain in gains.items():
            added[held.places[name]] = gain
        return added

    def _near(self, pool: Pool, held: _Candidates) -> Callable[[Sequence[str]], list[list[str]]]:
        """What passages and other nodes are linked to; a linked record or artifact counts as its passage."""
        deep = self.settings.get("depth", 1) > 1

        def near(nodes: Sequence[str]) -> list[list[str]]:
            asked = list(dict.fromkeys(one for node in nodes for one in held.ends(node)))
            found = pool.snapshot.neighbours(asked, types=self.relations, direction="both", limit=self.hub + 1)
            ends = {
                node: [held.passage(one.id) for one in others if one.place == "here"]
                for node, others in zip(asked, found, strict=True)
                if len(others) <= self.hub
            }
            if deep:
                documents = _documents(pool.snapshot, held, ends.values())
                ends = {node: [one for one in others if one not in documents] for node, others in ends.items()}
            return [[end for one in held.ends(node) for end in ends.get(one, ())] for node in nodes]

        return near


class _Candidates:
    """The passages of a pool: artifacts, for which their best candidate stands, or, where hits are records, these."""

    def __init__(self, pool: Pool) -> None:
        rows, scores = pool.rows, pool.scores
        self._whole_artifacts = bool(pool.options.per_artifact)
        self._rows = rows
        self.places: dict[str, int] = {}
        self._passages: dict[str, str] = {}
        self._ends: dict[str, list[str]] = {}
        for place in np.argsort(-scores, kind="stable").tolist():
            self._take(rows[place], place)
        #: In the order of the pool, which decides between equal scores.
        self.scores = {
            name: float(scores[place]) for name, place in sorted(self.places.items(), key=lambda one: one[1])
        }

    def _take(self, row: Row, place: int) -> None:
        name = row.artifact_id if self._whole_artifacts else row.id
        self.places.setdefault(name, place)
        self._passages[row.id] = name
        self._passages.setdefault(row.artifact_id, name)
        ends = self._ends.setdefault(name, [row.artifact_id])
        if row.id not in ends:
            ends.append(row.id)

    def passage(self, node: str) -> str:
        """What a node is called here: the passage that it belongs to, else its own id."""
        return self._passages.get(node, node)

    def is_bare(self, name: str) -> bool:
        """Whether the passage is a heading without text."""
        place = self.places.get(name)
        return place is not None and is_heading(self._rows[place])

    def ends(self, name: str) -> list[str]:
        """The nodes that links of a passage start from."""
        return self._ends.get(name, [name])


def is_heading(row: Row) -> bool:
    """Whether a passage is a heading and nothing else."""
    line = row.text.strip()
    path = row.metadata.get("section_path")
    return "\n" not in line and path is not None and line.lstrip("# ") in [str(title) for title in path]


def _documents(snapshot: Snapshot, held: _Candidates, found: Iterable[Sequence[str]]) -> set[str]:
    """Those of the nodes that are books as a whole, and no passages."""
    others = list(dict.fromkeys(one for several in found for one in several if one not in held.scores))
    return {one for one, node in snapshot.nodes(others).items() if node.type == _DOCUMENT} if others else set()


def _records_of(pool: Pool, nodes: Sequence[str]) -> Refs:
    """The records that some nodes are, or consist of, if the search may return them."""
    found = pool.snapshot.refs_of(nodes)
    kinds = sorted(pool.snapshot.kinds())
    wanted, at, many = [node for node in nodes if node not in found], 0, _FIRST_RECORDS
    while wanted and at < _MOST_RECORDS:
        ids = {
            Record.make_id(artifact, kind, number): artifact
            for artifact in wanted
            for kind in kinds
            for number in range(at, many)
        }
        there = pool.snapshot.refs_of(list(ids))
        found |= there
        wanted = list(dict.fromkeys(ids[record] for record in there)) if there else []
        at, many = many, many * 4
    refs = np.array(sorted(found.values()), dtype=np.int64)
    if pool.among is not None:
        refs = np.intersect1d(refs, pool.among)
    refs = _allowed(pool.snapshot, refs, pool.question.where)
    if not len(refs):
        return refs
    return refs[np.array([not is_heading(row) for row in pool.snapshot.rows(refs)], dtype=np.bool_)]


def _allowed(snapshot: Snapshot, refs: Refs, where: Where) -> Refs:
    if where.everything or not len(refs):
        return refs
    kept = [
        (where.kinds is None or row.surface_kind in where.kinds)
        and (where.filter is None or matches(where.filter, row.metadata))
        for row in snapshot.rows(refs)
    ]
    return refs[np.array(kept, dtype=np.bool_)]


def _telling(near: Neighbours, held: _Candidates) -> Neighbours:
    """Neighbours without those of which a heading is all there is."""
    return lambda nodes: [[one for one in found if not held.is_bare(one)] for found in near(nodes)]


def _lifted(
    order: Sequence[int], leads: Mapping[int, int], scores: NDArray[np.float64], ties: NDArray[np.int64]
) -> dict[int, float]:
    """What candidates gain for their order to be this one; nobody loses, and no more gain than have to.

    ``leads`` says which candidate those that came forward by a link stand behind. They keep their own score where that
    is enough, and have a share of the other's at least: one that says nothing of the question is still an answer to it.
    """
    gains: dict[int, float] = {}
    floor, after = float("-inf"), -1
    for place in reversed(order):
        wanted = own = float(scores[place])
        if place in leads:
            share = _FOLLOWING * float(scores[leads[place]])
            wanted = max(own, share) if share > 0 else own
        if wanted < floor or (wanted == floor and ties[place] > ties[after]):
            wanted = floor + _JUST
        if wanted > own:
            gains[place] = wanted - own
        floor, after = wanted, place
    return gains
