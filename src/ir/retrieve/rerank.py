"""Letting a reranker look at the best candidates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ir.base import Row
from ir.errors import InvalidInput, RerankError
from ir.rerank.asking import asked, name_of
from ir.rerank.breaker import NotAsked
from ir.rerank.resolve import resolve_reranker

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SecondStage", "reranked_scores"]


class SecondStage(NamedTuple):
    """The new scores of the candidates, or none where the first stage stands; the report, and what to tell about it."""

    scores: NDArray[np.float64] | None
    report: dict[str, Any] | None
    note: str | None = None


def reranked_scores(
    rerank: Any,
    query: str,
    rows: Sequence[Row],
    texts: Sequence[str],
    first_stage: NDArray[np.float64],
    weight: float | None,
) -> SecondStage:
    """New scores for the rows, which come best first.

    With a ``weight``, the caller's or the one that the reranker comes with, the result is ``weight`` · reranker +
    (1 − ``weight``) · first stage, both stretched to 0..1. A reranker that fails or is late leaves the first stage
    standing, with the reason.
    """
    reranker = resolve_reranker(rerank)
    segments = [
        {"text": text, "artifact_id": row.artifact_id, "surface_kind": row.surface_kind, "metadata": row.metadata}
        for row, text in zip(rows, texts, strict=True)
    ]
    try:
        answer = asked(reranker, query, segments)
    except RerankError as error:
        failed: dict[str, Any] = {"reranker": name_of(reranker), "segments": len(segments), "error": error.message}
        if isinstance(error, NotAsked):
            failed["asked"] = False
        return SecondStage(None, failed, f"The order of the first stage stands. {error}")
    scores = _checked(answer, len(segments))
    share = weight if weight is not None else getattr(reranker, "weight", None)
    report = getattr(answer, "report", None)
    scored = getattr(report, "scored", len(segments))
    if share is not None:
        scores = share * _stretched(scores[:scored], len(scores)) + (1 - share) * _stretched(first_stage)
    return SecondStage(scores, report.to_dict() if report is not None else None, getattr(report, "note", None))


def _checked(answer: Any, count: int) -> NDArray[np.float64]:
    try:
        scores = np.asarray(list(answer), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"The reranker returned {type(answer).__name__!r}; it must return a list with a number for each segment."
        ) from error
    if scores.shape != (count,):
        raise InvalidInput(
            f"The reranker returned {scores.size} scores for {count} segments; it must return one for each."
        )
    if not np.isfinite(scores).all():
        raise InvalidInput("The reranker returned a score that is not a finite number.")
    return scores


def _stretched(scores: NDArray[np.float64], count: int | None = None) -> NDArray[np.float64]:
    """The scores from 0 to 1; with a ``count``, zeros follow for those that have none."""
    out = np.zeros(len(scores) if count is None else count)
    low, high = (scores.min(), scores.max()) if len(scores) else (0.0, 0.0)
    if high > low:
        out[: len(scores)] = (scores - low) / (high - low)
    return out
