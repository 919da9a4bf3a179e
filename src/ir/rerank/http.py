"""Rerank servers in the style of Cohere, Jina and Voyage: ``POST /rerank`` with a query and documents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ir.endpoint import Endpoint
from ir.errors import RerankError
from ir.rerank.breaker import CircuitBreaker
from ir.rerank.costs import SPENT, Price, Spending, Usage
from ir.rerank.report import DFLT_DEADLINE_MS, Deadline, Reranked, texts_of

__all__ = ["HttpReranker"]

_MAX_CHARS = 16_000


class HttpReranker:
    """A model on a rerank server; a refusal, silence until the deadline or a wrong answer is a ``RerankError``.

    A search leaves it alone for a while when its ``breaker`` says so. ``spending`` adds up what it cost.
    """

    #: Its scores replace those of the first stage.
    weight: float | None = None

    def __init__(
        self,
        endpoint: Endpoint,
        model: str,
        *,
        deadline_ms: int = DFLT_DEADLINE_MS,
        price: Price | None = None,
        breaker: CircuitBreaker | None = None,
        spending: Spending | None = None,
    ) -> None:
        self.id = f"http:{model}"
        self.deadline_ms = deadline_ms
        self.price = price or Price()
        self.breaker = breaker or CircuitBreaker()
        self.spending = spending or Spending()
        self._endpoint = endpoint
        self._model = model

    def __call__(self, query: str, segments: Sequence[Mapping[str, Any]]) -> Reranked:
        deadline = Deadline(self.id, len(segments), self.deadline_ms)
        if not segments:
            return deadline.done(())
        documents = [_sendable(text) for text in texts_of(segments)]
        body = {"model": self._model, "query": _sendable(query), "documents": documents}
        answer = self._endpoint.post("/rerank", body, deadline.left_s)
        # Whatever is made of the answer, it was paid for.
        usage = Usage.of_answer(answer)
        cost = self.price.of(usage, sum(map(len, documents)) + len(query) * len(documents))
        self.spending.add(cost)
        SPENT.add(cost)
        deadline.check()
        return deadline.done(self._scores(answer, len(segments)), cost_usd=cost, tokens=usage.tokens)

    def _scores(self, answer: Any, count: int) -> list[float]:
        scores: dict[int, float] = {}
        try:
            for row in answer.get("results") or answer["data"]:  # Cohere and Jina; Voyage
                scores[int(row["index"])] = float(row["relevance_score"])
        except (KeyError, TypeError, ValueError, AttributeError):
            scores = {}
        if set(scores) != set(range(count)) or not all(map(math.isfinite, scores.values())):
            raise RerankError(
                f"{self._endpoint.name} did not answer with one finite score for each of {count} documents.",
                remedy="Check rerank.base_url: the server must speak the rerank format of Cohere, Jina or Voyage.",
            )
        return [scores[place] for place in range(count)]


def _sendable(text: str) -> str:
    return (text[:_MAX_CHARS] or " ").encode("utf-8", "replace").decode()
