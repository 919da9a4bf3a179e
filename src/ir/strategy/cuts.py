"""Where to cut a text: spans of bounded size that end where a reader would pause."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ir.strategy.markdown import Outline

__all__ = ["Cutter"]

_PARAGRAPH = re.compile(r"\n[ \t\r]*(?=\n)")
_SENTENCE = re.compile(r"[.!?][\"'”’)\]]*(?=\s)|[。！？]")
_LINE = re.compile(r"\n")
_WORD = re.compile(r"\s")
_NOT_BLANK = re.compile(r"\S")

#: How far back from the limit each kind of boundary is looked for, as a share of the chunk; the first found wins.
_PROSE_BREAKS = ((_PARAGRAPH, 1 / 2), (_SENTENCE, 1 / 2), (_LINE, 1 / 2), (_WORD, 2 / 3))
_CODE_BREAKS = ((_PARAGRAPH, 1 / 2), (_LINE, 2 / 3), (_WORD, 2 / 3))


@dataclass(frozen=True)
class Cutter:
    """Cuts a text into spans of at most ``size`` characters; neighbours share about ``overlap`` of them.

    A heading starts a new span once the current one is a third full, and nothing of the section before it is
    repeated there. Otherwise a span repeats the end of the one before: ``overlap`` characters after a full span,
    proportionally fewer after a short one, so every step moves on by at least ``(size - overlap) / 3``.
    ``fits``, if given, can refuse a span (a token budget); it is cut shorter until accepted.
    """

    size: int
    overlap: int
    prose: bool = True
    outline: Outline = field(default_factory=Outline)
    fits: Callable[[int, int], bool] | None = None

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """The spans, in order, without blank edges; together they hold every non-blank character."""
        finish = len(text.rstrip())
        position = reached = 0
        while position < finish:
            start = self._opening(text, position)
            end, at_heading = self._end(text, start, finish)
            stop = start + len(text[start:end].rstrip())
            if stop > reached:
                yield start, stop
                reached = stop
            position = end if at_heading or end >= finish else self._restart(text, start, end)

    def _opening(self, text: str, position: int) -> int:
        """The first character at or after ``position`` that is not blank, or the indentation before it."""
        found = _NOT_BLANK.search(text, position)
        first = found.start() if found else position
        line = text.rfind("\n", position, first) + 1
        indented = line > position or position == 0 or text[position - 1] == "\n"
        begin = max(line, position) if indented else first
        return begin if first - begin <= self.size // 3 else first

    def _end(self, text: str, start: int, finish: int) -> tuple[int, bool]:
        room = self.size
        while True:
            end, at_heading = self._cut(text, start, room, finish)
            if self.fits is None or end - start <= 1 or self.fits(start, end):
                return end, at_heading
            room = max(1, min(room, end - start) * 3 // 4)

    def _cut(self, text: str, start: int, room: int, finish: int) -> tuple[int, bool]:
        limit = start + room
        heading = self.outline.heading_in(start + max(1, room // 3), min(limit + 1, finish))
        if heading is not None:
            return heading, True
        if limit >= finish:
            return finish, False
        fence = self.outline.fence_at(limit)
        if fence is not None and fence[0] > start + room // 3:
            return fence[0], False
        prose = self.prose and fence is None
        for boundary, share in _PROSE_BREAKS if prose else _CODE_BREAKS:
            cut = self._last(text, boundary, start + max(1, int(room * share)), limit, whole_fences=fence is None)
            if cut is not None:
                return cut, False
        return limit, False

    def _last(self, text: str, boundary: re.Pattern[str], low: int, high: int, *, whole_fences: bool) -> int | None:
        """The end of the last boundary in ``[low, high]`` that splits no fenced block."""
        best = None
        for match in boundary.finditer(text, max(low - 3, 0), min(high + 1, len(text))):
            end = match.end()
            if low <= end <= high and not (whole_fences and self.outline.fence_at(end)):
                best = end
        return best

    def _restart(self, text: str, start: int, end: int) -> int:
        """Where the span after ``[start, end)`` begins: at a sentence, line or word in the last part of it."""
        low = end - self.overlap * (end - start) // self.size
        if low >= end:
            return end
        low = max(low, start + 1)
        fence = self.outline.fence_at(low)
        if fence is not None and fence[1] <= end:
            return fence[1]
        for boundary in (_SENTENCE, _LINE, _WORD) if self.prose and fence is None else (_LINE, _WORD):
            match = boundary.search(text, low - 1, end - 1 if boundary is _WORD else low + (end - low) // 2)
            if match is not None:
                return max(low, match.end())
        between_words = text[end - 1].isspace() or text[end].isspace()
        return end if between_words else low
