"""A book as passages with a graph: sections are artifacts, their chunks are ranked, and links say what names what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ir.base import IndexPlan, Record, Surface
from ir.book.enrichment import Enrichment
from ir.book.names import Names
from ir.book.references import numbered, plain_name, references_in
from ir.book.sections import Section, sections_of
from ir.links import Edge, Node, Symbols, Use
from ir.strategy import Chunked, text_of
from ir.strategy.chunked import Chunks
from ir.strategy.code import CUTTING_VERSION
from ir.strategy.fields import artifact_fields

__all__ = ["RELATIONS", "Book"]

#: How the parts of a book belong together.
RELATIONS = ("contains", "next", "describes", "mentions", "refers_to", "has_tag", "has_trait", "similar_to")
#: The name under which all books tell the titles of their entries.
_TITLES = "book-titles"
#: A book has so many different names at most that are looked for in the others.
_MOST_TITLES = 200_000


class Book(Chunked):
    """Cuts a text at its headings; each section is an artifact, so that results are sections and not whole books.

    Nodes: the ``document``, its ``section`` artifacts and their ``chunk`` records, and an ``entity`` for each tag and
    trait. Links: ``contains``, ``next``, ``has_tag`` and ``has_trait``; ``mentions`` from a chunk to the section that
    is called as it says; ``refers_to`` where it says "see", or names a rule, chapter, table, figure or page. Names are
    looked for in the same book, then in the others of the corpus; what leads nowhere stays a link to that name.

    ``enrichment`` are rules that say what kind of thing a passage is. An item may bring ``tags``, ``traits``,
    ``content_kind``, ``links`` (ids that it refers to) and ``title`` of its own.
    """

    version = f"{CUTTING_VERSION}-book-2"  # type: ignore[assignment]

    def __init__(self, *, enrichment: Enrichment | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.enrichment = enrichment or Enrichment()

    def decompose(self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None) -> IndexPlan:
        text = text_of(raw, self.text_key)
        fields = artifact_fields(artifact_id, raw, metadata, text=text, text_key=self.text_key)
        given = raw if isinstance(raw, Mapping) else {}
        fields.setdefault("book", book_of(artifact_id))
        plan = IndexPlan(fields)
        plan.nodes.append(Node(artifact_id, "document", {"title": str(fields.get("title") or artifact_id)}))
        said: list[dict[str, Any]] = []
        titles: dict[str, list[str]] = {}
        last: str | None = None
        sections = list(sections_of(artifact_id, text))
        depth = chapter_depth([section.path for section in sections])
        for section in sections:
            records = self._section(plan, section, given, text, depth)
            if section.id != artifact_id:
                plan.edges.append(Edge(section.above or artifact_id, "contains", section.id))
            name = section.title or str(fields.get("title") or "")
            if name:
                titles.setdefault(name, []).append(section.id)
            for record, surface in records:
                if last is not None:
                    plan.edges.append(Edge(last, "next", record))
                last = record
                said.append(
                    {"id": record, "of": section.id, "text": surface.text, "page": surface.metadata.get("page")}
                )
        plan.symbols = _symbols(artifact_id, said, titles, given)
        return plan

    def link(self, item_id: str, symbols: Symbols, lookup: Any) -> Iterable[Edge]:
        """What the chunks of a book name: entries of it, else of other books."""
        return _Links(item_id, symbols.payload, lookup).all() if symbols.payload else ()

    def _section(
        self, plan: IndexPlan, section: Section, given: Mapping[str, Any], text: str, depth: int
    ) -> list[tuple[str, Surface]]:
        """The chunks of a section with their record ids; nodes and edges of both go into the plan."""
        part = text[section.start : section.end]
        shifted = {key: [place - section.start for place in given[key]] for key in ("_pages",) if given.get(key)}
        first = given.get("_first_line", 1)
        if first is not None:
            shifted["_first_line"] = first + text.count("\n", 0, section.start)
        raw = {**given, **shifted, "format": "markdown"}
        surfaces, remark = self._cut(section, raw, part)
        plan.remark = plan.remark or remark
        trail = " > ".join(section.path)
        if section.path:
            about = {"title": section.title, "section_path": list(section.path)}
            plan.nodes.append(Node(section.id, "section", about))
        found: list[tuple[str, Surface]] = []
        for index, surface in enumerate(surfaces):
            own = self.enrichment.of_passage(section=trail, text=surface.text, title=section.title)
            own = {
                name: given[name] for name in ("content_kind", "is_rule_bearing") if given.get(name) is not None
            } | own
            own |= {name: _joined(given.get(name), own.get(name)) for name in ("tags", "traits")}
            own = {name: value for name, value in own.items() if value not in (None, [])}
            where = placed(section.path, depth, surface.metadata, given.get("_labels"))
            about = {**surface.metadata, **where, **own, "start": surface.metadata["start"] + section.start}
            about["end"] = surface.metadata["end"] + section.start
            record = about["chunk"] = Record.make_id(section.id, surface.kind, index)
            made = Surface(section.id, surface.kind, surface.text, surface.granularity, about)
            plan.surfaces.append(made)
            plan.nodes.append(
                Node(record, "chunk", {key: about[key] for key in ("page", "content_kind") if key in about})
            )
            plan.edges.append(Edge(section.id, "contains", record))
            for name, relation in (("tags", "has_tag"), ("traits", "has_trait")):
                for value in own.get(name, ()):
                    entity = f"{relation[4:]}:{plain_name(str(value))}"
                    plan.nodes.append(Node(entity, "entity", {"name": str(value)}))
                    plan.edges.append(Edge(record, relation, entity))
            found.append((record, made))
        return found

    def _cut(self, section: Section, raw: Mapping[str, Any], part: str) -> tuple[list[Surface], str | None]:
        chunks = Chunks(self.chunk_size, self.overlap, self.kind, self.max_tokens, self.count_tokens, detailed=False)
        return chunks.cut(section.id, raw, part, section.title)


def book_of(item_id: str) -> str:
    """What a book is called whose name nobody said: its file, without folders and ending.

    >>> book_of("rules/Player Core.pdf"), book_of("core")
    ('Player Core', 'core')
    """
    name = item_id[item_id.rfind("/") + 1 :]
    return name.rpartition(".")[0] or name


def chapter_depth(paths: Sequence[Sequence[str]]) -> int:
    """At which depth of section paths the chapters are: below the title of the book, if one heading is above all."""
    headed = [path for path in paths if path]
    return int(len(headed) > 1 and len({path[0] for path in headed}) == 1)


def placed(
    path: Sequence[str], depth: int, about: Mapping[str, Any], labels: Sequence[str] | None = None
) -> dict[str, Any]:
    """Where in its book a chunk stands: its section, its chapter, and what is printed on its page."""
    where: dict[str, Any] = {}
    if path:
        where = {"section": " > ".join(path), "section_path": list(path)}
        where["chapter"] = path[min(depth, len(path) - 1)]
    page = about.get("page")
    if isinstance(page, int):
        where["page_label"] = str(labels[page - 1]) if labels and page <= len(labels) else str(page)
    return where


def _joined(*several: Any) -> list[str]:
    return list(dict.fromkeys(str(one) for given in several if isinstance(given, (list, tuple)) for one in given))


def _symbols(
    item_id: str, said: list[dict[str, Any]], titles: Mapping[str, list[str]], given: Mapping[str, Any]
) -> Symbols:
    """What a book tells the others, and what it has to remember to draw its links again."""
    labels: dict[str, str] = {}
    for title, entries in titles.items():
        number = numbered(title)
        if number is not None:
            labels.setdefault(f"{number[0]}:{number[1]}", entries[0])
    for chunk in said:
        for line in chunk["text"].split("\n"):
            number = numbered(line) if line[:6].lower() in ("table ", "figure") else None
            if number is not None:
                labels.setdefault(f"{number[0]}:{number[1]}", chunk["id"])
    told = [f"{title}\n{entry}" for title, entries in titles.items() for entry in entries][:_MOST_TITLES]
    pages = _pages(said)
    payload = {"said": [[one["id"], one["of"], one["text"]] for one in said], "labels": labels, "pages": pages}
    if given.get("links"):
        payload["links"] = [str(one) for one in given["links"] if isinstance(one, (str, int))]
    payload["titles"] = dict(titles)
    uses = [Use(one["id"], "mentions", "") for one in said]
    defines: dict[str, Sequence[str]] = {_TITLES: told}
    defines |= {f"book-label:{name}": [entry] for name, entry in labels.items()}
    return Symbols(defines, uses, payload)


def _pages(said: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The first chunk that begins on each page, by its number as a text."""
    pages: dict[str, str] = {}
    for one in said:
        if one["page"] is not None:
            pages.setdefault(str(one["page"]), one["id"])
    return pages


