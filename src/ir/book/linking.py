"""The links out of the chunks of a book: what they name and refer to, here, else in the other books."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ir.book.drawing import TITLES, label_name
from ir.book.names import Mention, Names
from ir.book.references import plain_name, references_in
from ir.links import Edge

__all__ = ["BookLinks", "Titles", "shorter"]

#: What a heading may be the number of.
_HEADED = frozenset({"section", "chapter"})

#: A title of one word that more than this share of a book's chunks say, and more than so many, is no name.
_WORN = 0.05
_FEW_CHUNKS = 20

Lookup = Callable[[str], Sequence[str]]


class Titles:
    """The titles of all books of a corpus with their entries, as ``lookup(TITLES)`` tells them."""

    def __init__(self, told: Sequence[str]) -> None:
        self.told = list(told)
        pairs = [(title, entry) for title, _, entry in (one.partition("\n") for one in told)]
        self.entries: dict[str, list[str]] = {}
        for title, entry in pairs:
            self.entries.setdefault(plain_name(title), []).append(entry)
        #: Without any spaces: a hyphen at the end of a line may have been one, or not.
        self.squeezed = {_squeezed(name): entries for name, entries in reversed(self.entries.items())}
        self.longest = max((len(name.split()) for name in self.entries), default=0)
        self.names = Names(pairs)


class BookLinks:
    """Iterating draws the links of one book; afterwards ``told`` has the references that lead nowhere.

    ``payload`` is what :meth:`ir.book.drawing.Drawing.symbols` kept, ``lookup`` finds names of the corpus's other
    books, whose titles are ``others``, if somebody has them. ``aliases`` are short names with what they stand for.
    """

    def __init__(
        self,
        payload: Mapping[str, Any],
        lookup: Lookup,
        aliases: Mapping[str, str] | None = None,
        others: Titles | None = None,
    ) -> None:
        self.told: dict[str, Any] | None = None
        self._payload = payload
        self._lookup = lookup
        self._without = frozenset(payload.get("without", ()))
        self._aliases = {plain_name(short): plain_name(full) for short, full in (aliases or {}).items()}
        titles: Mapping[str, Sequence[str]] = payload["titles"]
        self._own = {plain_name(title): entries for title, entries in titles.items()}
        self._others = others or Titles(lookup(TITLES))
        self._squeezed = {_squeezed(name): entries for name, entries in reversed(self._own.items())}
        self._longest = max((self._others.longest, *(len(name.split()) for name in self._own)))
        own = [(title, entry) for title, entries in titles.items() for entry in entries]
        self._names = Names(own, self._others.names)

    def __iter__(self) -> Iterator[Edge]:
        drawn = "refers_to" in self._without
        unresolved: list[list[str]] = []
        related: dict[str, list[Sequence[str]]] = {}
        for one in self._payload.get("related", ()):
            related.setdefault(one[0], []).append(one)
        names = Names(()) if "mentions" in self._without else self._names
        mentions = [list(names.in_text(text)) for _, _, text in self._payload["said"]]
        worn = _worn(mentions)
        for (node, entry, text), mentioned in zip(self._payload["said"], mentions, strict=True):
            seen: set[tuple[str, str]] = set()
            found = (
                *self._given(node),
                *self._referred(node, text, unresolved),
                *_edges(node, entry, (one for one in mentioned if _singular(one.said) not in worn)),
                *self._related(related.get(node, ())),
            )
            for edge in found:
                here = edge.target in (entry, node)
                if not here and edge.type not in self._without and (edge.type, edge.target) not in seen:
                    seen.add((edge.type, edge.target))
                    yield edge
        left = self._payload.get("unresolved", []) if drawn else unresolved
        self.told = {"unresolved": left} if left else None

    def _given(self, node: str) -> Iterator[Edge]:
        """Links that the item itself says, drawn from its first chunk."""
        if node == self._payload["said"][0][0]:
            for target in self._payload.get("links", ()):
                yield Edge(node, "refers_to", target, None, {"resolution": "exact"})

    def _referred(self, node: str, text: str, unresolved: list[list[str]]) -> Iterator[Edge]:
        for reference in references_in(text):
            said = {"said": reference.said}
            titled = list(self._titled(reference.rest))
            for title, target in titled:
                yield Edge(node, "refers_to", target, None, {"said": f"see {title}", "resolution": "exact"})
            targets = () if titled else self._targets(reference.kind, reference.target)
            for target in targets:
                yield Edge(node, "refers_to", target, None, {**said, "resolution": "exact"})
            if not targets and not titled:
                name = f"{reference.kind}:{reference.target}"
                unresolved.append([node, name, reference.said])
                yield Edge(node, "refers_to", name, None, said)

    def _titled(self, rest: str) -> Iterator[tuple[str, str]]:
        """The titles that a text begins with, one "and" another, and their entries.

        Of titles inside each other the longest is meant, and the text may leave out the "The" of one.
        """
        words = list(re.finditer(r"\w+(?:['’]\w+)*", rest))[: 2 * self._longest]
        at = 0
        while at < len(words):
            for end in range(min(len(words), at + self._longest + 2), at, -1):
                title = rest[words[at].start() : words[end - 1].end()]
                said = _squeezed(plain_name(title))
                found = self._called(said) or self._called(f"the{said}")
                if found:
                    yield title, found[0]
                    break
            else:
                return
            if end == len(words) or words[end][0] not in ("and", "or"):
                return
            at = end + 1

    def _called(self, said: str) -> Sequence[str]:
        """The entries of a title that is written without spaces."""
        return self._squeezed.get(said) or self._others.squeezed.get(said) or ()

    def _targets(self, kind: str, target: str) -> Sequence[str]:
        if kind == "name":
            found = self._own.get(target) or self._others.entries.get(target)
            if not found and target in self._aliases:
                return self._targets(kind, self._aliases[target])
            if not found and " and " in target:
                return [one for part in target.split(" and ") for one in self._targets(kind, part)]
            return found[:1] if found else ()
        if kind == "page":
            return [self._payload["pages"][target]] if target in self._payload["pages"] else ()
        labels = self._payload["labels"]
        for name in shorter(target):
            own = labels.get(f"{kind}:{name}")
            if own is None and kind in _HEADED:  # a chapter is often numbered as sections are, a figure never
                own = labels.get(f"section:{name}")
            if own:
                return [own]
        elsewhere = self._lookup(label_name(kind, target))
        return list(elsewhere)[:1] if len(elsewhere) == 1 else ()

    def _related(self, found: Sequence[Sequence[str]]) -> Iterator[Edge]:
        """What the configured relations found leads to the section of that name, else to the thing itself."""
        for node, relation, target, entity in found:
            entries = () if target.isdigit() else self._targets("name", plain_name(target))
            yield Edge(node, relation, entries[0] if entries else entity, None, {"said": target})


def _squeezed(name: str) -> str:
    return name.replace(" ", "")


def _worn(mentions: Sequence[Sequence[Mention]]) -> frozenset[str]:
    """Single words that are titles, and that so many chunks say that they are words like others: "Files"."""
    chunks: Counter[str] = Counter()
    for several in mentions:
        said = {_singular(mention.said) for mention in several}
        chunks.update(name for name in said if " " not in name)
    most = max(_FEW_CHUNKS, _WORN * len(mentions))
    return frozenset(name for name, count in chunks.items() if count > most)


def _edges(node: str, entry: str, mentions: Iterable[Mention]) -> Iterator[Edge]:
    for mention in mentions:
        for target in mention.entries:
            if target != entry and not entry.startswith(f"{target}/"):
                yield Edge(node, "mentions", target, None, {"said": mention.said, "resolution": "exact"})


def _singular(said: str) -> str:
    return plain_name(said).removesuffix("s")


def shorter(number: str) -> Iterator[str]:
    """A number and what it is part of: 4.5.1(2), 4.5.1."""
    yield number
    while number.endswith(")"):
        number = number[: number.rindex("(")]
        yield number
