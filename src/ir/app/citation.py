"""Where a hit can be read, and the few words of it that answer best."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ir.app.operation import Value
from ir.base import CELL_STARTS, PAGE_LABELS, PAGE_STARTS, SECTION_STARTS, heading_of
from ir.secrets.texts import for_show

if TYPE_CHECKING:
    from ir.analysis import Analyzer
    from ir.base import SearchHit

__all__ = ["Citation", "cite"]

WIDTH = 360

#: Formats in which a line that begins with # is a heading.
_WITH_HEADINGS = ("markdown", "html", "ipynb", "pdf", None)

Span = tuple[int, int]


@dataclass(frozen=True)
class Citation(Value):
    """A place to open and an excerpt.

    ``line`` is where the best of the excerpt begins and ``end_line`` where the excerpt ends; ``first_line`` and
    ``last_line`` are those of the whole text that was found. All count from one, in the file.
    ``marks`` are the stretches of the excerpt that match the query; at ``focus`` the line begins that is cited.
    ``heading`` is the title and the section, or the definition, that this line is in. ``page`` counts from one;
    ``page_label`` is what is printed on that page.
    """

    path: str | None
    line: int | None
    page: int | None
    excerpt: str
    marks: tuple[Span, ...]
    focus: int = 0
    heading: str = ""
    cell: int | None = None
    end_line: int | None = None
    first_line: int | None = None
    last_line: int | None = None
    page_label: str | None = None


def cite(hit: SearchHit, terms: Collection[str], analyzer: Analyzer) -> Citation:
    """The citation of a hit for a query's terms: line, page, cell and heading are those of the excerpt's best part."""
    from ir.analysis.excerpts import excerpt

    text = for_show(hit.text)  # before it is cut, for half a key cannot be told
    shown, focus = excerpt(analyzer, text, terms, WIDTH, headings=hit.metadata.get("format") in _WITH_HEADINGS)
    place = shown.start + focus
    first = hit.metadata.get("line_start")
    line = end = last = None
    if isinstance(first, int):
        line = first + text.count("\n", 0, place)
        end = line + text.count("\n", place, shown.start + len(shown.text.rstrip()))
        last = hit.metadata.get("line_end")
        last = last if isinstance(last, int) else first + text.count("\n")
    before, after = "…" if shown.start else "", "…" if shown.start + len(shown.text) < len(text) else ""
    lead = len(before)
    return Citation(
        path=hit.pointer,
        line=line,
        page=_number_at(hit, "page", PAGE_STARTS, place),
        excerpt=f"{before}{shown.text}{after}",
        marks=tuple((start + lead, end + lead) for start, end in shown.spans),
        focus=focus + lead if focus else 0,
        heading=_heading_at(hit, text, place),
        cell=_number_at(hit, "cell", CELL_STARTS, place),
        end_line=end,
        first_line=first if isinstance(first, int) else None,
        last_line=last,
        page_label=_label_at(hit, place),
    )


def _number_at(hit: SearchHit, name: str, starts: str, place: int) -> int | None:
    """The page or cell that a place in the hit's text is on."""
    number = hit.metadata.get(name)
    return number + len(_before(hit, starts, place)) if isinstance(number, int) else None


def _label_at(hit: SearchHit, place: int) -> str | None:
    """What is printed on the page that a place in the hit's text is on."""
    page = _number_at(hit, "page", PAGE_STARTS, place)
    if page is None:
        return None
    labels, passed = hit.metadata.get(PAGE_LABELS), len(_before(hit, PAGE_STARTS, place))
    return str(labels[passed]) if isinstance(labels, list) and passed < len(labels) else str(page)


def _heading_at(hit: SearchHit, text: str, place: int) -> str:
    """The title, and the section that a place in the hit's text is in."""
    passed = len(_before(hit, SECTION_STARTS, place))
    sections = hit.metadata.get("sections")
    if passed and isinstance(sections, list) and passed <= len(sections):
        return heading_of({**hit.metadata, "section": sections[passed - 1]})
    if sections is None and "\n#" in text and hit.metadata.get("format") in _WITH_HEADINGS:
        # Its corpus was built before chunks knew their sections.
        from ir.strategy.markdown import outline_of

        inside = [heading for heading in outline_of(text).headings if 0 < heading.start <= place]
        if inside:
            return heading_of({**hit.metadata, "section": " > ".join(inside[-1].trail)})
    return heading_of(hit.metadata)


def _before(hit: SearchHit, starts: str, place: int) -> list[int]:
    found = hit.metadata.get(starts)
    return [start for start in found if isinstance(start, int) and start <= place] if isinstance(found, list) else []
