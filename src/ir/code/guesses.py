"""What has only its name in common with a definition: found when it is asked for, marked, and stored nowhere."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from posixpath import dirname

from ir.code.builtins import COMMON
from ir.code.definitions import Definition, path_in, symbol_in
from ir.code.mentions import Mention, calls_inside, calls_of, name_key, references_of, ways
from ir.code.paths import is_test_path
from ir.code.walks import CONSTRUCTORS, NAME_ONLY, RESOLUTIONS, Link, Walked, Walks, last, line_of, resolution_of
from ir.index.linking import definers, symbols_of
from ir.protocols import Store

__all__ = ["Guesses"]

#: So many files that mention a name are read for one answer, the nearest first.
_READ = 40
#: A name that more definitions have says too little about which one is called.
_CANDIDATES = 5
#: By so many of its methods a type is known that has them all.
_METHODS = 12
_CHECKED = 200
#: Such a share of them is enough.
_ENOUGH = 0.8


class Guesses:
    """The last tier of answers about one version of a corpus."""

    def __init__(self, store: Store, walks: Walks) -> None:
        self._store = store
        self._walks = walks
        self._known_others: tuple[tuple[str, ...], set[str]] | None = None

    def add_users(self, found: Walked, chosen: Sequence[Definition], guesses: int, *, tests: bool = False) -> Walked:
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
        around = self._walks.snapshot.neighbours(keys, types=("references",), direction="in")
        for key, ends in zip(keys, around, strict=True):
            for end in ends:
                if end.place == "here":
                    yield Link(end.id, "references", NAME_ONLY, line_of(end), 1, key)

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
            member = one.kind == "method" and one.last not in CONSTRUCTORS
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
        out = self._walks.snapshot.neighbours(sources, types=("calls",), direction="out")
        return {
            source
            for source, ends in zip(sources, out, strict=True)
            if any(end.id in others and resolution_of(end) in RESOLUTIONS[:2] for end in ends)
        }

    def _others(self, mine: tuple[str, ...], chosen: Sequence[Definition]) -> set[str]:
        """Other definitions of the same names; not those above a method, since who calls them may run it."""
        if self._known_others is None or self._known_others[0] != mine:
            names = {one.last for one in chosen} | {_called_as(one) for one in chosen}
            others = {key for name in names for key in self._named(name)} - set(mine)
            others |= set(self._walks.constructors([key for key in others if key.endswith("#")])) - set(mine)
            self._known_others = mine, others - self._walks.overridden(chosen)
        return self._known_others[1]

    def add_called(self, found: Walked, seeds: Sequence[str]) -> None:
        """Add the definitions that have a name which is called and not resolved."""
        known = {last(link.key) for link in found.links}
        made = [link.key for link in found.links if last(link.key) in CONSTRUCTORS]
        known |= {last(key[: key.rfind("#") + 1]) for key in made}
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

    def alike(self, type_: Definition) -> list[Link]:
        """Types that have the methods of a type without a word about it, as those have that a protocol describes.

        A few may be missing, where they are made in a way that is not seen; those called like it come first.
        """
        own = {last(key) for key in self._walks.members([type_.key])} - CONSTRUCTORS
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
        lines = self._walks.lines_above(likely)
        found = []
        for owner in likely:
            has = {name for one in lines[owner] for name in having.get(one, ())}
            if len(has) >= _ENOUGH * len(names):
                found.append((_share(last(owner), type_.last), len(has), owner))
        telling = [name for name in names if not name.startswith("__") and name not in COMMON]
        if len(telling) < 2:  # many types have such methods; those mean it that are called so
            found = [one for one in found if one[0]]
        found.sort(key=lambda one: (-one[0], -one[1], is_test_path(path_in(one[2])), one[2]))
        return [Link(owner, "inherits", NAME_ONLY, None, 1, type_.key) for _, _, owner in found]


def _share(name: str, other: str) -> float:
    """How much of the end of a name is another: ``HttpReader`` is a ``Reader`` by its name."""
    return float(name.lower().endswith(other.lower()))


def _is_method(key: str) -> bool:
    symbol = symbol_in(key)
    return "#" in symbol and not symbol.endswith("#")


def _scope_of(one: Definition) -> str | None:
    """The function that a definition is inside of, by the key of which all keys in it begin: nobody else sees it.

    A method may be called wherever its object gets to, and what a function of JavaScript holds may be handed out.
    """
    if one.kind == "method" or not one.key.startswith("python "):
        return None
    at = one.symbol.rstrip(".").rfind(").")
    return one.key[: len(one.key) - len(one.symbol) + at + 2] if at >= 0 else None


def _called_as(one: Definition) -> str:
    """The name under which something is called: a constructor under that of its type."""
    owner, _, last = one.name.rpartition(".")
    return owner.rsplit(".", 1)[-1] if last in CONSTRUCTORS and owner else last


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
