"""Dense feedback: a second look with the query's vector moved towards what the first look found best."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.options import SearchOptions
from ir.protocols import Snapshot
from ir.retrieve.channels import Question
from ir.retrieve.ranking import Ranked, rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["fed_back", "undo_feedback"]

#: How many of the first look's best artifacts the query is moved towards.
BEST = 2


def fed_back(
    snapshot: Snapshot, question: Question, options: SearchOptions, saturation: float, corpus: Any = None
) -> Question:
    """The question with ``vector + feedback · mean of the best two``, of length one."""
    if question.vector is None:
        return question
    ranked = rank(snapshot, question, _first_look(options), saturation, corpus)
    vectors = [vector for vector in snapshot.vectors(ranked.refs, question.space) if vector is not None]
    if not vectors:
        return question
    moved = _unit(question.vector + np.float32(options.feedback) * np.mean(vectors, axis=0, dtype=np.float32))
    return replace(question, vector=moved, asked=question.vector)


def _first_look(options: SearchOptions) -> SearchOptions:
    """The same search without what comes after the fusion."""
    return replace(
        options,
        k=BEST,
        fetch_k=None,
        per_artifact=True,
        rerank=None,
        graph_boost=None,
        dep_boost=None,
        boosts=(),
        graph="none",
        expansion=None,
        feedback=0.0,
    )


def undo_feedback(snapshot: Snapshot, ranked: Ranked) -> None:
    """Let the dense scores be those of the query itself: floors were calibrated on them."""
    assert ranked.question.asked is not None, "only a question that was moved is undone"
    itself = replace(ranked.question, vector=ranked.question.asked)
    cosines = itself.dense_scores(snapshot, ranked.refs).tolist()
    for pick, cosine in zip(ranked.picks, cosines, strict=True):
        pick.channels["dense"]["score"] = cosine


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length > 0 else vector
