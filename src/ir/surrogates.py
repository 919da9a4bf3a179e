"""Halves of characters: what no encoding can store."""

from __future__ import annotations

import re

__all__ = ["storable"]

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def storable(text: str) -> str:
    """``text`` with U+FFFD for halves of surrogate pairs, which no encoding can store; the length stays the same.

    >>> storable("cut emoji \\ud83d") == "cut emoji \\ufffd"
    True
    """
    if text.isascii():
        return text
    try:
        text.encode()  # quicker than any search for what is hardly ever there
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub("\ufffd", text)
    return text
