"""Walks along the links between definitions, each with how sure it is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ir.code.definitions import Definition, path_in, qualified, symbol_in
from ir.code.paths import is_test_path
from ir.links import Direction, Neighbour
from ir.protocols import Snapshot

__all__ = [
    "CONSTRUCTORS",
    "DEEPEST",
    "NAME_ONLY",
    "RANK",
    "RESOLUTIONS",
    "Link",
    "Walked",
    "Walks",
    "last",
    "line_of",
    "resolution_of",
]

NAME_ONLY = "name-only"
#: How a link may be known, the surest first.
RESOLUTIONS = ("exact", "inferred", "unique-name", NAME_ONLY)
RANK = {name: number for number, name in enumerate(RESOLUTIONS)}
_ORDER = {"calls": 0, "tests": 0, "overrides": 1, "inherits": 1, "references": 2, "imports": 3}
#: What is run when a type is called.
CONSTRUCTORS = frozenset({"__init__", "__new__", "constructor", "<init>"})
#: A walk goes on from so many definitions at most.
_WALKED = 1500
DEEPEST = 20


class Link(NamedTuple):
    """The definition ``key``, ``depth`` steps away; the last step is a ``type`` to ``of``, on ``line`` of its file.

    ``resolution`` is that of the least sure step on the way.
    """

    key: str
    type: str
    resolution: str
    line: int | None
    depth: int
    of: str

    @property
    def rank(self) -> tuple[int, int, int, bool, str, int]:
        path = path_in(self.key)
        sure = RANK[self.resolution]
        return self.depth, sure, _ORDER.get(self.type, 4), is_test_path(path), path, self.line or 0


@dataclass
class Walked:
    """All that was found, the surest first; what was left out on the way is counted."""

    links: list[Link] = field(default_factory=list)
    #: Files that mention the name and were not read.
    unread: int = 0
    #: Definitions from which the walk did not go on.
    cut: int = 0
    #: Names that are called and that too many definitions have, or none.
    unresolved: tuple[str, ...] = ()

    def counts(self) -> dict[str, int]:
        """How many were found in each tier."""
        found = dict.fromkeys(RESOLUTIONS, 0)
        for link in self.links:
            found[link.resolution] += 1
        return {name: count for name, count in found.items() if count}


class Walks:
    """The links of one version of a corpus."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    def walk(
        self,
        seeds: Sequence[str],
        types: Collection[str],
        direction: Direction,
        depth: int,
        *,
        onwards: Callable[[Link], bool] = lambda link: True,
    ) -> Walked:
        """Each definition once, on the shortest way. What links to itself is found, and not walked through again."""
        found: dict[str, Link] = {}
        layer: dict[str, str] = dict.fromkeys(seeds, RESOLUTIONS[0])
        walked = Walked()
        seen: set[str] = set()
        for level in range(1, depth + 1):
            seen |= layer.keys()
            fresh: dict[str, Link] = {}
            asked = list(layer)
            around = self.snapshot.neighbours(asked, types=types, direction=direction)
            for key, ends in zip(asked, around, strict=True):
                for end in ends:
                    if end.id in found or end.place != "here" or (level > 1 and end.id in seen):
                        continue
                    sure = max(resolution_of(end), layer[key], key=RANK.__getitem__)
                    link = Link(end.id, end.type, sure, line_of(end), level, key)
                    held = fresh.get(end.id)
                    if held is None or link.rank < held.rank:
                        fresh[end.id] = link
            found |= fresh
            if level == depth:
                break
            following = [link for link in fresh.values() if link.key not in seen and onwards(link)]
            following.sort(key=lambda link: link.rank)
            room = max(0, _WALKED - len(seen))
            walked.cut += len(following) - len(following[:room])
            layer = {link.key: link.resolution for link in following[:room]}
            if direction == "in":
                made = self.constructors([key for key in layer if key.endswith("#")])
                layer |= {key: RESOLUTIONS[0] for key in made if key not in seen and key not in layer}
            if not layer:
                break
        walked.links = sorted(found.values(), key=lambda link: link.rank)
        return walked

    def members(self, keys: Sequence[str]) -> list[str]:
        """What is right inside of types or modules."""
        inside = self.snapshot.neighbours(keys, types=("contains",), direction="out") if keys else []
        return [end.id for ends in inside for end in ends if end.place == "here"]

    def constructors(self, types: Sequence[str]) -> list[str]:
        """What is run when one of the types is made."""
        return [key for key in self.members(types) if last(key) in CONSTRUCTORS]

    def with_members(self, chosen: Sequence[Definition]) -> list[str]:
        """Definitions with all that is inside of those that are types or modules."""
        keys = list(dict.fromkeys(one.key for one in chosen))
        layer = [one.key for one in chosen if one.kind in ("type", "module")]
        while layer:
            inside = [key for key in self.members(layer) if key not in keys]
            keys += dict.fromkeys(inside)
            layer = [key for key in inside if key.endswith("#")]
        return keys

    def owners(self, keys: Sequence[str]) -> list[str]:
        """What definitions are right inside of."""
        above = self.snapshot.neighbours(keys, types=("contains",), direction="in") if keys else []
        return [end.id for ends in above for end in ends]

    def overriding(self, method: Definition, depth: int) -> list[Link]:
        """The methods of this name in the types that inherit from the method's own."""
        below = self.walk(self.owners([method.key]), ("inherits",), "in", depth)
        types = [link.key for link in below.links]
        inside = self.snapshot.neighbours(types, types=("contains",), direction="out") if types else []
        return [
            Link(end.id, "overrides", link.resolution, None, link.depth, method.key)
            for link, ends in zip(below.links, inside, strict=True)
            for end in ends
            if end.place == "here" and last(end.id) == method.last
        ]

    def overridden(self, chosen: Sequence[Definition]) -> set[str]:
        """The methods of this name above a method: who calls those may run it."""
        methods = [one for one in chosen if one.kind == "method"]
        if not methods:
            return set()
        names = {one.last for one in methods}
        above = self.walk(self.owners([one.key for one in methods]), ("inherits",), "out", DEEPEST)
        return {key for key in self.members([link.key for link in above.links]) if last(key) in names}

    def lines_above(self, types: Sequence[str]) -> dict[str, set[str]]:
        """Each type with all that it inherits from."""
        lines = {key: {key} for key in types}
        bases: dict[str, list[str]] = {}
        for _ in range(DEEPEST):
            unknown = sorted({one for line in lines.values() for one in line} - bases.keys())
            if not unknown:
                break
            above = self.snapshot.neighbours(unknown, types=("inherits",), direction="out")
            bases |= {key: [end.id for end in ends] for key, ends in zip(unknown, above, strict=True)}
            for line in lines.values():
                line.update(base for one in list(line) for base in bases.get(one, ()))
        return lines


def resolution_of(end: Neighbour) -> str:
    """How a link is known; one that somebody wrote down is as sure as can be."""
    told = str(end.properties.get("resolution", RESOLUTIONS[0]))
    return told if told in RANK else RESOLUTIONS[0]


def line_of(end: Neighbour) -> int | None:
    line = end.properties.get("line")
    return line if isinstance(line, int) else None


def last(key: str) -> str:
    """The bare name of what a symbolKey stands for."""
    return qualified(symbol_in(key)).rsplit(".", 1)[-1]
