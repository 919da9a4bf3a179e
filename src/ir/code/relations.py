"""Who calls what: the links between definitions as answers, in tiers by how each is known.

``exact``, ``inferred`` and ``unique-name`` are links of the store. ``name-only`` is found when it is asked for: places
that use the same name, where nobody could tell what it stands for; or that refer to a function without calling it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from posixpath import dirname
from typing import NamedTuple

from ir.code.definitions import Definition, Definitions, bare, path_in, qualified, symbol_in
from ir.code.linking import _COMMON as COMMON
from ir.code.linking import is_test_path
from ir.code.mentions import Mention, calls_inside, calls_of, name_key, references_of, ways
from ir.index.linking import definers, symbols_of
from ir.links import Direction
from ir.protocols import Snapshot, Store

__all__ = ["NAME_ONLY", "RELATIONS", "RESOLUTIONS", "Link", "Related", "Relations", "Walked"]

NAME_ONLY = "name-only"
#: How a link may be known, the surest first.
RESOLUTIONS = ("exact", "inferred", "unique-name", NAME_ONLY)
RELATIONS = ("callers", "callees", "implementations", "tests", "impact")
_RANK = {name: number for number, name in enumerate(RESOLUTIONS)}
_ORDER = {"calls": 0, "tests": 0, "overrides": 1, "inherits": 1, "references": 2, "imports": 3}
#: What is run when a type is called.
_CONSTRUCTORS = frozenset({"__init__", "__new__", "constructor", "<init>"})
#: So many files that mention a name are read for one answer, the nearest first.
_READ = 40
#: A name that more definitions have says too little about which one is called.
_CANDIDATES = 5
#: A walk goes on from so many definitions at most.
_WALKED = 1500
#: By so many of its methods a type is known that has them all.
_METHODS = 12
_CHECKED = 200
#: Such a share of them is enough.
_ENOUGH = 0.8
_DEEPEST = 20
#: As many as are looked for where nobody says.
MANY = 1000


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
        sure = _RANK[self.resolution]
        return self.depth, sure, _ORDER.get(self.type, 4), is_test_path(path), path, self.line or 0


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


class Relations:
    """The relations of one version of a corpus."""

    def __init__(self, store: Store, snapshot: Snapshot) -> None:
        self._store = store
        self._snapshot = snapshot
        self.definitions = Definitions(store, snapshot)
        self._known_others: tuple[tuple[str, ...], set[str]] | None = None

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
        return self._with_guesses(found, chosen, guesses)

    def callees(self, chosen: Sequence[Definition], depth: int = 1, guesses: int = MANY) -> Walked:
        """What the chosen definitions call; of a type, what its methods call."""
        seeds = self._with_members(chosen)
        found = self._walk(seeds, ("calls",), "out", depth)
        found.links = [link for link in found.links if link.depth == 1 or link.key not in seeds]
        if guesses:
            self._add_called_by_name(found, seeds)
        found.links.sort(key=lambda link: (link.depth, _RANK[link.resolution], path_in(link.of), link.line or 0))
        # The line is that of the call, which is in another file than what is called.
        found.links = [link._replace(line=None) for link in found.links]
        return found

    def implementations(self, chosen: Sequence[Definition], depth: int = _DEEPEST, guesses: int = MANY) -> Walked:
        """The types that inherit from a type or implement it; of a method, those that stand in for it there."""
        types = [one for one in chosen if one.kind == "type"]
        alike: list[Link] = []
        found = self._walk([one.key for one in types], ("inherits",), "in", depth)
        for one in chosen:
            if one.kind == "method":
                found.links += self._overriding(one, depth)
        if guesses and types:
            known = {link.key for link in found.links} | {one.key for one in chosen}
            alike = [link for one in types for link in self._alike(one) if link.key not in known]
        found.links.sort(key=lambda link: link.rank)
        found.links += alike
        return found

    def tests(self, chosen: Sequence[Definition], depth: int = 1, guesses: int = MANY) -> Walked:
        """The tests that call the chosen definitions; further away, those that reach them through others."""
        seeds = self._with_members(chosen) if chosen and chosen[0].kind != "function" else [one.key for one in chosen]
        found = self._walk(seeds, ("calls",), "in", depth)
        found.links = [link for link in found.links if is_test_path(path_in(link.key))]
        return self._with_guesses(found, chosen, guesses, tests=True)

    def impact(self, chosen: Sequence[Definition], depth: int = 2, guesses: int = MANY) -> Walked:
        """What may have to change with the chosen definitions, step by step; tests among it."""
        seeds = self._with_members(chosen)
        types = ("calls", "inherits", "references", "imports")
        found = self._walk(seeds, types, "in", depth, onwards=lambda link: link.type != "imports")
        inside = set(seeds)
        found.links = [link for link in found.links if link.key not in inside]
        known = {link.key for link in found.links} | inside
        for one in chosen:
            if one.kind == "method":
                found.links += [link for link in self._overriding(one, _DEEPEST) if link.key not in known]
        return self._with_guesses(found, chosen, guesses)

    # -- walking along links -------------------------------------------------------------------------------------

    def _walked(self, chosen: Sequence[Definition], types: Sequence[str], depth: int) -> Walked:
        seeds = [*(one.key for one in chosen), *self._constructors([one.key for one in chosen if one.kind == "type"])]
        return self._walk(seeds, types, "in", depth)

    def _walk(
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
            for key, ends in zip(
                asked, self._snapshot.neighbours(asked, types=types, direction=direction), strict=True
            ):
                for end in ends:
                    if end.id in found or end.place != "here" or (level > 1 and end.id in seen):
                        continue
                    sure = max((str(end.properties.get("resolution", RESOLUTIONS[0])), layer[key]), key=_rank)
                    line = end.properties.get("line")
                    link = Link(end.id, end.type, sure, line if isinstance(line, int) else None, level, key)
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
                made = self._constructors([key for key in layer if key.endswith("#")])
                layer |= {key: RESOLUTIONS[0] for key in made if key not in seen and key not in layer}
            if not layer:
                break
        walked.links = sorted(found.values(), key=lambda link: link.rank)
        return walked

    def _members(self, keys: Sequence[str]) -> list[str]:
        """What is right inside of types or modules."""
        inside = self._snapshot.neighbours(keys, types=("contains",), direction="out") if keys else []
        return [end.id for ends in inside for end in ends if end.place == "here"]

    def _constructors(self, types: Sequence[str]) -> list[str]:
        return [key for key in self._members(types) if _last(key) in _CONSTRUCTORS]

    def _with_members(self, chosen: Sequence[Definition]) -> list[str]:
        """Definitions with all that is inside of those that are types or modules."""
        keys = list(dict.fromkeys(one.key for one in chosen))
        layer = [one.key for one in chosen if one.kind in ("type", "module")]
        while layer:
            inside = [key for key in self._members(layer) if key not in keys]
            keys += dict.fromkeys(inside)
            layer = [key for key in inside if key.endswith("#")]
        return keys

    # -- methods of types ----------------------------------------------------------------------------------------

    def _owners(self, keys: Sequence[str]) -> list[str]:
        above = self._snapshot.neighbours(keys, types=("contains",), direction="in") if keys else []
        return [end.id for ends in above for end in ends]

    def _overriding(self, method: Definition, depth: int) -> list[Link]:
        """The methods of this name in the types that inherit from the method's own."""
        below = self._walk(self._owners([method.key]), ("inherits",), "in", depth)
        types = [link.key for link in below.links]
        inside = self._snapshot.neighbours(types, types=("contains",), direction="out") if types else []
        return [
            Link(end.id, "overrides", link.resolution, None, link.depth, method.key)
            for link, ends in zip(below.links, inside, strict=True)
            for end in ends
            if end.place == "here" and _last(end.id) == method.last
        ]

    def _overridden(self, chosen: Sequence[Definition]) -> set[str]:
        """The methods of this name above a method: who calls those may run it."""
        methods = [one for one in chosen if one.kind == "method"]
        if not methods:
            return set()
        names = {one.last for one in methods}
        above = self._walk(self._owners([one.key for one in methods]), ("inherits",), "out", _DEEPEST)
        return {key for key in self._members([link.key for link in above.links]) if _last(key) in names}

    def _alike(self, type_: Definition) -> list[Link]:
        """Types that have the methods of a type without a word about it, as those have that a protocol describes.

        A few may be missing, where they are made in a way that is not seen; those called like it come first.
        """
        own = {_last(key) for key in self._members([type_.key])} - _CONSTRUCTORS
        names = frozenset(sorted(own, key=lambda name: (name.startswith("__"), -len(name), name))[:_METHODS])
        family = type_.key.partition(" ")[0]
        having: dict[str, set[str]] = {}
        for name in names:
            for key in self._named(name):
                owner = key[: key.rfind("#") + 1]
                if owner.startswith(f"{family} ") and owner != type_.key:
                    having.setdefault(owner, set()).add(name)
        likely = [owner for owner, has in having.items() if len(has) >= len(names) / 2]
        likely = sorted(likely, key=lambda owner: (-len(having[owner]), owner))[:_CHECKED]
        lines = self._lines_above(likely)
        found = []
        for owner in likely:
            has = {name for one in lines[owner] for name in having.get(one, ())}
            if len(has) >= _ENOUGH * len(names):
                found.append((_share(_last(owner), type_.last), len(has), owner))
        found.sort(key=lambda one: (-one[0], -one[1], is_test_path(path_in(one[2])), one[2]))
        return [Link(owner, "inherits", NAME_ONLY, None, 1, type_.key) for _, _, owner in found]

    def _lines_above(self, types: Sequence[str]) -> dict[str, set[str]]:
        """Each type with all that it inherits from."""
        lines = {key: {key} for key in types}
        bases: dict[str, list[str]] = {}
        for _ in range(_DEEPEST):
            unknown = sorted({one for line in lines.values() for one in line} - bases.keys())
            if not unknown:
                break
            above = self._snapshot.neighbours(unknown, types=("inherits",), direction="out")
            bases |= {key: [end.id for end in ends] for key, ends in zip(unknown, above, strict=True)}
            for line in lines.values():
                line.update(base for one in list(line) for base in bases.get(one, ()))
        return lines

    # -- names alone ---------------------------------------------------------------------------------------------

    def _with_guesses(
        self, found: Walked, chosen: Sequence[Definition], guesses: int, *, tests: bool = False
    ) -> Walked:
        """Add what uses a name of the chosen definitions and is not known to mean another."""
        chosen = [one for one in chosen if one.kind != "module"]
        steps = [link for link in found.links if link.depth == 1]
        wanted = guesses - len(steps)
        if not chosen or wanted <= 0:
            return found
        known = {link.key for link in steps} | {one.key for one in chosen}
        calls, found.unread = self._sites(chosen, known, wanted, call=True, tests=tests)
        known |= {link.key for link in calls}
        references: list[Link] = []
        if len(calls) < wanted:
            told = [link for link in self._referring(chosen) if link.key not in known]
            references = [link for link in told if not tests or is_test_path(path_in(link.key))]
            known |= {link.key for link in references}
            references += self._sites(chosen, known, wanted - len(calls), call=False, tests=tests)[0]
        later = {link.key: link for link in found.links if link.depth > 1}
        for link in (*calls, *references):
            later.pop(link.key, None)
        found.links = [*steps, *calls, *references, *later.values()]
        return found

    def _referring(self, chosen: Sequence[Definition]) -> Iterable[Link]:
        """What refers to a function without calling it: that it is called from there is a guess."""
        keys = [one.key for one in chosen]
        for key, ends in zip(keys, self._snapshot.neighbours(keys, types=("references",), direction="in"), strict=True):
            for end in ends:
                line = end.properties.get("line")
                if end.place == "here":
                    yield Link(end.id, "references", NAME_ONLY, line if isinstance(line, int) else None, 1, key)

    def _sites(
        self, chosen: Sequence[Definition], known: Collection[str], wanted: int, *, call: bool, tests: bool
    ) -> tuple[list[Link], int]:
        """The definitions that use one of the names, each where it does so first; and how many files were not read.

        Files are read from the nearest on, until there are enough.
        """
        near = _nearness(chosen[0].path)
        found: dict[str, Link] = {}
        left, most = 0, _READ if call else _READ // 4
        for name, one in {_called_as(one): one for one in chosen}.items():
            member = one.kind == "method" and one.last not in _CONSTRUCTORS
            fitting, within = ways(member=member, call=call), _scope_of(one)
            told = definers(self._store, name_key(name))
            files = [item for item, how in told.items() if how and fitting & set(how[0])]
            files = [item for item in files if not tests or is_test_path(item)]
            if within is not None:
                files = [one.path] if one.path in files else []
            files.sort(key=lambda item: (near(item), item))
            for number, item in enumerate(files):
                if most <= 0 or len(found) >= wanted:
                    left += len(files) - number
                    break
                most -= 1
                sites = [site for site in self._read(item, name, call=call) if call or site.of_member or not member]
                begins = within or f"{one.key.partition(' ')[0]} "
                inside = [site for site in sites if site.key.startswith(begins)]
                fresh = dict.fromkeys(site.key for site in inside if site.key not in known and site.key not in found)
                elsewhere = self._elsewhere(list(fresh), chosen)
                for site in inside:
                    if site.key in fresh and site.key not in elsewhere:
                        kind = "calls" if call else "references"
                        found.setdefault(site.key, Link(site.key, kind, NAME_ONLY, site.line, 1, one.key))
        return list(found.values()), left

    def _read(self, item: str, name: str, *, call: bool) -> Iterable[Mention]:
        kept = symbols_of(self._store, item)
        if kept is None or not kept.payload:
            return ()
        return calls_of(kept.payload, name) if call else references_of(kept.payload, name)

    def _elsewhere(self, sources: Sequence[str], chosen: Sequence[Definition]) -> set[str]:
        """Those of the sources that are known to mean another definition of the name."""
        others = self._others(tuple(one.key for one in chosen), chosen)
        if not others or not sources:
            return set()
        out = self._snapshot.neighbours(sources, types=("calls",), direction="out")
        return {
            source
            for source, ends in zip(sources, out, strict=True)
            if any(end.id in others and _rank(str(end.properties.get("resolution", ""))) < 2 for end in ends)
        }

    def _others(self, mine: tuple[str, ...], chosen: Sequence[Definition]) -> set[str]:
        """Other definitions of the same names; not those above a method, since who calls them may run it."""
        if self._known_others is None or self._known_others[0] != mine:
            names = {one.last for one in chosen} | {_called_as(one) for one in chosen}
            others = {key for name in names for key in self._named(name)} - set(mine)
            others |= set(self._constructors([key for key in others if key.endswith("#")])) - set(mine)
            self._known_others = mine, others - self._overridden(chosen)
        return self._known_others[1]

    def _add_called_by_name(self, found: Walked, seeds: Sequence[str]) -> None:
        """Add the definitions that have a name which is called and not resolved."""
        known = {_last(link.key) for link in found.links}
        known |= {
            _last(link.key[: link.key.rfind("#")] + "#") for link in found.links if _last(link.key) in _CONSTRUCTORS
        }
        unresolved: dict[str, None] = {}
        for path in dict.fromkeys(map(path_in, seeds)):
            kept = symbols_of(self._store, path)
            if kept is None or not kept.payload:
                continue
            inside = frozenset(symbol_in(key) for key in seeds if path_in(key) == path)
            for mention in calls_inside(kept.payload, inside):
                if mention.name in known or mention.name in unresolved:
                    continue
                # A name that stands alone is seen by whoever reads the file; it comes from outside of the corpus.
                said = mention.of_member and mention.name not in COMMON
                keys = [one for one in self._named(mention.name) if _is_method(one)] if said else []
                if not keys or len(keys) > _CANDIDATES:
                    unresolved[mention.name] = None
                    continue
                known.add(mention.name)
                found.links += [Link(one, "calls", NAME_ONLY, mention.line, 1, mention.key) for one in keys]
        found.unresolved = tuple(unresolved)

    def _named(self, name: str) -> list[str]:
        return [key for found in definers(self._store, f"symbol:{name}").values() for key in found]


