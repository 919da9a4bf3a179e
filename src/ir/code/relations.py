"""Who calls what: the links between definitions as answers, in tiers by how each is known.

``exact``, ``inferred`` and ``unique-name`` are links of the store. ``name-only`` is found when it is asked for: places
that use the same name, where nobody could tell what it stands for; or that refer to a function without calling it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ir.code.definitions import Definition, Definitions, bare, path_in
from ir.code.guesses import Guesses
from ir.code.mentions import name_key
from ir.code.paths import is_test_path
from ir.code.walks import DEEPEST, NAME_ONLY, RANK, RESOLUTIONS, Link, Walked, Walks
from ir.index.linking import definers
from ir.protocols import Snapshot, Store

__all__ = ["NAME_ONLY", "RELATIONS", "RESOLUTIONS", "Link", "Related", "Relations", "Walked"]

RELATIONS = ("callers", "callees", "implementations", "tests", "impact")
#: As many as are looked for where nobody says.
MANY = 1000


@dataclass(frozen=True)
class Related:
    """A definition that is related to the one asked for, and where that shows."""

    definition: Definition
    type: str
    resolution: str
    line: int
    depth: int
    #: The symbolKey that the last step leads to.
    of: str

    @property
    def is_test(self) -> bool:
        return is_test_path(self.definition.path)


class Relations:
    """The relations of one version of a corpus."""

    def __init__(self, store: Store, snapshot: Snapshot) -> None:
        self._store = store
        self.definitions = Definitions(store, snapshot)
        self._walks = Walks(snapshot)
        self._guesses = Guesses(store, self._walks)

    def of(self, relation: str, chosen: Sequence[Definition], depth: int = 1, guesses: int = MANY) -> Walked:
        """What has a relation to the chosen definitions.

        What only has the name in common is added until ``guesses`` are there in all, links among them; 0 for none.
        """
        ask: dict[str, Callable[[Sequence[Definition], int, int], Walked]] = {
            "callers": self.callers,
            "callees": self.callees,
            "implementations": self.implementations,
            "tests": self.tests,
            "impact": self.impact,
        }
        return ask[relation](chosen, depth, guesses)

    def shown(self, links: Sequence[Link]) -> list[Related]:
        """Links with the definitions they lead to; one that is gone since is left out."""
        known = {one.key: one for one in self.definitions.by_keys([link.key for link in links])}
        return [
            Related(one, link.type, link.resolution, link.line or one.line, link.depth, link.of)
            for link in links
            if (one := known.get(link.key)) is not None
        ]

    def files_using(self, word: str) -> list[str]:
        """The files that use a name, whether or not anything here defines it."""
        return list(definers(self._store, name_key(bare(word))))

    @staticmethod
    def is_test(link: Link) -> bool:
        """Whether a link leads to a test."""
        return is_test_path(path_in(link.key))

    # -- the relations -------------------------------------------------------------------------------------------

    def callers(self, chosen: Sequence[Definition], depth: int = 1, guesses: int = MANY) -> Walked:
        """What calls the chosen definitions; a type is called where one is made."""
        if chosen and chosen[0].kind == "module":
            return self._walked(chosen, ("imports",), depth)
        found = self._walked(chosen, ("calls",), depth)
        return self._guesses.add_users(found, chosen, guesses)

    def callees(self, chosen: Sequence[Definition], depth: int = 1, guesses: int = MANY) -> Walked:
        """What the chosen definitions call; of a type, what its methods call."""
        seeds = self._walks.with_members(chosen)
        found = self._walks.walk(seeds, ("calls",), "out", depth)
        found.links = [link for link in found.links if link.depth == 1 or link.key not in seeds]
        if guesses:
            self._guesses.add_called(found, seeds)
        found.links.sort(key=lambda link: (link.depth, RANK[link.resolution], path_in(link.of), link.line or 0))
        # The line is that of the call, which is in another file than what is called.
        found.links = [link._replace(line=None) for link in found.links]
        return found

    def implementations(self, chosen: Sequence[Definition], depth: int = DEEPEST, guesses: int = MANY) -> Walked:
        """The types that inherit from a type or implement it; of a method, those that stand in for it there."""
        types = [one for one in chosen if one.kind == "type"]
        alike: list[Link] = []
        found = self._walks.walk([one.key for one in types], ("inherits",), "in", depth)
        for one in chosen:
            if one.kind == "method":
                found.links += self._walks.overriding(one, depth)
        if guesses and types:
            known = {link.key for link in found.links} | {one.key for one in chosen}
            alike = [link for one in types for link in self._guesses.alike(one) if link.key not in known]
        found.links.sort(key=lambda link: link.rank)
        found.links += alike
        return found

    def tests(self, chosen: Sequence[Definition], depth: int = 1, guesses: int = MANY) -> Walked:
        """The tests that call the chosen definitions; further away, those that reach them through others."""
        seeds = self._walks.with_members(chosen)
        found = self._walks.walk(seeds, ("calls",), "in", depth)
        found.links = [link for link in found.links if is_test_path(path_in(link.key))]
        return self._guesses.add_users(found, chosen, guesses, tests=True)

    def impact(self, chosen: Sequence[Definition], depth: int = 2, guesses: int = MANY) -> Walked:
        """What may have to change with the chosen definitions, step by step; tests among it."""
        seeds = self._walks.with_members(chosen)
        types = ("calls", "inherits", "references", "imports")
        found = self._walks.walk(seeds, types, "in", depth, onwards=lambda link: link.type != "imports")
        inside = set(seeds)
        found.links = [link for link in found.links if link.key not in inside]
        known = {link.key for link in found.links} | inside
        for one in chosen:
            if one.kind == "method":
                found.links += [link for link in self._walks.overriding(one, DEEPEST) if link.key not in known]
        return self._guesses.add_users(found, chosen, guesses)

    def _walked(self, chosen: Sequence[Definition], types: Sequence[str], depth: int) -> Walked:
        made = [one.key for one in chosen if one.kind == "type"]
        seeds = [*(one.key for one in chosen), *self._walks.constructors(made)]
        return self._walks.walk(seeds, types, "in", depth)
