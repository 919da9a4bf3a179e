"""Text without the marks of its format."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

_TAG = re.compile(r"<[^>]{1,200}>")
_ROLE = re.compile(r":[\w:.+-]+:`~?([^`<]{0,120}?)(?:\s*<[^>`]*>)?`")
_LINK = re.compile(r"!?\[([^\]]{0,200})\]\([^)]{0,300}\)|`([^`<]{1,120}?)\s*<[^>`]*>`_+|\bhttps?://\S+")
_DIRECTIVE = re.compile(r"^[ \t]*(\.\. |:\w[\w ]*:|#+ |[-=~^\"'*+#]{3,}$|\|[-| ]+\||>>> |\.\.\. ).*$", re.M)
_HEADING = re.compile(r"^[ \t]*#+ ", re.M)
_MARKS = re.compile(r"[`*|]+|\\(?=[_*`])|(?<!\w)_+|_+(?!\w)")
_WORDS = re.compile(r"[A-Za-z]{2,}")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(])")


def plain(text: str) -> str:
    """On one line, with single spaces."""
    return " ".join(text.split())


def without_markup(text: str) -> str:
    """What a reader of the finished page would see, on one line."""
    text = html.unescape(_TAG.sub(" ", text))
    text = _ROLE.sub(r"\1", text)
    text = _LINK.sub(lambda found: found[1] or found[2] or "", text)
    text = _DIRECTIVE.sub("", _HEADING.sub("", text))
    return plain(_MARKS.sub("", text))


def is_prose(text: str) -> bool:
    """Whether a text is at least three words of Latin letters and is not mostly signs."""
    if len(text) < 12 or text.startswith((">>>", "$", "Copyright", "http")):
        return False
    words = _WORDS.findall(text)
    return len(words) >= 3 and sum(map(len, words)) > 0.62 * len(text) - 2


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text on one line."""
    yield from (part for part in _SENTENCE.split(text) if part)
