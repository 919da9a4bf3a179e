"""Letting a reranker look at the best candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ir.base import Row
from ir.errors import InvalidInput, RerankError

__all__ = ["reranked_scores"]


def reranked_scores(
    rerank: Any, query: str, rows: Sequence[Row], texts: Sequence[str], first_stage: np.ndarray, weight: float | None
) -> np.ndarray | None:
    """New scores for the rows, or ``None`` if the reranker failed in a way that leaves the first stage standing.

    With a ``weight`` the result is ``weight`` · reranker + (1 − ``weight``) · first stage, both stretched to 0..1.
    """
    if not callable(rerank):
        raise InvalidInput(f"rerank must be a callable (query, segments) -> scores, not {rerank!r}.")
    segments = [
        {"text": text, "artifact_id": row.artifact_id, "surface_kind": row.surface_kind, "metadata": row.metadata}
        for row, text in zip(rows, texts, strict=True)
    ]
    try:
        answer = rerank(query, segments)
    except RerankError:
        return None
    scores = np.asarray(list(answer), dtype=np.float64)
    if scores.shape != (len(segments),):
        raise InvalidInput(
            f"The reranker returned {scores.size} scores for {len(segments)} segments; it must be one each."
        )
    if not np.isfinite(scores).all():
        raise InvalidInput("The reranker returned a score that is not a finite number.")
    if weight is None:
        return scores
    return weight * _stretched(scores) + (1 - weight) * _stretched(first_stage)


def _stretched(scores: np.ndarray) -> np.ndarray:
    low, high = (scores.min(), scores.max()) if len(scores) else (0.0, 0.0)
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)
