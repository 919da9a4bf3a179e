"""A book's text as its sections, each with the headings above it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ir.book.plain import headings_of
from ir.strategy.markdown import outline_of

__all__ = ["Section", "sections_of", "slug"]


@dataclass(frozen=True)
class Section:
    """``text[start:end]`` from its heading to the next one. ``id`` is that of its artifact, ``above`` its parent's.

    What stands before the first heading has no ``path``.
    """

    id: str
    path: tuple[str, ...]
    start: int
    end: int
    above: str | None

    @property
    def title(self) -> str:
        return self.path[-1] if self.path else ""


def sections_of(item_id: str, text: str, *, plain: bool = False) -> Iterator[Section]:
    """The sections of a text, in order. Their ids come from the headings, so that they stay when others move.

    Headings are those of Markdown; in a ``plain`` text also lines that look like headings.

    >>> [(one.id, one.path, one.above) for one in sections_of("b", "# Fire\\nx\\n## Fireball\\ny\\n# Ice\\nz")]
    [('b#fire', ('Fire',), None), ('b#fire/fireball', ('Fire', 'Fireball'), 'b#fire'), ('b#ice', ('Ice',), None)]
    """
    headings = headings_of(text) if plain else outline_of(text).headings
    starts = [heading.start for heading in headings]
    if not headings or text[: starts[0]].strip():
        yield Section(item_id, (), 0, starts[0] if starts else len(text), None)
    used: Counter[str] = Counter()
    open_: list[tuple[int, str]] = []
    for number, heading in enumerate(headings):
        while open_ and open_[-1][0] >= heading.level:
            open_.pop()
        above = open_[-1][1] if open_ else None
        base = f"{above}/{slug(heading.title)}" if above else f"{item_id}#{slug(heading.title)}"
        used[base] += 1
        section_id = base if used[base] == 1 else f"{base}-{used[base]}"
        open_.append((heading.level, section_id))
        end = starts[number + 1] if number + 1 < len(starts) else len(text)
        yield Section(section_id, heading.trail, heading.start, end, above)


def slug(title: str) -> str:
    """A heading as part of an id."""
    return re.sub(r"[^\w.()]+", "-", title.casefold()).strip("-") or "section"
