"""Where a hit can be read, and the few words of it that answer best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ir.app.operation import Value

if TYPE_CHECKING:
    from ir.analysis import Analyzer
    from ir.base import SearchHit

__all__ = ["Citation", "cite"]

WIDTH = 280

Span = tuple[int, int]


@dataclass(frozen=True)
class Citation(Value):
    """A place to open and an excerpt; ``marks`` are the stretches of the excerpt that match the query."""

    path: str | None
    line: int | None
    page: int | None
    excerpt: str
    marks: tuple[Span, ...]


def cite(hit: SearchHit, terms: Mapping[str, float], analyzer: Analyzer) -> Citation:
    """The citation of a hit for a query's terms; the line is that of the first match shown."""
    from ir.analysis import snippet

    shown = snippet(analyzer, hit.text, terms, WIDTH)
    at = shown.start + (shown.spans[0][0] if shown.spans else 0)
    first, page = hit.metadata.get("line_start"), hit.metadata.get("page")
    line = first + hit.text.count("\n", 0, at) if isinstance(first, int) else None
    before, after = "…" if shown.start else "", "…" if shown.start + len(shown.text) < len(hit.text) else ""
    marks = tuple((start + len(before), end + len(before)) for start, end in shown.spans)
    return Citation(hit.pointer, line, page if isinstance(page, int) else None, f"{before}{shown.text}{after}", marks)
