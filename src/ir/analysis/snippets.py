"""Where the terms of a query stand in a text, and the stretch of it that shows them best."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from ir.analysis.analyzer import Analyzer, Token
from ir.errors import InvalidInput

__all__ = ["Snippet", "highlights", "merged", "snippet"]

Span = tuple[int, int]


class Snippet(NamedTuple):
    """A stretch of a text: ``text == original[start:start + len(text)]``; ``spans`` are places within it."""

    text: str
    spans: list[Span]
    start: int


def highlights(analyzer: Analyzer, text: str, terms: Collection[str]) -> list[Span]:
    """The places of ``text`` that give one of ``terms``, in order and without overlap.

    >>> from ir.analysis import analyzer_for
    >>> highlights(analyzer_for(), "Searching finds; a search_box too.", {"search"})
    [(0, 9), (19, 25)]
    """
    return merged(analyzer.tokens(text, only=terms))


def snippet(analyzer: Analyzer, text: str, terms: Collection[str], width: int = 240) -> Snippet:
    """The stretch of at most ``width`` characters with the most distinct ``terms``, cut between words.

    Among equals the one with more matches wins, then the earlier one; without a match it is the beginning.
    """
    if width < 1:
        raise InvalidInput(f"width must be at least 1, not {width!r}.")
    tokens = analyzer.tokens(text, only=terms)
    core = _best_window(tokens, width)
    start, end = _grown(text, core, width)
    inside = [Token(t.start - start, t.end - start, t.terms) for t in tokens if t.start >= start and t.end <= end]
    return Snippet(text[start:end], merged(inside), start)


def merged(tokens: Sequence[Token]) -> list[Span]:
    """The places of tokens, in order and without overlap."""
    spans: list[Span] = []
    for start, end in sorted((token.start, token.end) for token in tokens):
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return spans


def _best_window(tokens: Sequence[Token], width: int) -> Span:
    """The smallest span of the best run of matches that fits into ``width``."""
    best, best_rank = (0, 0), (0, 0)
    counts: dict[str, int] = {}
    left = distinct = 0
    for right, token in enumerate(tokens):
        for term in token.terms:
            held = counts.get(term, 0)
            counts[term] = held + 1
            distinct += not held
        while token.end - tokens[left].start > width and left < right:
            for term in tokens[left].terms:
                counts[term] -= 1
                distinct -= not counts[term]
            left += 1
        rank = (distinct, right - left)
        if rank > best_rank or best == (0, 0):
            best, best_rank = (tokens[left].start, token.end), rank
    return best


def _grown(text: str, core: Span, width: int) -> Span:
    """``core`` with as much text around it as fits, ending between words where there is white space to end at."""
    first, last = core[0], min(core[1], core[0] + width)
    room = width - (last - first)
    # A little more room after than before: what follows a match usually explains it.
    start = max(0, min(first - room // 3, len(text) - width))
    end = min(len(text), start + width)
    if 0 < start < first and not text[start - 1].isspace():
        gap = next((at for at in range(start, first) if text[at].isspace()), None)
        start = start if gap is None else gap
    if last < end < len(text) and not text[end].isspace():
        gap = next((at for at in range(end - 1, last - 1, -1) if text[at].isspace()), None)
        end = end if gap is None else gap
    while start < first and text[start].isspace():
        start += 1
    while end > max(last, start) and text[end - 1].isspace():
        end -= 1
    return start, end
