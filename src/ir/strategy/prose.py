"""What a Markdown text says in sentences: its paragraphs and list items, without code, tables and headings."""

from __future__ import annotations

import re

from ir.strategy.markdown import outline_of

__all__ = ["prose_of"]

_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,9}[.)])\s+")
#: The line between the header of a table and its rows; the others need not begin with a bar.
_TABLE_RULE = re.compile(r"\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?\s*|\s*\|\s*:?-+:?\s*\|\s*")
_RULE = re.compile(r"\s*(?:[-*_=]\s*){3,}")
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)\s]*\)")
_LINK = re.compile(r"\[([^\]]*)\]\([^)\s]*\)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_MARKS = re.compile(r"[`*]+|(?<!\w)_+|_+(?!\w)")


def prose_of(text: str) -> list[str]:
    r"""The paragraphs of a text, each on one line, without the marks of links and emphasis.

    >>> prose_of("# Tea\n\nSteep *green* tea\nat 80 degrees.\n\n| kind | time |\n|---|---|\n| green | 2 |\n")
    ['Steep green tea at 80 degrees.']
    """
    text = _COMMENT.sub("", text)
    blocks: list[list[str]] = [[]]
    for line in _sentences(text):
        item = _ITEM.match(line)
        if item or not line.strip():
            blocks.append([])
        blocks[-1].append(line[item.end() :] if item else line)
    joined = (" ".join(_plain(line) for line in block) for block in blocks)
    return [" ".join(block.split()) for block in joined if block.strip()]


def _sentences(text: str) -> list[str]:
    """The lines that are neither code nor a table nor a heading; a blank one stands for what was left out."""
    outline = outline_of(text)
    headings = {heading.start for heading in outline.headings}
    fences = iter([*outline.fences, (len(text) + 1, len(text) + 1)])
    fence = next(fences)
    kept: list[str] = []
    in_table, at = False, 0
    for line in text.splitlines(keepends=True):
        start, at = at, at + len(line)
        while start >= fence[1]:
            fence = next(fences)
        if _TABLE_RULE.fullmatch(line) and kept and "|" in kept[-1] + line:
            kept[-1], in_table = "", True
        in_table = in_table and "|" in line
        dropped = start >= fence[0] or start in headings or in_table or line.lstrip().startswith("|")
        kept.append("" if dropped or _RULE.fullmatch(line.rstrip()) else line.rstrip())
    return kept


def _plain(line: str) -> str:
    return _MARKS.sub("", _LINK.sub(r"\1", _IMAGE.sub("", line)))
