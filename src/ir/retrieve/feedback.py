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
    for row in snapshot.rows(ranked.candidates.refs[np.array(ranked.picks, dtype=np.int64)]):
        try:
            vectors.append(_unit(np.asarray(store.get_record(row.id).vector, dtype=np.float32)))
        except KeyError:
            continue  # deleted since the snapshot was taken
    if not vectors:
        return question
    moved = _unit(question.vector + np.float32(options.feedback) * np.mean(vectors, axis=0, dtype=np.float32))
    return replace(question, vector=moved, asked=question.vector)


def undo_feedback(snapshot: Snapshot, ranked: Ranked, places: NDArray[np.int64]) -> None:
    """Let the dense scores of ``places`` be those of the query itself: floors were calibrated on them."""
    channel = ranked.candidates.channels["dense"]
    assert ranked.question.asked is not None, "only a question that was moved is undone"
    channel.scores = channel.scores.copy()
    channel.scores[places] = snapshot.dense_scores(ranked.question.asked, ranked.candidates.refs[places])


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length > 0 else vector
