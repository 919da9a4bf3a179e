"""A book as passages with a graph: sections are artifacts, their chunks are ranked, and links say what names what."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ir.base import IndexPlan, Record, Surface
from ir.book.drawing import TITLES, Drawing
from ir.book.enrichment import Enrichment
from ir.book.given import chapter_depth, given_plan, placed
from ir.book.linking import BookLinks, Titles
from ir.book.plain import is_plain, without_running_lines
from ir.book.sections import Section, sections_of
from ir.book.summaries import page_summaries
from ir.errors import InvalidInput, IrError
from ir.links import Edge, Symbols
from ir.strategy import Chunked, text_of
from ir.strategy.chunked import Chunks
from ir.strategy.code import CUTTING_VERSION
from ir.strategy.fields import artifact_fields
from ir.strategy.text import format_named, scanned_remark

if TYPE_CHECKING:
    from ir.protocols import Store

__all__ = ["RELATIONS", "Book", "book_of"]

#: How the parts of a book belong together.
RELATIONS = (
    "contains",
    "next",
    "describes",
    "mentions",
    "refers_to",
    "has_tag",
    "has_trait",
    "similar_to",
    "requires_level",
    "grants_ability",
)


class Book(Chunked):
    """Cuts a text at its headings; each section is an artifact, so that results are sections and not whole books.

    Nodes: the ``document``, its ``section`` artifacts and their ``chunk`` records, and an ``entity`` for each tag,
    trait, and thing that a passage describes. Links: ``contains``, ``next``, ``has_tag``, ``has_trait`` and
    ``describes``; ``mentions`` from a chunk to the section that is called as it says; ``refers_to`` where it says
    "see", or names a rule, chapter, table, figure or page. Names are looked for in the same book, then in the others
    of the corpus; what leads nowhere stays a link to that name.

    ``enrichment`` are rules that say what kind of thing a passage is. An item may bring ``book``, ``tags``,
    ``traits``, ``content_kind``, ``links`` (ids that it refers to) and ``title`` of its own; one with ``_chunks`` was
    cut by somebody else, and stays cut so. Every passage carries ``run_id``, if there is one. Above the cosine
    ``similar`` chunks are linked by ``similar_to``, at the end of each build. With ``workspace``, the name of the
    corpus, references that nothing here answers are looked for in the other books of the workspace. A corpus without
    any text is refused by ``refusal``.
    """

    version = f"{CUTTING_VERSION}-book-3"  # type: ignore[assignment]
    #: How searches rank what it makes, and how they follow its links.
    ranking = "book"
    graph = "expand"

    def __init__(
        self,
        *,
        enrichment: Enrichment | None = None,
        run_id: str | None = None,
        similar: float | None = None,
        workspace: str | None = None,
        refusal: Callable[[], IrError] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if similar is not None and not 0 < similar <= 1:
            raise InvalidInput(f"similar is a cosine above 0 and at most 1, not {similar!r}.")
        self.rules = enrichment.id if enrichment is not None else None
        # What says nothing of how a text is cut is no part of what the strategy is called.
        self._enrichment = enrichment or Enrichment()
        self._run_id = run_id
        self._similar = similar
        self._workspace = workspace
        self._refusal = refusal
        self._titles: Titles | None = None

    @property
    def enrichment(self) -> Enrichment:
        return self._enrichment

    @property
    def similar(self) -> float | None:
        return self._similar

    def decompose(self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None) -> IndexPlan:
        given = raw if isinstance(raw, Mapping) else {}
        text = "" if "_chunks" in given else text_of(raw, self.text_key)
        fields = artifact_fields(artifact_id, raw, metadata, text=text, text_key=self.text_key)
        fields.setdefault("book", book_of(artifact_id))
        if self._run_id is not None:
            fields.setdefault("run_id", self._run_id)
        if "_chunks" in given:
            return given_plan(artifact_id, given, fields, self._enrichment, kind=self.kind)
        plain = is_plain(format_named(artifact_id, raw))
        text = without_running_lines(text) if plain else text
        sections = list(sections_of(artifact_id, text, plain=plain))
        depth = chapter_depth([section.path for section in sections])
        if not given.get("title") and depth == 0 and sum(bool(section.path) for section in sections) > 1:
            # The first of several chapters is not what the book is called.
            fields["title"] = str(fields["book"])
        title = str(fields.get("title") or artifact_id)
        pages = given.get("_pages")
        summaries = page_summaries(text, pages) if pages else None
        plan = IndexPlan(fields, remark=scanned_remark(raw))
        drawing = Drawing(artifact_id, {"title": title}, self._enrichment, summaries=summaries)
        for section in sections:
            drawing.section(section.id, section.path, section.above)
            drawing.entry(section.title or str(fields.get("title") or ""), section.id)
            for record, surface in self._section(plan, section, given, text, depth):
                plan.surfaces.append(surface)
                drawing.chunk(record, section.id, section.id, surface.text, surface.metadata)
        plan.nodes, plan.edges = list(drawing.nodes.values()), drawing.edges
        plan.symbols = drawing.symbols(given.get("links") or ())
        return plan

    def link(self, item_id: str, symbols: Symbols, lookup: Any) -> Iterable[Edge]:
        """What the chunks of a book name: entries of it, else of other books."""
        if not symbols.payload:
            return ()
        told = list(lookup(TITLES))
        if self._titles is None or self._titles.told != told:
            self._titles = Titles(told)  # the same for thousands of entries
        return BookLinks(symbols.payload, lookup, self._enrichment.aliases, self._titles)

    def complete(self, store: Store) -> bool:
        """Draw the links that need all of the corpus, or other corpora; whether anything changed."""
        from ir.book.elsewhere import settle
        from ir.book.similar import draw_similar

        if self._refusal is not None and not len(store):
            raise self._refusal()
        changed = False
        if self._similar is not None or store.get_config().get("similar") is not None:
            changed = draw_similar(store, self._similar)
        if self._workspace is not None:
            changed = settle(store, self._workspace) or changed
        return changed

    def _section(
        self, plan: IndexPlan, section: Section, given: Mapping[str, Any], text: str, depth: int
    ) -> Iterable[tuple[str, Surface]]:
        """The chunks of a section with their record ids."""
        part = text[section.start : section.end]
        shifted = {key: [place - section.start for place in given[key]] for key in ("_pages",) if given.get(key)}
        first = given.get("_first_line", 1)
        if first is not None:
            shifted["_first_line"] = first + text.count("\n", 0, section.start)
        raw = {**given, **shifted, "format": "markdown"}
        surfaces, remark = self._cut(section, raw, part)
        plan.remark = plan.remark or remark
        trail = " > ".join(section.path)
        for index, surface in enumerate(surfaces):
            own = self._enrichment.of_passage(section=trail, text=surface.text, title=section.title)
            said = {
                name: given[name]
                for name in ("content_kind", "is_rule_bearing", "chapter")
                if given.get(name) is not None
            }
            own = said | own | {name: _joined(given.get(name), own.get(name)) for name in ("tags", "traits")}
            own = {name: value for name, value in own.items() if value not in (None, [])}
            where = placed(section.path, depth, surface.metadata, given.get("_labels"))
            about = {**surface.metadata, **where, **own, "start": surface.metadata["start"] + section.start}
            about["end"] = surface.metadata["end"] + section.start
            record = about["chunk"] = Record.make_id(section.id, surface.kind, index)
            yield record, Surface(section.id, surface.kind, surface.text, surface.granularity, about)

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


def _joined(*several: Any) -> list[str]:
    return list(dict.fromkeys(str(one) for given in several if isinstance(given, (list, tuple)) for one in given))
