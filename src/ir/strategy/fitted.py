"""The whole text where the embedder reads all of it, chunks where it would not."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from ir.base import IndexPlan, embedding_text
from ir.strategy.chunked import Chunked, CountTokens, estimate_tokens
from ir.strategy.whole import WholeText

__all__ = ["Fitted"]


class Fitted:
    """:class:`WholeText` for what fits into ``max_tokens`` with its title, :class:`Chunked` for what is longer.

    A build sets ``max_tokens`` to what its embedder reads; for one that reads texts of any length all stay whole.

    >>> fitted = Fitted(max_tokens=8)
    >>> [len(fitted.decompose("a", text).surfaces) for text in ("A short text.", "A much longer text. " * 4)]
    [1, 4]
    """

    version = Chunked.version

    def __init__(
        self,
        *,
        text_key: str | None = None,
        kind: str = "document",
        max_tokens: int | None = None,
        count_tokens: CountTokens | None = None,
    ) -> None:
        self.text_key = text_key
        self.kind = kind
        self.max_tokens = max_tokens
        self.count_tokens = count_tokens
        self._whole = WholeText(text_key=text_key, kind=kind)
        self._chunked = Chunked(text_key=text_key, kind=kind, max_tokens=max_tokens, count_tokens=count_tokens)

    def decompose(self, artifact_id: str, raw: Any, metadata: Mapping[str, Any] | None = None) -> IndexPlan:
        plan = self._whole.decompose(artifact_id, raw, metadata)
        if all(self._fits(embedding_text(surface.text, plan.filter_fields)) for surface in plan.surfaces):
            return plan
        return self._chunked.decompose(artifact_id, raw, metadata)

    def with_budget(self, max_tokens: int, count_tokens: CountTokens | None = None) -> Fitted:
        """The same strategy for an embedder that reads ``max_tokens``; a smaller budget already set stays."""
        twin = copy.copy(self)
        twin._chunked = self._chunked.with_budget(max_tokens, count_tokens)
        twin.max_tokens, twin.count_tokens = twin._chunked.max_tokens, twin._chunked.count_tokens
        return twin

    def _fits(self, text: str) -> bool:
        count = self.count_tokens or estimate_tokens
        return self.max_tokens is None or count(text) <= self.max_tokens
