"""Where a hit can be read, and the few words of it that answer best."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ir.app.operation import Value
from ir.base import PAGE_STARTS

if TYPE_CHECKING:
    from ir.analysis import Analyzer, Snippet
    from ir.base import SearchHit

__all__ = ["Citation", "cite"]

WIDTH = 280

Span = tuple[int, int]


@dataclass(frozen=True)
class Citation(Value):
    """A place to open and an excerpt.

    ``marks`` are the stretches of the excerpt that match the query; at ``focus`` the line begins that is cited.
    """

    path: str | None
    line: int | None
    page: int | None
    excerpt: str
    marks: tuple[Span, ...]
    focus: int = 0


def cite(hit: SearchHit, terms: Collection[str], analyzer: Analyzer) -> Citation:
    """The citation of a hit for a query's terms; the line has the most of them, the page is the one it is on."""
    from ir.analysis import snippet

    shown = snippet(analyzer, hit.text, terms, WIDTH)
    focus = _best_line(shown)
    first, place = hit.metadata.get("line_start"), shown.start + focus
    line = first + hit.text.count("\n", 0, place) if isinstance(first, int) else None
    before, after = "…" if shown.start else "", "…" if shown.start + len(shown.text) < len(hit.text) else ""
    lead = len(before)
    marks = tuple((start + lead, end + lead) for start, end in shown.spans)
    excerpt = f"{before}{shown.text}{after}"
    return Citation(hit.pointer, line, _page_at(hit, place), excerpt, marks, focus + lead if focus else 0)


def _page_at(hit: SearchHit, place: int) -> int | None:
    """The page that a place in the hit's text stands on."""
    page, further = hit.metadata.get("page"), hit.metadata.get(PAGE_STARTS)
    if not isinstance(page, int):
        return None
    starts = [start for start in further if isinstance(start, int)] if isinstance(further, list) else []
    return page + sum(start <= place for start in starts)


def _best_line(shown: Snippet) -> int:
    """Where in the snippet the line with the most different matches begins; the first of several such lines."""
    found: dict[int, set[str]] = {}
    for start, end in shown.spans:
        found.setdefault(shown.text.rfind("\n", 0, start) + 1, set()).add(shown.text[start:end].lower())
    return max(found, key=lambda at: (len(found[at]), -at), default=0)
