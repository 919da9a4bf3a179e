"""How long may an answer be? Lengths are in tokens, by the estimate that :func:`ir.app.documents.tokens_of` makes."""

from __future__ import annotations

import base64
import json
from hashlib import blake2b
from typing import Any

from ir.app.documents import tokens_of
from ir.errors import InvalidInput

__all__ = ["Cursor", "cost", "shortened"]


def cost(value: Any) -> int:
    """About how many tokens a value takes as JSON."""
    return tokens_of(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str))


def shortened(text: str, tokens: int) -> str:
    """The beginning of a text, as much as fits, with a sign that there is more.

    >>> shortened("one two three four five six", 4)
    'one two…'
    """
    if tokens_of(text) <= tokens:
        return text
    keep = max(1, int(len(text) * tokens / tokens_of(text)) - 2)
    while keep > 1 and tokens_of(text[:keep]) >= tokens:
        keep = keep * 9 // 10
    cut = text[:keep]
    at = max(cut.rfind(" "), cut.rfind("\n"))
    return f"{(cut[:at] if at > keep // 2 else cut).rstrip()}…"


class Cursor:
    """Where to go on: how many results were shown, of which question, and of which version of the corpora.

    >>> cursor = Cursor.of({"query": "tea"}, "v1")
    >>> Cursor.read(cursor.at(10), {"query": "tea"})
    (10, 'v1')
    """

    def __init__(self, question: str, version: str) -> None:
        self._question = question
        self._version = version

    @classmethod
    def of(cls, arguments: dict[str, Any], version: str) -> Cursor:
        return cls(_mark(arguments), version)

    def at(self, shown: int) -> str:
        """The cursor after so many results."""
        told = f"{shown}.{self._question}.{self._version}"
        return base64.urlsafe_b64encode(told.encode()).decode().rstrip("=")

    @staticmethod
    def read(cursor: str, arguments: dict[str, Any]) -> tuple[int, str]:
        """How many results were shown, and of which version."""
        try:
            told = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
            shown, question, version = told.split(".", 2)
            number = int(shown)
        except (ValueError, UnicodeError):
            raise InvalidInput("This is not a cursor.", remedy="Give `cursor` as the last answer had it.") from None
        if question != _mark(arguments) or not 0 < number <= 1000:
            raise InvalidInput(
                "The cursor belongs to another question.",
                remedy="Repeat the arguments of the call that it came from, or leave it out.",
            )
        return number, version


def _mark(arguments: dict[str, Any]) -> str:
    told = json.dumps(arguments, sort_keys=True, default=str).encode("utf-8", "surrogatepass")
    return blake2b(told, digest_size=6).hexdigest()