def _rank(resolution: str) -> int:
    return _RANK.get(resolution, 0)


def _last(key: str) -> str:
    """The bare name of what a symbolKey stands for."""
    return qualified(symbol_in(key)).rsplit(".", 1)[-1]


def _share(name: str, other: str) -> float:
    """How much of the end of a name is another: ``HttpReader`` is a ``Reader`` by its name."""
    return float(name.lower().endswith(other.lower()))


def _is_method(key: str) -> bool:
    symbol = symbol_in(key)
    return "#" in symbol and not symbol.endswith("#")


def _scope_of(one: Definition) -> str | None:
    """The function that a definition is inside of, by the key of which all keys in it begin: nobody else sees it."""
    at = one.symbol.rstrip(".").rfind(").")
    return one.key[: len(one.key) - len(one.symbol) + at + 2] if at >= 0 else None


def _called_as(one: Definition) -> str:
    """The name under which something is called: a constructor under that of its type."""
    owner, _, last = one.name.rpartition(".")
    return owner.rsplit(".", 1)[-1] if last in _CONSTRUCTORS and owner else last


def _nearness(path: str) -> Callable[[str], tuple[int, bool]]:
    """How far a file is from another: itself, its folder, then the length of the way; tests come after others."""
    folder = dirname(path).split("/")
    testing = is_test_path(path)

    def far(other: str) -> tuple[int, bool]:
        if other == path:
            return 0, False
        parts = dirname(other).split("/")
        shared = next((n for n, (a, b) in enumerate(zip(folder, parts, strict=False)) if a != b), None)
        shared = min(len(folder), len(parts)) if shared is None else shared
        return 1 + len(folder) + len(parts) - 2 * shared, is_test_path(other) and not testing

    return far
