"""Overlapping chunks of a text, each knowing where it comes from."""

from __future__ import annotations

import copy
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ir.base import PAGE_STARTS, IndexPlan, Surface, heading_of
from ir.errors import InvalidInput
from ir.options import count
from ir.strategy.cuts import Cutter
from ir.strategy.fields import artifact_fields, title_of
from ir.strategy.markdown import Outline, outline_of
from ir.strategy.text import layout_of, text_of

__all__ = ["Chunked", "Chunks", "estimate_tokens"]

CountTokens = Callable[[str], int]


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

    def __post_init__(self) -> None:
        # They are part of a strategy's id, which is the same whoever counted.
        object.__setattr__(self, "size", count("chunk_size", self.size))
        object.__setattr__(self, "overlap", count("overlap", self.overlap, 0))
        if self.overlap >= self.size:
            raise InvalidInput(f"overlap ({self.overlap}) must be smaller than chunk_size ({self.size}).")
        if self.max_tokens is not None:
            object.__setattr__(self, "max_tokens", count("max_tokens", self.max_tokens))

    def surfaces(self, artifact_id: str, raw: Any, text: str, title: object = None) -> list[Surface]:
        """The chunks of ``text``. ``raw`` may know its first line and the offsets of its pages."""
        layout = layout_of(artifact_id, raw)
        outline = outline_of(text) if layout == "markdown" else Outline()
        fits = None if self.max_tokens is None else self._budget(text, outline, title)
        # Hardly a text has more than eight characters a token: counting longer spans would be for nothing.
        size = self.size if self.max_tokens is None else min(self.size, 8 * self.max_tokens)
        cutter = Cutter(size, self.overlap * size // self.size, layout != "code", outline, fits)
        spans = list(cutter.spans(text))
        places = _places(text, spans, raw)
        made = []
        for index, ((start, end), place) in enumerate(zip(spans, places, strict=True)):
            metadata: dict[str, Any] = {
                "chunk_index": index,
                "n_chunks": len(spans),
                "start": start,
                "end": end,
                **place,
            }
            section = _section(outline, start, title)
            if section:
                metadata["section"] = section
            made.append(Surface(artifact_id, self.kind, text[start:end], "chunk", metadata))
        return made

    def _budget(self, text: str, outline: Outline, title: object) -> Callable[[int, int], bool]:
        """Whether a span and the headings it is embedded with stay within the budget."""
        measure = self.count_tokens or estimate_tokens
        limit = self.max_tokens or 1

        def fits(start: int, end: int) -> bool:
            heading = heading_of({"title": title, "section": _section(outline, start, title)})
            # Headings may take half of the budget at most, else nothing would be left for the text.
            reserved = min(measure(heading), limit // 2) if heading else 0
            return measure(text[start:end]) + reserved <= limit

        return fits


def _section(outline: Outline, start: int, title: object) -> str:
    trail: Sequence[str] = outline.trail_at(start)
    if trail and trail[0] == title:
        trail = trail[1:]
    return " > ".join(trail)


def _places(text: str, spans: Sequence[tuple[int, int]], raw: Any) -> Iterator[dict[str, Any]]:
    """The lines (1-based, inclusive) and the first page of each span, and where in it further pages begin.

    A first line of ``None`` means: no lines to cite.
    """
    mapping = raw if isinstance(raw, Mapping) else {}
    first_line = mapping.get("_first_line", 1)
    pages = mapping.get("_pages") or ()
    line, seen = first_line or 1, 0
    for start, end in spans:
        place: dict[str, Any] = {}
        if first_line is not None:
            line += text.count("\n", seen, start)
            seen = start
            place = {"line_start": line, "line_end": line + text.count("\n", start, end)}
        if pages:
            place["page"] = page = max(1, bisect_right(pages, start))
            further = [offset - start for offset in pages[page : bisect_left(pages, end)]]
            if further:
                place[PAGE_STARTS] = further
        yield place


class Chunked:
    """Overlapping ``chunk`` surfaces, cut at headings, else near paragraph, sentence, line or word ends.

    Each carries ``chunk_index``, ``n_chunks``, ``start``/``end`` (``text[start:end]`` is the chunk),
    ``line_start``/``line_end`` and, in Markdown, ``section`` (the headings above it). A chunk of a PDF has the ``page``
    that it begins on, and the offsets in it at which further pages begin. With ``max_tokens`` a chunk
    also stays within that many tokens, counted by ``count_tokens`` or estimated. Without any text there is one chunk:
    the title.

    >>> plan = Chunked(chunk_size=40, overlap=8).decompose("a", "First sentence here. Second sentence there. Third.")
    >>> [(surface.text, surface.metadata["start"]) for surface in plan.surfaces]
    [('First sentence here.', 0), ('Second sentence there. Third.', 21)]
    """

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
        self._chunks = Chunks(chunk_size, overlap, kind, max_tokens, count_tokens)
        self.chunk_size = self._chunks.size
        self.overlap = self._chunks.overlap
        self.text_key = text_key
        self.kind = kind
        self.max_tokens = self._chunks.max_tokens
        self.count_tokens = count_tokens

    def decompose(self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None) -> IndexPlan:
        text = text_of(raw, self.text_key)
        fields = artifact_fields(artifact_id, raw, metadata, text=text, text_key=self.text_key)
        surfaces = self._chunks.surfaces(artifact_id, raw, text, fields.get("title"))
        if not surfaces and title_of(fields):
            only = {"chunk_index": 0, "n_chunks": 1}
            surfaces = [Surface(artifact_id, self.kind, title_of(fields), "chunk", only)]
        return IndexPlan(fields, surfaces)

    def with_budget(self, max_tokens: int, count_tokens: CountTokens | None = None) -> Chunked:
        """The same strategy for an embedder that reads ``max_tokens``; a smaller budget already set stays."""
        budget = max_tokens if self.max_tokens is None else min(max_tokens, self.max_tokens)
        twin = copy.copy(self)
        twin.max_tokens = budget
        twin.count_tokens = count_tokens or self.count_tokens
        twin._chunks = Chunks(self.chunk_size, self.overlap, self.kind, budget, twin.count_tokens)
        return twin
