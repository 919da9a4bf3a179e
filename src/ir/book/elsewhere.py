"""References that a book does not answer itself, looked for in the other books of its workspace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ir.book.drawing import TITLES, label_name
from ir.book.references import plain_name
from ir.errors import IrError
from ir.links import Edge

if TYPE_CHECKING:
    from ir.protocols import Store

__all__ = ["Unresolved", "books", "settle", "unresolved_in"]

#: The kind of corpora that are books.
KIND = "book"
_REFERS = "refers_to"
#: How an edge is known that leads to another book of the workspace.
WORKSPACE = "workspace"


class Unresolved(NamedTuple):
    """A reference that nothing in its book answers: the ``chunk`` that has it, what it is to, and how it is said."""

    item: str
    chunk: str
    name: str
    said: str


def books() -> list[str]:
    """The corpora of the current workspace that are books."""
    from ir.registry import entered

    return [name for name, entry in sorted(entered().items()) if entry.get("kind") == KIND]


def unresolved_in(store: Store) -> Iterator[Unresolved]:
    """What the books of a corpus refer to and it does not have; another corpus of the workspace may."""
    for batch in store.iter_entries("symbols"):
        for key, kept in batch:
            told = kept.get("told") if key.startswith("item:") else None
            for chunk, name, said in (told or {}).get("unresolved", ()):
                yield Unresolved(kept["item"], chunk, name, said)


def settle(store: Store, corpus: str) -> bool:
    """Let references that the corpus does not answer lead to the other books that do; whether any changed.

    What no book has any more leads nowhere again.
    """
    found = list(unresolved_in(store))
    if not found:
        return False
    known: dict[str, tuple[str, str] | None] = {}
    with _Others([name for name in books() if name != corpus]) as others:
        for one in found:
            if one.name not in known:
                known[one.name] = others.find(one.name)
    held = store.get_edges(list(dict.fromkeys(one.chunk for one in found)))
    wanted: dict[str, list[Edge]] = {}
    for one in found:
        place = known[one.name]
        edge = Edge(one.chunk, _REFERS, one.name, None, {"said": one.said})
        if place is not None:
            edge = Edge(one.chunk, _REFERS, place[1], place[0], {"said": one.said, "resolution": WORKSPACE})
        kept = wanted.setdefault(one.chunk, [])
        if all((other.target, other.corpus) != (edge.target, edge.corpus) for other in kept):
            kept.append(edge)
    names: dict[str, set[str]] = {}
    for one in found:
        names.setdefault(one.chunk, set()).add(one.name)
    fresh = {}
    for chunk, edges in wanted.items():
        before = held.get(chunk, [])
        now = [*(edge for edge in before if not _is_open(edge, names[chunk])), *edges]
        if _sorted(now) != _sorted(before):
            fresh[chunk] = now
    if fresh:
        store.set_edges(fresh)
    return bool(fresh)


def _is_open(edge: Edge, names: set[str]) -> bool:
    """Whether an edge is one that is settled here, and not one that its own book answers."""
    if edge.type != _REFERS:
        return False
    return edge.corpus is not None or (edge.target in names and "resolution" not in edge.properties)


def _sorted(edges: Sequence[Edge]) -> list[Any]:
    return sorted((edge.type, edge.target, edge.corpus or "", sorted(edge.properties.items())) for edge in edges)


@dataclass
class _Others:
    """The other books, open while names are looked up in them. One that cannot be read answers nothing."""

    names: Sequence[str]
    _stores: dict[str, Any] = field(default_factory=dict)
    _titles: dict[str, list[tuple[str, str]]] | None = None

    def __enter__(self) -> _Others:
        from ir.index import open_store

        for name in self.names:
            with suppress(IrError):
                self._stores[name] = open_store(name)
        return self

    def __exit__(self, *_: object) -> None:
        for store in self._stores.values():
            store.close()

    def find(self, name: str) -> tuple[str, str] | None:
        """The corpus and the node that the name of a reference stands for; pages are those of one book."""
        kind, _, target = name.partition(":")
        if kind == "page":
            return None
        if kind == "name":
            found = self._by_title().get(target, [])
            return found[0] if found else None
        return self._by_label(kind, target)

    def _by_title(self) -> Mapping[str, list[tuple[str, str]]]:
        from ir.index.linking import definers

        if self._titles is None:
            self._titles = {}
            for corpus, store in self._stores.items():
                for told in (one for defined in definers(store, TITLES).values() for one in defined):
                    title, _, entry = told.partition("\n")
                    self._titles.setdefault(plain_name(title), []).append((corpus, entry))
        return self._titles

    def _by_label(self, kind: str, number: str) -> tuple[str, str] | None:
        """What one book alone has under a number: which of two is meant, nobody knows.

        "Section 3" is in nearly every book, and may be one of a book that is not here; "4.5" tells more.
        """
        if number.isalnum():
            return None
        from ir.index.linking import definers

        found = [
            (corpus, entry)
            for corpus, store in self._stores.items()
            for entries in definers(store, label_name(kind, number)).values()
            for entry in entries
        ]
        return found[0] if len(found) == 1 else None