class _Links:
    """The links out of the chunks of one book."""

    def __init__(self, item_id: str, payload: Mapping[str, Any], lookup: Any) -> None:
        self._item = item_id
        self._payload = payload
        self._lookup = lookup
        self._own: Mapping[str, Sequence[str]] = {
            plain_name(title): entries for title, entries in payload["titles"].items()
        }
        others = [told.partition("\n") for told in lookup(_TITLES)]
        self._others: dict[str, list[str]] = {}
        for title, _, entry in others:
            self._others.setdefault(plain_name(title), []).append(entry)
        own = [(title, entry) for title, entries in payload["titles"].items() for entry in entries]
        self._names = Names([*own, *((title, entry) for title, _, entry in others)])

    def all(self) -> Iterable[Edge]:
        for record, section, text in self._payload["said"]:
            seen: set[tuple[str, str]] = set()
            for edge in (*self._given(record), *self._referred(record, text), *self._mentioned(record, section, text)):
                if (edge.type, edge.target) not in seen and edge.target not in (section, record):
                    seen.add((edge.type, edge.target))
                    yield edge

    def _given(self, record: str) -> Iterable[Edge]:
        """Links that the item itself says, drawn from its first chunk."""
        if record == self._payload["said"][0][0]:
            for target in self._payload.get("links", ()):
                yield Edge(record, "refers_to", target, None, {"resolution": "exact"})

    def _referred(self, record: str, text: str) -> Iterable[Edge]:
        for reference in references_in(text):
            properties = {"said": reference.said}
            targets = self._targets(reference.kind, reference.target)
            for target in targets:
                yield Edge(record, "refers_to", target, None, {**properties, "resolution": "exact"})
            if not targets:
                yield Edge(record, "refers_to", f"{reference.kind}:{reference.target}", None, properties)

    def _targets(self, kind: str, target: str) -> Sequence[str]:
        if kind == "name":
            found = self._own.get(target) or self._others.get(target)
            if not found and " and " in target:
                return [one for part in target.split(" and ") for one in self._targets(kind, part)]
            return found[:1] if found else ()
        if kind == "page":
            return [self._payload["pages"][target]] if target in self._payload["pages"] else ()
        for name in _shorter(target):
            own = self._payload["labels"].get(f"{kind}:{name}") or self._payload["labels"].get(f"section:{name}")
            if own:
                return [own]
        elsewhere = self._lookup(f"book-label:{kind}:{target}")
        return list(elsewhere)[:1] if len(elsewhere) == 1 else ()

    def _mentioned(self, record: str, section: str, text: str) -> Iterable[Edge]:
        for mention in self._names.in_text(text):
            for target in mention.entries:
                if target != section and not section.startswith(f"{target}/"):
                    yield Edge(record, "mentions", target, None, {"said": mention.said, "resolution": "exact"})


def _shorter(number: str) -> Iterable[str]:
    """A number and what it is part of: 4.5.1(2), 4.5.1."""
    yield number
    while number.endswith(")"):
        number = number[: number.rindex("(")]
        yield number
