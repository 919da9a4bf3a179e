"""Where a hit can be read, and the few words of it that answer best."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ir.app.operation import Value

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
    """The citation of a hit for a query's terms; the line is the one with the most of them."""
    from ir.analysis import snippet

    shown = snippet(analyzer, hit.text, terms, WIDTH)
    focus = _best_line(shown)
    first, page = hit.metadata.get("line_start"), hit.metadata.get("page")
    line = first + hit.text.count("\n", 0, shown.start + focus) if isinstance(first, int) else None
    before, after = "…" if shown.start else "", "…" if shown.start + len(shown.text) < len(hit.text) else ""
    lead = len(before)
    marks = tuple((start + lead, end + lead) for start, end in shown.spans)
    excerpt = f"{before}{shown.text}{after}"
    return Citation(
        hit.pointer, line, page if isinstance(page, int) else None, excerpt, marks, focus + lead if focus else 0
    )


def _best_line(shown: Snippet) -> int:
    """Where in the snippet the line with the most different matches begins; the first of several such lines."""
    found: dict[int, set[str]] = {}
    for start, end in shown.spans:
        found.setdefault(shown.text.rfind("\n", 0, start) + 1, set()).add(shown.text[start:end].lower())
    return max(found, key=lambda at: (len(found[at]), -at), default=0)
