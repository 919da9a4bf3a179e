"""Other names of the same thing, read with a question: ``AC`` is the armor class."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ir.analysis import Analyzer
from ir.errors import InvalidInput

__all__ = ["Aliases"]

#: So many names of other things are read with one question.
_MOST_ADDED = 12


class Aliases:
    """A table of names, each with its other names, or the other way round: ``{"AC": "Armor Class"}``.

    >>> from ir.analysis import analyzer_for
    >>> Aliases({"AC": "Armor Class", "hit points": ["HP"]}, analyzer_for("english")).read("What is my ac at 0 HP?")
    ('What is my ac (Armor Class) at 0 HP (hit points)?', ['Armor Class', 'hit points'])
    """

    def __init__(self, told: Mapping[str, Any], analyzer: Analyzer) -> None:
        self._others: dict[str, dict[str, None]] = {}
        self._exact: set[str] = set()
        for name, value in told.items():
            group = [str(name), *_names(name, value)]
            for one in group:
                held = self._others.setdefault(one.casefold(), {})
                held.update({other: None for other in group if other.casefold() != one.casefold()})
                if not analyzer.terms(one):
                    self._exact.add(one)  # "IT" is a name, and "it" a word
        longest = sorted({name for name in self._others if name}, key=len, reverse=True)
        words = "|".join(re.escape(name) for name in longest)
        self._pattern = re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE) if longest else None

    def read(self, text: str) -> tuple[str, list[str]]:
        """The text with the other names behind those that it says, and which they are."""
        added: list[str] = []
        if self._pattern is None:
            return text, added
        said = text.casefold()

        def named(match: re.Match[str]) -> str:
            name = match[0]
            exact = {one.casefold() for one in self._exact}
            if name.casefold() in exact and name not in self._exact:
                return name
            others = [one for one in self._others[name.casefold()] if one.casefold() not in said and one not in added]
            others = others[: _MOST_ADDED - len(added)]
            added.extend(others)
            return f"{name} ({', '.join(others)})" if others else name

        return self._pattern.sub(named, text), added


def _names(name: str, value: Any) -> list[str]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)) or not all(isinstance(one, str) for one in listed):
        raise InvalidInput(f"The aliases of {name!r} must be a text or a list of texts, not {value!r}.")
    return [one for one in listed if one.strip()]
