"""Overlapping chunks of a text, each knowing where it comes from."""

from __future__ import annotations

import copy
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ir.base import CELL_STARTS, PAGE_LABELS, PAGE_STARTS, SECTION_STARTS, IndexPlan, Surface, heading_of
from ir.errors import InvalidInput
from ir.options import count
from ir.strategy.code import CUTTING_VERSION, CodeCutter, CodeOutline, Packer, Unparsable, code_outline, cutter_for
from ir.strategy.cuts import Cutter
from ir.strategy.fields import artifact_fields, title_of
from ir.strategy.markdown import Outline, outline_of
from ir.strategy.text import format_named, layout_of, scanned_remark, text_of

__all__ = ["Chunked", "Chunks", "estimate_tokens"]

CountTokens = Callable[[str], int]
#: What a span of a text is embedded with, where its headings do not say it.
Lead = Callable[[int, int], str]
Fits = Callable[[int, int], bool]


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has: a quarter of its bytes, which serves languages without spaces too."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return (size + 3) // 4


@dataclass(frozen=True)
class Chunks:
    """How to cut texts into chunk surfaces of one kind; strategies share it."""

    size: int
    overlap: int
    kind: str
    max_tokens: int | None = None
    count_tokens: CountTokens | None = None
    #: Whether chunks also say which sections begin in them, and keep the definitions of code whole.
    detailed: bool = False
    #: Whether each definition of code is a chunk of its own, however small.
    apart: bool = False

    def __post_init__(self) -> None:
        # They are part of a strategy's id, which must not depend on who counts the tokens.
        object.__setattr__(self, "size", count("chunk_size", self.size))
        object.__setattr__(self, "overlap", count("overlap", self.overlap, 0))
        if self.overlap >= self.size:
            raise InvalidInput(f"overlap ({self.overlap}) must be smaller than chunk_size ({self.size}).")
        if self.max_tokens is not None:
            object.__setattr__(self, "max_tokens", count("max_tokens", self.max_tokens))

    def surfaces(self, artifact_id: str, raw: Any, text: str, title: object = None) -> list[Surface]:
        """The chunks of ``text``. ``raw`` may know its first line and the offsets of its pages or cells."""
        return self.cut(artifact_id, raw, text, title)[0]

    def cut(
        self,
        artifact_id: str,
        raw: Any,
        text: str,
        title: object = None,
        *,
        cutter: CodeCutter | None = None,
        lead: Lead | None = None,
    ) -> tuple[list[Surface], str | None]:
        """The chunks of ``text``, and what is to be said about how it was cut.

        ``cutter`` knows the units of this text, where somebody has read it already; ``lead`` what goes before a span.
        """
        layout = layout_of(artifact_id, raw)
        sections, spans, remark = _Sections(), None, None
        if cutter is None and self.detailed and layout == "code":
            cutter = cutter_for(format_named(artifact_id, raw))
        if cutter is not None:
            try:
                units = cutter(text)
                sections = _Sections(code=code_outline(units))
                fits = None if self.max_tokens is None else self._budget(text, sections, title, lead)
                together = 0 if self.apart else self.size // 2
                whole = Packer(text, self.size, fits, lambda low, high: self._stretch(text, low, high, fits), together)
                spans = list(whole.spans(units)) if units else None
            except Unparsable as error:
                remark = f"cut as text, for it cannot be parsed: {error}"
        if spans is None:
            sections = _Sections(outline_of(text) if layout == "markdown" else Outline(), title)
            fits = None if self.max_tokens is None else self._budget(text, sections, title)
            spans = list(self._cutter(layout != "code", sections.outline, fits).spans(text))
        places = _places(text, spans, raw)
        made = []
        for index, (span, place) in enumerate(zip(spans, places, strict=True)):
            about = {"chunk_index": index, "n_chunks": len(spans), "start": span[0], "end": span[1], **place}
            about.update(sections.metadata(*span, further=self.detailed))
            made.append(Surface(artifact_id, self.kind, text[span[0] : span[1]], "chunk", about))
        return made, remark

    def _cutter(self, prose: bool, outline: Outline, fits: Fits | None) -> Cutter:
        # Hardly any text has more than eight characters to a token, so counting longer spans would be wasted work.
        size = self.size if self.max_tokens is None else min(self.size, 8 * self.max_tokens)
        return Cutter(size, self.overlap * size // self.size, prose, outline, fits)

    def _stretch(self, text: str, low: int, high: int, fits: Fits | None) -> Iterator[tuple[int, int]]:
        """Spans of one stretch of code that no parser can take apart further."""
        inside = None if fits is None else lambda start, end: fits(start + low, end + low)
        for start, end in self._cutter(False, Outline(), inside).spans(text[low:high]):
            yield start + low, end + low

    def _budget(self, text: str, sections: _Sections, title: object, lead: Lead | None = None) -> Fits:
        """Whether a span and what it is embedded with stay within the budget."""
        measure = self.count_tokens or estimate_tokens
        limit = self.max_tokens or 1

        def fits(start: int, end: int) -> bool:
            headings = {"title": title, "section": sections.at(start)}
            heading = heading_of(headings) if lead is None else lead(start, end)
            # Headings may take half of the budget at most, else nothing would be left for the text.
            reserved = min(measure(heading), limit // 2) if heading else 0
            # Counting a long text takes long, and none has eight characters to a token.
            return end - start <= 8 * limit and measure(text[start:end]) + reserved <= limit

        return fits


@dataclass(frozen=True)
class _Sections:
    """What each place of a text is about: the headings above it, or the definition that it is part of."""

    outline: Outline = field(default_factory=Outline)
    title: object = None
    code: CodeOutline | None = None

    def at(self, start: int) -> str:
        if self.code is not None:
            return self.code.name_at(start)
        trail: Sequence[str] = self.outline.trail_at(start)
        if trail and trail[0] == self.title:
            trail = trail[1:]
        return " > ".join(trail)

    def metadata(self, start: int, end: int, *, further: bool) -> dict[str, Any]:
        """The section that a span begins in, those that follow in it and where; the names that its code defines."""
        about: dict[str, Any] = {}
        section = last = self.at(start)
        if section:
            about["section"] = section
        found: list[tuple[int, str]] = []
        for place in self._starts(start, end) if further else ():
            name = self.at(place)
            if name != last:
                found.append((place - start, name))
                last = name
        if found:
            about[SECTION_STARTS] = [place for place, _ in found]
            about["sections"] = [name for _, name in found]
        symbols = self.code.defined_in(start, end) if self.code is not None else []
        return {**about, "symbols": symbols} if symbols else about

    def _starts(self, start: int, end: int) -> list[int]:
        if self.code is not None:
            return [place for place, _ in self.code.within(start, end)]
        return self.outline.starts_in(start + 1, end)


def _places(text: str, spans: Sequence[tuple[int, int]], raw: Any) -> Iterator[dict[str, Any]]:
    """The lines (1-based, inclusive) of each span, its first page or cell, and where in it further ones begin.

    A first line of ``None`` means: no lines to cite.
    """
    mapping = raw if isinstance(raw, Mapping) else {}
    first_line = mapping.get("_first_line", 1)
    parts = (("page", mapping.get("_pages"), PAGE_STARTS), ("cell", mapping.get("_cells"), CELL_STARTS))
    labels = mapping.get("_labels")
    line, seen = first_line or 1, 0
    for start, end in spans:
        place: dict[str, Any] = {}
        if first_line is not None:
            line += text.count("\n", seen, start)
            seen = start
            place = {"line_start": line, "line_end": line + text.count("\n", start, end)}
        for name, offsets, starts in parts:
            if offsets:
                place[name] = number = max(1, bisect_right(offsets, start))
                further = [offset - start for offset in offsets[number : bisect_left(offsets, end)]]
                if further:
                    place[starts] = further
                if name == "page" and labels:
                    printed = labels[number - 1 : number + len(further)]
                    if printed != [str(one) for one in range(number, number + len(printed))]:
                        place[PAGE_LABELS] = printed
        yield place


class Chunked:
    """Overlapping ``chunk`` surfaces, cut at headings, else near paragraph, sentence, line or word ends.

    Code for which there is a parser (:data:`ir.strategy.code.CUTTERS`) is cut between definitions, without overlap: one
    stays whole up to twice ``chunk_size``, and small ones share a chunk.

    Each carries ``chunk_index``, ``n_chunks``, ``start``/``end`` (``text[start:end]`` is the chunk),
    ``line_start``/``line_end``, and ``section``: the headings above it, or the definition that it is part of. Further
    ``sections`` in it come with their offsets, ``section_starts``; ``symbols`` are the names of its definitions. A
    chunk of a PDF has the ``page`` that it begins on, one of a notebook the ``cell``, and the offsets at which further
    ones begin; ``page_labels`` are what is printed on its pages, where that is not their number. With ``max_tokens`` a
    chunk also stays within that many tokens, counted by ``count_tokens`` or estimated. Without any text there is one
    chunk: the title.

    >>> plan = Chunked(chunk_size=40, overlap=8).decompose("a", "First sentence here. Second sentence there. Third.")
    >>> [(surface.text, surface.metadata["start"]) for surface in plan.surfaces]
    [('First sentence here.', 0), ('Second sentence there. Third.', 21)]
    """

    version = CUTTING_VERSION
    _apart = False

    def __init__(
        self,
        *,
        chunk_size: int = 1200,
        overlap: int = 200,
        text_key: str | None = None,
        kind: str = "chunk",
        max_tokens: int | None = None,
        count_tokens: CountTokens | None = None,
    ) -> None:
        self._chunks = Chunks(chunk_size, overlap, kind, max_tokens, count_tokens, detailed=True, apart=self._apart)
        self.chunk_size = self._chunks.size
        self.overlap = self._chunks.overlap
        self.text_key = text_key
        self.kind = kind
        self.max_tokens = self._chunks.max_tokens
        self.count_tokens = count_tokens

    def decompose(self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None) -> IndexPlan:
        return self._decomposed(artifact_id, raw, metadata)

    def _decomposed(
        self,
        artifact_id: str,
        raw: Any,
        metadata: Mapping[str, Any] | None,
        cutter: CodeCutter | None = None,
        lead: Lead | None = None,
    ) -> IndexPlan:
        text = text_of(raw, self.text_key)
        fields = artifact_fields(artifact_id, raw, metadata, text=text, text_key=self.text_key)
        surfaces, remark = self._chunks.cut(artifact_id, raw, text, fields.get("title"), cutter=cutter, lead=lead)
        if not surfaces and title_of(fields):
            only = {"chunk_index": 0, "n_chunks": 1}
            surfaces = [Surface(artifact_id, self.kind, title_of(fields), "chunk", only)]
        return IndexPlan(fields, surfaces, remark=remark or scanned_remark(raw))

    def with_budget(self, max_tokens: int, count_tokens: CountTokens | None = None) -> Chunked:
        """The same strategy for an embedder that reads ``max_tokens``; a smaller budget already set stays."""
        budget = max_tokens if self.max_tokens is None else min(max_tokens, self.max_tokens)
        twin = copy.copy(self)
        twin.max_tokens = budget
        twin.count_tokens = count_tokens or self.count_tokens
        twin._chunks = replace(self._chunks, max_tokens=budget, count_tokens=twin.count_tokens)
        return twin
