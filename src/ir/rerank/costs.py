"""What reranking costs: prices that the user has set, and what was spent by them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["SPENT", "Price", "Spending", "Usage"]


class Usage(NamedTuple):
    """What a server billed for one answer: searches, and tokens if it said how many."""

    searches: int = 1
    tokens: int | None = None

    @classmethod
    def of_answer(cls, answer: Any) -> Usage:
        """As Cohere (``meta.billed_units``), Jina and Voyage (``usage``) tell it; one search if nothing is told.

        >>> Usage.of_answer({"meta": {"billed_units": {"search_units": 2}}})
        Usage(searches=2, tokens=None)
        """
        meta = answer.get("meta") if isinstance(answer, Mapping) else None
        billed = meta.get("billed_units") if isinstance(meta, Mapping) else None
        used = answer.get("usage") if isinstance(answer, Mapping) else None
        searches = _count(billed, "search_units")
        return cls(1 if searches is None else searches, _count(used, "total_tokens"))


def _count(told: Any, name: str) -> int | None:
    value = told.get(name) if isinstance(told, Mapping) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        return None
    return int(value)


@dataclass(frozen=True)
class Price:
    """US dollars for 1,000 searches and for a million tokens; ``None`` where nobody has set it."""

    searches: float | None = None
    tokens: float | None = None

    def of(self, usage: Usage, characters: int) -> float | None:
        """The cost of an answer; ``None`` without a price. Tokens that were not told are a quarter of the characters.

        >>> Price(searches=2.0).of(Usage(), 100), Price(tokens=0.05).of(Usage(1, 2_000_000), 9), Price().of(Usage(), 9)
        (0.002, 0.1, None)
        """
        if self.searches is None and self.tokens is None:
            return None
        tokens = usage.tokens if usage.tokens is not None else characters / 4
        return usage.searches * (self.searches or 0.0) / 1e3 + tokens * (self.tokens or 0.0) / 1e6


class Spending:
    """Adds up what a reranker cost in this process; threads may share one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._usd = 0.0
        self._calls = 0

    def add(self, usd: float | None) -> None:
        with self._lock:
            self._usd += usd or 0.0
            self._calls += 1

    @property
    def usd(self) -> float:
        with self._lock:
            return self._usd

    @property
    def calls(self) -> int:
        """How many answers were paid for."""
        with self._lock:
            return self._calls


#: What all rerankers of this process cost.
SPENT = Spending()
