"""The graph of one book while it is taken apart: what each section and chunk is, and what belongs together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ir.book.enrichment import Enrichment
from ir.book.references import numbered, plain_name, unnumbered
from ir.links import Edge, Node, Symbols, Use

__all__ = ["TITLES", "Drawing", "entity_id", "label_name"]

#: The name under which all books tell the titles of their entries.
TITLES = "book-titles"
#: A book has so many different names at most that are looked for in the others.
_MOST_TITLES = 200_000
#: Kinds of passages that are about one thing, which is called as their section is.
_THINGS = frozenset({"spell", "feat", "item"})
_LABELLED = ("table ", "figure", "fig. ")
#: Sections that name all others and say nothing of them.
_LISTS = ("index", "contents")


def label_name(kind: str, number: str) -> str:
    """The name under which a book tells what it has under a number."""
    return f"book-label:{kind}:{number}"


def entity_id(kind: str, name: str) -> str:
    """The id of the node of a thing that has no text of its own.

    >>> entity_id("tag", "Cold Iron")
    'tag:cold iron'
    """
    return f"{kind}:{plain_name(name)}"


class Drawing:
    """Nodes and edges, and what is kept to draw the links between chunks once all names are known.

    ``without`` are relations that somebody else has drawn already. ``summaries`` are those of pages, by number.
    """

    def __init__(
        self,
        item_id: str,
        about: Mapping[str, Any],
        enrichment: Enrichment,
        *,
        summaries: Mapping[Any, str] | None = None,
        without: frozenset[str] = frozenset(),
    ) -> None:
        self._item = item_id
        self._enrichment = enrichment
        self._summaries = summaries or {}
        self._without = without
        self.nodes: dict[str, Node] = {item_id: Node(item_id, "document", dict(about))}
        self.edges: list[Edge] = []
        self._said: list[list[Any]] = []
        self._titles: dict[str, list[str]] = {}
        self._labels: dict[str, str] = {}
        self._pages: dict[str, str] = {}
        self._printed: dict[str, str] = {}
        self._related: list[list[str]] = []
        self._described: set[str] = set()
        self._last: str | None = None

    def section(self, section_id: str, path: Sequence[str], above: str | None) -> None:
        """A section under its headings; what is the whole document is none."""
        if section_id == self._item:
            return
        if "contains" not in self._without:  # else whoever drew it has declared the sections
            self._declare(Node(section_id, "section", {"title": path[-1], "section_path": list(path)}))
        self._edge(above or self._item, "contains", section_id)
        number = numbered(path[-1])
        if above is not None and len(path) > 1 and number is not None and numbered(path[-2]) is None:
            # The chapter of 9.1 is the ninth, also if its title does not say so.
            whole, dot, _ = number[1].rpartition(".")
            if dot:
                self._labels.setdefault(f"{number[0]}:{whole}", above)

    def entry(self, title: str, node: str) -> None:
        """That a node is what a title stands for."""
        if title:
            for name in dict.fromkeys((title, unnumbered(title))):
                self._titles.setdefault(name, []).append(node)
            number = numbered(title)
            if number is not None:
                self._labels.setdefault(f"{number[0]}:{number[1]}", node)

    def chunk(self, node: str, of: str, entry: str, text: str, about: Mapping[str, Any]) -> None:
        """A chunk of the section ``of``; ``entry`` is what others refer to if they mean it."""
        told = {key: about[key] for key in ("page", "content_kind") if key in about}
        summary = self._summary(about)
        self._declare(Node(node, "chunk", {**told, "page_summary": summary} if summary else told))
        if of != node:
            self._edge(of, "contains", node)
        if self._last is not None:
            self._edge(self._last, "next", node)
        self._last = node
        for name, relation in (("tags", "has_tag"), ("traits", "has_trait")):
            for value in about.get(name, ()):
                self._edge_to_entity(node, relation, relation[4:], str(value))
        self._describe(node, of, about)
        for relation, target, kind in self._enrichment.related(text):
            if relation not in self._without:
                self._declare(Node(entity_id(kind, target), "entity", {"name": target}))
                self._related.append([node, relation, target, entity_id(kind, target)])
        if not self._is_list(about):
            self._said.append([node, entry, text])
        if about.get("page") is not None:
            self._pages.setdefault(str(about["page"]), node)
        if about.get("page_label") is not None:
            self._printed.setdefault(str(about["page_label"]).lower(), node)
        self._see_labels(node, text)

    def symbols(self, links: Sequence[Any] = (), unresolved: Sequence[Sequence[str]] = ()) -> Symbols:
        """What a book tells the others, and what it has to remember to draw its links again."""
        payload: dict[str, Any] = {
            "said": self._said,
            "labels": self._labels,
            "pages": {**self._pages, **self._printed},  # "page 12" is what is printed, where anything is
            "titles": self._titles,
        }
        if self._related:
            payload["related"] = self._related
        if links:
            payload["links"] = [str(one) for one in links if isinstance(one, (str, int))]
        if self._without:
            payload["without"] = sorted(self._without)
        if unresolved:
            payload["unresolved"] = [list(one) for one in unresolved]
        told = [f"{title}\n{entry}" for title, entries in self._titles.items() for entry in entries][:_MOST_TITLES]
        defines: dict[str, Sequence[str]] = {TITLES: told}
        defines |= {f"book-label:{name}": [entry] for name, entry in self._labels.items()}
        return Symbols(defines, [Use(node, "mentions", "") for node, _, _ in self._said], payload)

    @staticmethod
    def _is_list(about: Mapping[str, Any]) -> bool:
        """Whether a chunk is one of an index or a table of contents."""
        path = about.get("section_path")
        return bool(plain_name(str(path[-1])).endswith(_LISTS)) if path else False

    def _describe(self, node: str, of: str, about: Mapping[str, Any]) -> None:
        """A passage that is a spell describes the spell that its section is called after; the first one does."""
        kind, path = about.get("content_kind"), about.get("section_path")
        if kind in _THINGS and path and of not in self._described:
            self._described.add(of)
            self._edge_to_entity(node, "describes", str(kind), unnumbered(str(path[-1])))

    def _edge_to_entity(self, node: str, relation: str, kind: str, name: str) -> None:
        if relation not in self._without:
            self._declare(Node(entity_id(kind, name), "entity", {"name": name}))
            self._edge(node, relation, entity_id(kind, name))

    def _see_labels(self, node: str, text: str) -> None:
        """Tables and figures are referred to by the number of their caption."""
        if not any(sign in text for sign in ("able ", "igure", "ig. ", "TABLE ", "FIGURE")):
            return
        for line in text.split("\n"):
            number = numbered(line) if line[:6].lower().startswith(_LABELLED) else None
            if number is not None:
                self._labels.setdefault(f"{number[0]}:{number[1]}", node)

    def _summary(self, about: Mapping[str, Any]) -> str | None:
        for name in ("page", "page_label"):
            place = about.get(name)
            found = self._summaries.get(place) or self._summaries.get(str(place))
            if found:
                return found
        return None

    def _declare(self, node: Node) -> None:
        self.nodes.setdefault(node.id, node)

    def _edge(self, source: str, relation: str, target: str) -> None:
        if relation not in self._without:
            self.edges.append(Edge(source, relation, target))
