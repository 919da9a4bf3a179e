"""How an engine is asked for words alone, whoever it is: the values that go to it and come back.

A provider returns the best first, equal scores in the order of their ids, ranks counted from 1. A fault of its back
end, and a collection that it does not know, is a :class:`~ir.errors.KeywordError`; being cancelled is not a fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from ir.errors import InvalidInput

__all__ = ["KeywordProvider", "KeywordRequest", "KeywordResult", "ranked"]


@dataclass(frozen=True)
class KeywordRequest:
    """``filters`` must all hold, each as an exact match of a metadata value."""

    query: str
    collection: str
    top_k: int
    filters: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.query.strip():
            raise InvalidInput("The query is empty.")
        if self.top_k < 0:
            raise InvalidInput(f"top_k must be 0 or more, not {self.top_k}.")
        object.__setattr__(self, "filters", dict(self.filters or {}))


@dataclass(frozen=True)
class KeywordResult:
    """``score`` is on the back end's own scale."""

    document_id: str
    score: float
    rank: int


@runtime_checkable
class KeywordProvider(Protocol):
    """An engine that ranks the documents of a collection by words.

    ``name`` says what it is, as ``_meta.backend`` shows it. With ``top_k=0`` the back end is not asked.
    """

    name: str

    def search(self, request: KeywordRequest, *, timeout_s: float | None = None) -> Sequence[KeywordResult]: ...


def ranked(scores: Iterable[tuple[str, float]], top_k: int) -> list[KeywordResult]:
    """Scores as results: best first, equal ones by id, counted from 1.

    >>> [(one.document_id, one.rank) for one in ranked([("b", 1.0), ("c", 2.0), ("a", 1.0)], 2)]
    [('c', 1), ('a', 2)]
    """
    best = sorted(scores, key=lambda one: (-one[1], one[0]))[:top_k]
    return [KeywordResult(name, score, rank) for rank, (name, score) in enumerate(best, start=1)]
