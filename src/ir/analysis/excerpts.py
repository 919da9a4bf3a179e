"""The stretch of a text that is shown as the answer: whole sentences and lines, never a heading alone."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from ir.analysis.analyzer import Analyzer, Token
from ir.analysis.snippets import Snippet, merged, snippet

__all__ = ["Excerpt", "excerpt"]

_BREAK = re.compile(r"\n|(?<=[.!?])[\"'”’)\]]*[ \t]+(?=[\"'“‘(\[]?[A-Z0-9À-ÖØ-Þ*`])|(?<=[。！？])")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_RULE = re.compile(r"[-=*_~`:|+#<>/\\\s]+$")
_FENCE = re.compile(r" {0,3}(?:`{3,}|~{3,})")
#: With what a fence, and a line that is only drawn, can begin.
_FENCES, _RULES = frozenset("`~"), frozenset("-=*_~`:|+#<>/\\")
_NONE: frozenset[str] = frozenset()
#: A section that is called as what is asked for is about it: its heading counts a little more than any sentence.
_IN_HEADING = 1.1

#: Windows whose words are about as close together are judged by how many there are.
_CLOSE = 160


class _Part(NamedTuple):
    """A sentence, or a line of what has none."""

    start: int
    end: int
    heading: bool
    weight: float
    #: What each of its terms stands for.
    share: float
    terms: frozenset[str]


class Excerpt(NamedTuple):
    """``shown`` is the stretch; ``focus`` is where in it the sentence or line begins that has most of the query."""

    shown: Snippet
    focus: int


def excerpt(analyzer: Analyzer, text: str, terms: Collection[str], width: int, *, headings: bool = False) -> Excerpt:
    """The stretch of about ``width`` characters that has most of the query's words and goes on after them.

    A word that the whole text is full of tells less about where to look than one that comes once. Without any word it
    is the beginning of the body. With ``headings``, lines that begin with ``#`` are such.
    """
    tokens = analyzer.tokens(text, only=terms)
    parts = _parts(text, tokens, headings=headings)
    if not parts:
        return Excerpt(snippet(analyzer, text, terms, width), 0)
    first, focus = _best(parts, width)
    start = parts[first].start
    end = _end(text, parts, first, width)
    if focus is None or parts[focus].end - start > width:
        # A sentence that is longer than what can be shown: the best of it.
        at = parts[first if focus is None else focus]
        if at.terms:
            inner = snippet(analyzer, text[at.start : at.end], terms, width)
            start, end = at.start + inner.start, at.start + inner.start + len(inner.text)
    place = start if focus is None else max(start, parts[focus].start)
    inside = [Token(t.start - start, t.end - start, t.terms) for t in tokens if t.start >= start and t.end <= end]
    return Excerpt(Snippet(text[start:end], merged(inside), start), place - start)


def _parts(text: str, tokens: Sequence[Token], *, headings: bool) -> list[_Part]:
    counts = Counter([term for token in tokens for term in token.terms])
    worth = {term: 1 / (1 + math.log(count)) for term, count in counts.items()}
    found: list[_Part] = []
    fenced, place, at = False, 0, 0
    for end in [*[match.end() for match in _BREAK.finditer(text)], len(text)]:
        start, place = place, end
        line = text[start:end]
        bare = line.strip()
        sign = bare[:1]
        if sign in _FENCES and _FENCE.match(line):
            fenced = not fenced
        if not bare or (sign in _RULES and _RULE.match(line)):
            continue
        held: set[str] = set()
        while at < len(tokens) and tokens[at].start < end:
            if tokens[at].start >= start:
                held.update(tokens[at].terms)
            at += 1
        heading = headings and sign == "#" and not fenced and _HEADING.match(line) is not None
        low, high = start + len(line) - len(line.lstrip("\n")), start + len(line.rstrip())
        if not held:
            found.append(_Part(low, high, heading, 0.0, 0.0, _NONE))
            continue
        weight = sum([worth[term] for term in held]) * (_IN_HEADING if heading else 1)
        found.append(_Part(low, high, heading, weight, weight / len(held), frozenset(held)))
    return found


def _best(parts: Sequence[_Part], width: int) -> tuple[int, int | None]:
    """With which part to begin, and the one with most of the query; ``None`` for the latter if none has any."""
    best, best_rank = None, (0.0, 0, 0.0, 0)
    for first, part in enumerate(parts):
        if not part.terms:
            continue
        rank = _rank(parts, first, width)
        if best is None or rank > best_rank:
            best, best_rank = first, rank
    if best is None:
        body = next((index for index, part in enumerate(parts) if not part.heading), 0)
        return body, None
    inside = [index for index in range(best, len(parts)) if parts[index].end - parts[best].start <= width] or [best]
    focus = max(inside, key=lambda index: (parts[index].weight, -index))
    return _led(parts, best, focus, width), focus


def _led(parts: Sequence[_Part], first: int, focus: int, width: int) -> int:
    """With the line before, if that leaves two thirds of the room to what follows: it says what is spoken of."""
    if first == 0:
        return first
    before = parts[first - 1]
    shown = parts[focus].end - before.start
    return first - 1 if shown <= width // 3 else first


def _rank(parts: Sequence[_Part], first: int, width: int) -> tuple[float, int, float, int]:
    """How much of the query the window from ``first`` on holds: different words, close together, often.

    A heading counts if some of what it is about is in the window too.
    """
    held: dict[str, float] = {}
    total, begin, needed = 0.0, parts[first].start, 0
    limit = begin + width
    waiting: list[_Part] = []
    for index in range(first, len(parts)):
        part = parts[index]
        if part.end > limit and index != first:
            break
        if part.heading:
            waiting.append(part)
            continue
        for one in (*waiting, part):
            for term in one.terms:
                if held.get(term, 0.0) < one.share:
                    held[term] = one.share
                    needed = part.end - begin
            total += one.weight
        waiting.clear()
    return round(sum(held.values()), 6), -needed // _CLOSE, round(total, 6), -first


def _end(text: str, parts: Sequence[_Part], first: int, width: int) -> int:
    """Where a window ends: after the last sentence that fits, if it fills most of it, else between words."""
    begin = parts[first].start
    limit = begin + width
    whole = max((part.end for part in parts[first:] if part.end <= limit), default=0)
    if whole >= begin + width * 2 // 3 or whole >= parts[-1].end:
        return whole
    if limit >= len(text):
        return len(text.rstrip())
    gap = max(text.rfind(" ", begin, limit + 1), text.rfind("\n", begin, limit + 1))
    end = limit if gap <= begin + width // 2 else gap
    return begin + len(text[begin:end].rstrip())
