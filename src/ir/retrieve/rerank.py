"""Letting a reranker look at the best candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ir.base import Row
from ir.errors import InvalidInput, RerankError
from ir.rerank.resolve import resolve_reranker

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SecondStage", "reranked_scores"]


class SecondStage(NamedTuple):
    """The new scores of the candidates, what the reranker reported of itself, and how it was mixed in."""

    scores: NDArray[np.float64]
    report: dict[str, Any] | None


def reranked_scores(
    rerank: Any,
    query: str,
    rows: Sequence[Row],
    texts: Sequence[str],
    first_stage: NDArray[np.float64],
    weight: float | None,
) -> SecondStage | None:
    """New scores for the rows, or ``None`` if the reranker failed in a way that leaves the first stage standing.

    With a ``weight``, the caller's or the one that the reranker comes with, the result is ``weight`` · reranker +
    (1 − ``weight``) · first stage, both stretched to 0..1.
    """
    reranker = resolve_reranker(rerank)
    segments = [
        {"text": text, "artifact_id": row.artifact_id, "surface_kind": row.surface_kind, "metadata": row.metadata}
        for row, text in zip(rows, texts, strict=True)
    ]
    try:
        answer = reranker(query, segments)
    except RerankError:
        return None
    try:
        scores = np.asarray(list(answer), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"The reranker returned {type(answer).__name__!r}; it must return a list with a number for each segment."
        ) from error
    if scores.shape != (len(segments),):
        raise InvalidInput(
            f"The reranker returned {scores.size} scores for {len(segments)} segments; it must be one each."
        )
    if not np.isfinite(scores).all():
        raise InvalidInput("The reranker returned a score that is not a finite number.")
    share = weight if weight is not None else getattr(reranker, "weight", None)
    if share is not None:
        scores = share * _stretched(scores) + (1 - share) * _stretched(first_stage)
    report = getattr(answer, "report", None)
    return SecondStage(scores, report.to_dict() if report is not None else None)


def _stretched(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    low, high = (scores.min(), scores.max()) if len(scores) else (0.0, 0.0)
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)
