"""The pass after the scan that draws the links of a corpus: names are resolved across items, and only where it matters.

What an item defines and uses is kept with the corpus (the ``symbols`` of a store), and for each name which items
define it and which asked for it. So when one file of ten thousand changes, that file is read, and only the items that
asked for a name which now means something else are linked again, from what is kept of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ir.base import IndexPlan, json_clean, ledger_key, storable
from ir.errors import IrError
from ir.garbage import uncollected
from ir.index.progress import Listener, Ticker
from ir.index.report import BuildReport, Problem
from ir.links import Edge, Symbols, Use
from ir.protocols import Store

__all__ = ["Linking", "definers", "symbols_of"]

#: So many nodes have their edges written at once.
_HELD = 2000
Lookup = Callable[[str], Sequence[str]]
Link = Callable[[str, Symbols, Lookup], Iterable[Edge]]


class Linking:
    """The nodes and edges of one build. Items are told of as they come; the links are drawn at the end."""

    def __init__(self, store: Store, strategy: Any, report: BuildReport, listener: Listener | None = None) -> None:
        self._store = store
        self._listener = listener
        self._link: Link = getattr(strategy, "link", None) or _by_unique_name
        self._report = report
        self._edges: dict[str, Sequence[Edge]] = {}
        self._fresh: dict[str, dict[str, Any] | None] = {}
        #: Nodes that an item declares no longer, and others may: entities, as tags are.
        self._left: set[str] = set()
        self.written = False

    # -- one item ----------------------------------------------------------------------------------------------

    def take(
        self,
        item_id: str,
        plan: IndexPlan,
        extracted: Sequence[Edge],
        entry: dict[str, Any],
        held: Mapping[str, Any] | None,
    ) -> None:
        """Declare what an item brings. Its ledger entry, ``entry``, remembers the nodes; ``held`` is the old one.

        Links that an extractor made stay where no extractor is given, so nobody remembers them as the item's own.
        """
        if held is None and not (plan.nodes or plan.edges or plan.symbols or extracted):
            return  # as most items are
        nodes = {storable(node.id): node for node in plan.nodes}
        edges = _by_source([*plan.edges, *extracted])
        before = set(held.get("nodes", ()) if held else ())
        sources = {edge.source for edge in plan.edges}
        sources.update(use.source for use in (plan.symbols.uses if plan.symbols else ()))
        if nodes:
            entry["nodes"] = sorted(nodes)
        if sources:
            entry["linked"] = sorted(map(storable, sources))
        self._drop_nodes(sorted(before - nodes.keys()))
        self._store.put_nodes(nodes.values())
        self.clear(set(held.get("linked", ()) if held else ()) - sources)
        if plan.symbols is None:
            if held is not None and self._store.get_symbols(_item_key(item_id)) is not None:
                self._fresh[item_id] = None
            self.draw(edges)
            return
        self._fresh[item_id] = _kept(item_id, plan.symbols, edges)

    def forget(self, item_id: str, entry: Mapping[str, Any] | None) -> None:
        """Take back what an item that is gone had brought."""
        if entry is not None and (entry.get("nodes") or entry.get("linked")):
            self._drop_nodes(entry.get("nodes", []))
            self.clear(entry.get("linked", ()))
        if self._store.get_symbols(_item_key(item_id)) is not None:
            self._fresh[item_id] = None

    def _drop_nodes(self, node_ids: Sequence[str]) -> None:
        held = self._store.get_nodes(node_ids) if node_ids else {}
        shared = {node_id for node_id, node in held.items() if node.type == "entity"}
        self._left |= shared
        self._store.delete_nodes([node_id for node_id in node_ids if node_id not in shared])

    def _drop_left(self) -> None:
        """Delete the entities that no item declares any more."""
        if not self._left:
            return
        for _, entry in self._store.ledger_items():
            self._left.difference_update(entry.get("nodes", ()))
        self._store.delete_nodes(sorted(self._left))
        self._left = set()

    # -- edges -------------------------------------------------------------------------------------------------

    def draw(self, edges: Mapping[str, Sequence[Edge]]) -> None:
        """Replace the edges out of nodes, some thousand at a time."""
        for source, out in edges.items():
            self._edges[source] = out
            self._report.edges += len(out)
            self._report.self_edges += sum(edge.target == source and edge.corpus is None for edge in out)
        if len(self._edges) >= _HELD:
            self.flush()

    def clear(self, sources: Iterable[str]) -> None:
        self.draw(dict.fromkeys(sources, ()))

    def flush(self) -> None:
        held = self._store.get_edges(list(self._edges)) if self._edges else {}
        fresh = {source: out for source, out in self._edges.items() if list(out) != held.get(source, [])}
        self._edges = {}
        if fresh:
            self.written = True
            self._store.set_edges(fresh)

    # -- names -------------------------------------------------------------------------------------------------

    @uncollected
    def finish(self) -> None:
        """Resolve the names of the items that came, and of those that asked for a name whose meaning changed."""
        if self._fresh:
            self._resolve()
        self._drop_left()
        self.flush()

    def _resolve(self) -> None:
        names = _Names(self._store)
        before = {item_id: self._store.get_symbols(_item_key(item_id)) for item_id in self._fresh}
        moved: set[str] = set()
        for item_id, now in self._fresh.items():
            moved |= names.redefine(item_id, _defined(before[item_id]), _defined(now))
        again = names.askers(moved) - self._fresh.keys()
        ticker = Ticker(self._listener, "link", len(self._fresh.keys() | again), unit="items")
        for item_id in sorted(self._fresh.keys() | again):
            ticker.tick()
            kept = self._fresh.get(item_id) if item_id in self._fresh else self._store.get_symbols(_item_key(item_id))
            asked_before = set((before.get(item_id) or kept or {}).get("asked", ()))
            asked, told = self._linked(item_id, kept, names) if kept is not None else (set(), None)
            names.ask(item_id, asked_before, asked)
            stored = None if kept is None else {**kept, "asked": sorted(asked), "told": told}
            self._store.set_symbols(_item_key(item_id), stored)
        names.flush()
        ticker.end()
        self._report.relinked = len(again)
        self.written = True

    def _linked(self, item_id: str, kept: Mapping[str, Any], names: _Names) -> tuple[set[str], Any]:
        """Draw the edges of an item; the names that were looked up for it, and what the strategy tells of them."""
        asked: set[str] = set()
        told = None

        def lookup(name: str) -> Sequence[str]:
            asked.add(storable(name))
            return names.nodes(storable(name))

        symbols = Symbols(kept["defines"], [Use(*use) for use in kept["uses"]], kept["payload"])
        edges = {source: [Edge(source, *end) for end in ends] for source, ends in kept["edges"].items()}
        out: dict[str, list[Edge]] = {source: list(given) for source, given in edges.items()}
        out.update({use.source: list(edges.get(use.source, ())) for use in symbols.uses})
        try:
            links = self._link(item_id, symbols, lookup)
            for edge in links:
                out.setdefault(edge.source, []).append(edge)
            told = json_clean(getattr(links, "told", None))
        except IrError:
            raise
        except Exception as error:
            self._report.failed.append(
                Problem(item_id, f"its links could not be drawn: {type(error).__name__}: {error}")
            )
        self.draw(out)
        return asked, told


def definers(store: Store, name: str) -> dict[str, list[str]]:
    """The items that define a name, each with what it stands for there, in the order of their ids."""
    found = (store.get_symbols(_name_key(storable(name))) or {}).get("defined", {})
    return {item_id: list(found[item_id]) for item_id in sorted(found)}


def symbols_of(store: Store, item_id: str) -> Symbols | None:
    """What is kept of an item's names."""
    kept = store.get_symbols(_item_key(item_id))
    return None if kept is None else Symbols(kept["defines"], [Use(*use) for use in kept["uses"]], kept["payload"])


