"""The outline of a Markdown text: its headings and fenced code blocks, found in one pass."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

__all__ = ["Heading", "Outline", "first_title", "outline_of"]

# One alternation so that a text is scanned once. Underlined headings are seen at their underline.
_MARK = re.compile(
    r"^ {0,3}(?:(?P<hashes>#{1,6})(?:[ \t]+(?P<title>[^\n]*))?$"
    # Further backticks on the line make it code within a paragraph.
    r"|(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})|(?P<rule>={3,}|-{3,})[ \t\r]*$)",
    re.MULTILINE,
)
# Hashes may close a heading after a space; those of "C#" are part of the word.
_CLOSING = re.compile(r"(?:^|[ \t])#+$")
_FRONT_TITLE = re.compile(r"^title:[ \t]*(\S[^\n]*)$", re.MULTILINE)
_NO_PARAGRAPH = ("#", ">", "|", "-", "*", "+", "=", "`", "~")
_FRONT_LIMIT = 64 * 1024
_TITLE_LIMIT = 200


@dataclass(frozen=True)
class Heading:
    """A heading: where its line starts, its level, and the trail of titles that leads to it."""

    start: int
    level: int
    title: str
    trail: tuple[str, ...]


@dataclass
class Outline:
    """Headings in order of their start, and fenced blocks as ``[start, end)``."""

    headings: list[Heading] = field(default_factory=list)
    fences: list[tuple[int, int]] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)
    _trails: list[tuple[str, ...]] = field(default_factory=list)

    def trail_at(self, position: int) -> tuple[str, ...]:
        """The titles above ``position``; directly nested headings with nothing between them count as one."""
        index = bisect_right(self._starts, position) - 1
        return self._trails[index] if index >= 0 else ()

    def fence_at(self, position: int) -> tuple[int, int] | None:
        """The fenced block that a cut at ``position`` would split."""
        index = bisect_right(self.fences, (position, -1)) - 1
        if index >= 0 and self.fences[index][0] < position < self.fences[index][1]:
            return self.fences[index]
        return None

    def starts_in(self, low: int, high: int) -> list[int]:
        """The starts of the headings in ``[low, high)``."""
        return self._starts[bisect_right(self._starts, low - 1) : bisect_right(self._starts, high - 1)]

    def heading_in(self, low: int, high: int) -> int | None:
        """The start of the first heading in ``[low, high)``."""
        index = bisect_right(self._starts, low - 1)
        return self._starts[index] if index < len(self._starts) and self._starts[index] < high else None


def outline_of(text: str) -> Outline:
    """The outline of a text.

    >>> [h.trail for h in outline_of("# A\\n\\nx\\n\\n## B\\n").headings]
    [('A',), ('A', 'B')]
    """
    found: list[tuple[int, int, str]] = []
    fences: list[tuple[int, int]] = []
    fence: tuple[str, int] | None = None
    for mark in _MARK.finditer(text):
        ticks = mark["fence"]
        if fence is not None:
            if ticks and ticks[0] == fence[0][0] and len(ticks) >= len(fence[0]) and _line_rest_blank(text, mark.end()):
                fences.append((fence[1], _line_end(text, mark.end())))
                fence = None
        elif ticks:
            fence = (ticks, mark.start())
        elif mark["hashes"]:
            found.append((mark.start(), len(mark["hashes"]), _plain(mark["title"] or "")))
        else:
            underlined = _underlined(text, mark.start())
            if underlined is not None:
                found.append((underlined[0], 1 if mark["rule"][0] == "=" else 2, underlined[1]))
    if fence is not None:
        fences.append((fence[1], len(text)))
    return _outline(text, found, fences)


def first_title(text: str, *, anywhere: bool = True) -> str | None:
    """The title a Markdown text gives itself: in its front matter, else its first level-one heading.

    With ``anywhere=False`` the heading must open the text.
    """
    body = 0
    if text.startswith(("---\n", "---\r\n")):
        close = text.find("\n---", 3, _FRONT_LIMIT)
        if close > 0:
            named = _FRONT_TITLE.search(text, 4, close + 1)
            if named:
                return named[1].strip().strip("\"'").strip()[:_TITLE_LIMIT] or None
            body = close + 4
    if not anywhere:
        opening = text[body : body + 2000].lstrip("\n\r- ")
        return _plain(opening[2:].partition("\n")[0])[:_TITLE_LIMIT] or None if opening.startswith("# ") else None
    for heading in outline_of(text).headings:
        if heading.level == 1 and heading.title:
            return heading.title
    return None


def _outline(text: str, found: list[tuple[int, int, str]], fences: list[tuple[int, int]]) -> Outline:
    headings: list[Heading] = []
    path: list[tuple[int, str]] = []
    for start, level, title in found:
        while path and path[-1][0] >= level:
            path.pop()
        path.append((level, title))
        headings.append(Heading(start, level, title, tuple(name for _, name in path if name)))
    trails = [heading.trail for heading in headings]
    for index in range(len(headings) - 2, -1, -1):
        here, below = headings[index], headings[index + 1]
        nested = below.level > here.level
        if nested and not text[_line_end(text, here.start) : below.start].strip("=- \t\r\n"):
            trails[index] = trails[index + 1]
    return Outline(headings, fences, [heading.start for heading in headings], trails)


def _plain(title: str) -> str:
    return _CLOSING.sub("", title.strip()).rstrip()[:_TITLE_LIMIT]


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1


def _line_rest_blank(text: str, position: int) -> bool:
    return not text[position : _line_end(text, position)].strip()


def _underlined(text: str, rule: int) -> tuple[int, str] | None:
    """The one-line paragraph right above a rule: then the rule makes it a heading."""
    if rule == 0:
        return None
    start = text.rfind("\n", 0, rule - 1) + 1
    title = text[start : rule - 1].strip()
    if not title or len(title) > _TITLE_LIMIT or title.startswith(_NO_PARAGRAPH):
        return None
    before = text[text.rfind("\n", 0, max(start - 1, 0)) + 1 : max(start - 1, 0)]
    return None if before.strip() else (start, title)
