"""Dropping candidates that no look-up could bring among the best, before anything is looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ir.options import SearchOptions
from ir.retrieve.candidates import Candidates

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["contenders"]


def contenders(
    candidates: Candidates, groups: NDArray[np.int64], options: SearchOptions, saturation: float
) -> NDArray[np.int64] | None:
    """Where the candidates are whose blend can be among the best ``k``; ``None`` if that cannot be told.

    A record that a channel did not return scores no more there than the last one that it did. So each candidate has
    a highest possible score, and those that the dense channel returned have a lowest one, with no word matching.
    """
    dense, lexical = candidates.channels["dense"], candidates.channels["lexical"]
    by_cosine, by_words = dense.ranks > 0, lexical.ranks > 0
    if not by_cosine.any() or not by_words.any():
        return None
    last_cosine = 0.0 if dense.exhausted else float(dense.scores[dense.ranks.argmax()])
    last_bm25 = 0.0 if lexical.exhausted else float(lexical.scores[lexical.ranks.argmax()])
    words = lexical.scores / (lexical.scores + saturation)
    lowest = options.alpha * dense.scores + (1.0 - options.alpha) * words
    bar = _kth_best(lowest[by_cosine], groups[by_cosine], options)
    if bar is None:
        return None
    highest = lowest + (1.0 - options.alpha) * last_bm25 / (last_bm25 + saturation) * ~by_words
    highest += options.alpha * last_cosine * ~by_cosine
    return np.flatnonzero(highest >= bar)


def _kth_best(scores: NDArray[np.float64], groups: NDArray[np.int64], options: SearchOptions) -> float | None:
    """The score that ``k`` different artifacts reach, or ``k`` records if they are not collapsed."""
    order = np.argsort(-scores)
    if not options.per_artifact:
        return float(scores[order[options.k - 1]]) if len(order) >= options.k else None
    seen: set[int] = set()
    for place, group in zip(order.tolist(), groups[order].tolist(), strict=True):
        seen.add(group)
        if len(seen) == options.k:
            return float(scores[place])
    return None