def _by_unique_name(item_id: str, symbols: Symbols, lookup: Lookup) -> Iterable[Edge]:
    """The rule of strategies that have none: a name leads to the one node that defines it, else to itself.

    An edge to a name that is no node leads nowhere, and says so to whoever follows it.
    """
    for use in symbols.uses:
        found = lookup(use.name)
        yield Edge(use.source, use.type, found[0] if len(found) == 1 else use.name, None, use.properties)


class _Names:
    """Which items define a name, and which asked for it; what changed is written at the end."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, dict[str, Any]] = {}
        self._changed: set[str] = set()

    def nodes(self, name: str) -> list[str]:
        """The nodes that define a name, each once, in an order that depends on the names alone."""
        found = self._of(name)["defined"]
        return list(dict.fromkeys(node for item_id in sorted(found) for node in found[item_id]))

    def redefine(self, item_id: str, before: Mapping[str, Sequence[str]], now: Mapping[str, Sequence[str]]) -> set[str]:
        """Let an item define other names than before; the names whose meaning changed."""
        moved = {name for name in before.keys() | now.keys() if list(before.get(name, ())) != list(now.get(name, ()))}
        for name in moved:
            entry = self._of(name)
            if now.get(name):
                entry["defined"][item_id] = list(now[name])
            else:
                entry["defined"].pop(item_id, None)
        self._changed |= moved
        return moved

    def ask(self, item_id: str, before: set[str], now: set[str]) -> None:
        for name in before - now:
            self._of(name)["asked"].pop(item_id, None)
        for name in now - before:
            self._of(name)["asked"][item_id] = 1
        self._changed |= before ^ now

    def askers(self, names: Iterable[str]) -> set[str]:
        """The items that looked one of the names up."""
        return {item_id for name in names for item_id in self._of(name)["asked"]}

    def flush(self) -> None:
        for name in sorted(self._changed):
            entry = self._of(name)
            self._store.set_symbols(_name_key(name), entry if entry["defined"] or entry["asked"] else None)

    def _of(self, name: str) -> dict[str, Any]:
        entry = self._known.get(name)
        if entry is None:
            entry = self._store.get_symbols(_name_key(name)) or {"defined": {}, "asked": {}}
            self._known[name] = entry
        return entry


def _item_key(item_id: str) -> str:
    return f"item:{ledger_key(item_id)}"


def _name_key(name: str) -> str:
    return f"name:{name}"


def _defined(kept: Mapping[str, Any] | None) -> Mapping[str, Sequence[str]]:
    return kept["defines"] if kept else {}


def _kept(item_id: str, symbols: Symbols, edges: Mapping[str, Sequence[Edge]]) -> dict[str, Any]:
    """What is remembered of an item's names, in JSON's types."""
    kept: dict[str, Any] = json_clean(
        {
            "item": item_id,
            "defines": {name: list(nodes) for name, nodes in symbols.defines.items() if nodes},
            "uses": [list(use) for use in symbols.uses],
            "payload": symbols.payload,
            "edges": {
                source: [[edge.type, edge.target, edge.corpus, edge.properties] for edge in out]
                for source, out in edges.items()
            },
        }
    )
    return kept


def _by_source(edges: Iterable[Edge]) -> dict[str, list[Edge]]:
    out: dict[str, list[Edge]] = {}
    for edge in edges:
        out.setdefault(edge.source, []).append(edge)
    return out
