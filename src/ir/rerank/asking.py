"""Asking a reranker that does not watch the clock itself, such as a user's function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ir.config import Settings
from ir.errors import RerankError
from ir.protocols import Reranker
from ir.rerank.breaker import CircuitBreaker
from ir.waiting import TookTooLong, within

__all__ = ["asked", "name_of"]

#: A reranker with its own deadline can explain better why it is late, so it gets this much longer.
_GRACE_S = 0.1


def asked(reranker: Reranker, query: str, segments: Sequence[Mapping[str, Any]]) -> Any:
    """What the reranker answers by its deadline; anything else is a :class:`~ir.errors.RerankError`.

    The deadline is the reranker's ``deadline_ms``, else the setting. Python cannot end a call from outside: one that
    is late goes on in a thread of its own, and its answer is not waited for. A reranker with a ``breaker``
    (:class:`~ir.rerank.breaker.CircuitBreaker`) is not asked while that rests.
    """
    breaker: CircuitBreaker | None = getattr(reranker, "breaker", None)
    if breaker is None:
        return _asked(reranker, query, segments)
    breaker.check(name_of(reranker))
    try:
        answer = _asked(reranker, query, segments)
    except RerankError:
        breaker.failed()
        raise
    breaker.succeeded()
    return answer


def _asked(reranker: Reranker, query: str, segments: Sequence[Mapping[str, Any]]) -> Any:
    if getattr(reranker, "keeps_deadline", False):
        return reranker(query, segments)
    deadline_ms = int(getattr(reranker, "deadline_ms", None) or Settings.load()["rerank.deadline_ms"])
    name = name_of(reranker)

    def work() -> Any:
        answer = reranker(query, segments)
        # A generator only does its work as it is read.
        return list(answer) if isinstance(answer, Iterator) else answer

    try:
        return within(deadline_ms / 1e3 + _GRACE_S, work, "ir-rerank")
    except TookTooLong:
        raise RerankError(
            f"The reranker {name!r} did not answer within {deadline_ms} ms.",
            remedy="Rerank fewer candidates (fetch_k), or raise rerank.deadline_ms.",
        ) from None
    except RerankError:
        raise
    except Exception as error:
        said = " ".join(str(error).split())[:300].rstrip(".")
        kind = type(error).__name__
        raise RerankError(f"The reranker {name!r} failed: {f'{kind}: {said}' if said else kind}.") from error


def name_of(reranker: Any) -> str:
    """What to call a reranker in a sentence."""
    found = getattr(reranker, "id", None) or getattr(reranker, "__name__", None) or type(reranker).__name__
    return str(found)
