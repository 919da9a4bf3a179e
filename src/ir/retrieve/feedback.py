"""Dense feedback: a second look with the query's vector moved towards what the first look found best."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ir.options import SearchOptions
from ir.protocols import Snapshot, Store
from ir.retrieve.channels import Question
from ir.retrieve.ranking import Ranked, rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["fed_back", "undo_feedback"]

#: How many of the first look's best artifacts the query is moved towards.
BEST = 2


def fed_back(
    store: Store, snapshot: Snapshot, question: Question, options: SearchOptions, saturation: float
) -> Question:
    """The question with ``vector + feedback · mean of the best two``, of length one."""
    if question.vector is None:
        return question
    first = replace(options, k=BEST, fetch_k=None, per_artifact=True, rerank=None, graph_boost=None, feedback=0.0)
    ranked = rank(snapshot, question, first, saturation)
    vectors = []
    for row in snapshot.rows(ranked.refs):
        try:
            vectors.append(_unit(np.asarray(store.get_record(row.id).vector, dtype=np.float32)))
        except KeyError:
            continue  # deleted since the snapshot was taken
    if not vectors:
        return question
    moved = _unit(question.vector + np.float32(options.feedback) * np.mean(vectors, axis=0, dtype=np.float32))
    return replace(question, vector=moved, asked=question.vector)


def undo_feedback(snapshot: Snapshot, ranked: Ranked) -> None:
    """Let the dense scores be those of the query itself: floors were calibrated on them."""
    assert ranked.question.asked is not None, "only a question that was moved is undone"
    cosines = snapshot.dense_scores(ranked.question.asked, ranked.refs).tolist()
    for pick, cosine in zip(ranked.picks, cosines, strict=True):
        pick.channels["dense"]["score"] = cosine


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length > 0 else vector
