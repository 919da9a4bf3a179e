"""A line of a .gitignore as a regular expression whose time does not explode, however many stars it has.

What stands between two stars has a fixed length, so its first match is as good as any: once found it need not be looked
for again, which atomic groups say. The same holds for the folders between two ``**``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Rule", "rule_of"]

_NAME = "[^/]"
_FOLDERS = r"(?:[^/]+/)*"
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"\x21-\x7e",
    "lower": "a-z",
    "print": r"\x20-\x7e",
    "punct": r"\x21-\x2f\x3a-\x40\x5b-\x60\x7b-\x7e",
    "space": r" \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}


class Rule(NamedTuple):
    """``by_name``: it is about the last part of a path, wherever that is; else about the whole path."""

    pattern: str
    negated: bool
    folders_only: bool
    by_name: bool


class _Never(Exception):
    """The pattern matches nothing."""


def rule_of(line: str) -> Rule | None:
    """The rule of a line; ``None`` if it has none.

    >>> rule_of("!/docs/*.md")
    Rule(pattern='docs/[^/]*\\\\.md', negated=True, folders_only=False, by_name=False)
    """
    text = _trimmed(line.removesuffix("\r"))
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    text = text.removeprefix("!")
    folders_only = text.endswith("/")
    text = text.removesuffix("/")
    by_name = "/" not in text
    try:
        segments = _segments(text.removeprefix("/"))
    except _Never:
        return None
    pattern = _segment(segments[0]) if by_name else _path(segments)
    return Rule(pattern, negated, folders_only, by_name)


def _trimmed(line: str) -> str:
    """Without spaces at the end, unless a backslash keeps them."""
    kept = line.rstrip(" ")
    backslashes = len(kept) - len(kept.rstrip("\\"))
    return kept + " " if backslashes % 2 and len(kept) < len(line) else kept


#: A part of a path, as what stands between its stars; ``None`` for ``**``, any number of folders.
_Segment = list[str] | None


def _segments(text: str) -> list[_Segment]:
    found: list[_Segment] = []
    pieces = [""]
    stars = 0
    for token in [*_tokens(text), "/"]:
        if token == "/":
            found.append(None if stars > 1 and pieces == ["", ""] else pieces)
            pieces, stars = [""], 0
        elif token == "*":
            stars += 1
            if pieces[-1] or len(pieces) == 1:
                pieces.append("")
        else:
            pieces[-1] += token
    return found


def _tokens(text: str) -> Iterator[str]:
    """``/``, ``*``, and expressions for one character each."""
    place = 0
    while place < len(text):
        char = text[place]
        place += 1
        if char in "/*":
            yield char
        elif char == "?":
            yield _NAME
        elif char == "[":
            expression, place = _bracket(text, place)
            yield expression
        else:
            if char == "\\":
                if place == len(text):
                    raise _Never
                char = text[place]
                place += 1
            yield char if char == "/" else re.escape(char)


def _bracket(text: str, place: int) -> tuple[str, int]:
    """The expression of a set of characters that opened before ``place``, and where it ends; it never is a slash."""
    negated = text[place : place + 1] in ("!", "^")
    place += negated
    members: list[str] = []
    previous = ""
    first = True
    while first or text[place : place + 1] != "]":
        first = False
        if text.startswith("[:", place):
            end = text.find(":]", place)
            if end < 0 or text[place + 2 : end] not in _CLASSES:
                raise _Never
            members.append(_CLASSES[text[place + 2 : end]])
            previous, place = "", end + 2
            continue
        low, place = _member(text, place)
        if low == "-" and previous and text[place : place + 1] not in ("", "]"):
            high, place = _member(text, place)
            if previous <= high:
                members.append(f"{re.escape(previous)}-{re.escape(high)}")
            previous = ""
        else:
            members.append(re.escape(low))
            previous = low
    if negated:
        return f"(?!/)[^{''.join(members)}]" if members else _NAME, place + 1
    return f"(?!/)[{''.join(members)}]", place + 1


def _member(text: str, place: int) -> tuple[str, int]:
    if text[place : place + 1] == "\\":
        place += 1
    if place >= len(text):
        raise _Never
    return text[place], place + 1


def _segment(pieces: _Segment) -> str:
    if pieces is None:
        return f"{_NAME}*"
    if len(pieces) == 1:
        return pieces[0]
    between = "".join(f"(?>{_NAME}*?{piece})" for piece in pieces[1:-1])
    return f"{pieces[0]}{between}{_NAME}*{pieces[-1]}"


def _path(segments: list[_Segment]) -> str:
    """The segments between two ``**`` at their first place; those after the last one at the end."""
    groups: list[list[str]] = [[]]
    for segment in segments:
        if segment is None:
            if len(groups) == 1 or groups[-1]:
                groups.append([])
        else:
            groups[-1].append(_segment(segment))
    if len(groups) == 1:
        return "/".join(groups[0])
    start = "".join(f"{segment}/" for segment in groups[0])
    between = "".join(f"(?>(?:[^/]+/)*?{''.join(f'{segment}/' for segment in group)})" for group in groups[1:-1])
    end = _FOLDERS + "/".join(groups[-1]) if groups[-1] else ".+"
    return f"{start}{between}{end}"
