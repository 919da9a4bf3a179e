"""Asking a reranker that does not watch the clock itself, such as a user's function."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ir.config import Settings
from ir.errors import RerankError
from ir.protocols import Reranker
from ir.rerank.breaker import CircuitBreaker

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
    call = _Call(reranker, query, segments)
    if not call.ended.wait(deadline_ms / 1e3 + _GRACE_S):
        raise RerankError(
            f"The reranker {name_of(reranker)!r} did not answer within {deadline_ms} ms.",
            remedy="Rerank fewer candidates (fetch_k), or raise rerank.deadline_ms.",
        )
    return call.answer()


def name_of(reranker: Any) -> str:
    """What to call a reranker in a sentence."""
    found = getattr(reranker, "id", None) or getattr(reranker, "__name__", None) or type(reranker).__name__
    return str(found)


class _Call:
    """One call, in a thread that does not keep the process from ending."""

    def __init__(self, reranker: Reranker, query: str, segments: Sequence[Mapping[str, Any]]) -> None:
        self.ended = threading.Event()
        self._name = name_of(reranker)
        self._answer: Any = None
        self._error: BaseException | None = None

        def work() -> None:
            try:
                answer = reranker(query, segments)
                # A generator only does its work as it is read.
                self._answer = list(answer) if isinstance(answer, Iterator) else answer
            except BaseException as error:
                self._error = error
            finally:
                self.ended.set()

        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(work,), name="ir-rerank", daemon=True).start()

    def answer(self) -> Any:
        if self._error is None:
            return self._answer
        if isinstance(self._error, RerankError) or not isinstance(self._error, Exception):
            raise self._error
        said = " ".join(str(self._error).split())[:300].rstrip(".")
        kind = type(self._error).__name__
        raise RerankError(
            f"The reranker {self._name!r} failed: {f'{kind}: {said}' if said else kind}."
        ) from self._error
