"""Dropping candidates that no look-up could bring among the best, before anything is looked up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from ir.options import SearchOptions
from ir.retrieve.candidates import Candidates, Channel, Found

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["contenders"]


def contenders(
    dense: Found, lexical: Found, groups: NDArray[np.int64], options: SearchOptions, saturation: float
) -> Candidates | None:
    """The records whose blend can be among the best ``k``; ``None`` if that cannot be told.

    A record that a channel did not return scores no more there than the last one that it did. So each record has a
    highest possible score, and those that the dense channel returned have a lowest one, with no word matching.
    ``groups`` are the artifacts of the dense channel's records. These are short lists: plain Python is quickest.
    """
    refs, cosines = dense.refs.tolist(), dense.scores.tolist()
    word_refs, bm25 = lexical.refs.tolist(), lexical.scores.tolist()
    if not refs or not word_refs:
        return None
    alpha, beta = options.alpha, 1.0 - options.alpha
    places = dict(zip(word_refs, range(len(word_refs)), strict=True))
    unseen_words = 0.0 if lexical.exhausted else beta * bm25[-1] / (bm25[-1] + saturation)
    unseen_cosine = alpha * cosines[-1]
    lowest, highest = [], []
    for ref, cosine in zip(refs, cosines, strict=True):
        place = places.get(ref)
        low = alpha * cosine if place is None else alpha * cosine + beta * bm25[place] / (bm25[place] + saturation)
        lowest.append(low)
        highest.append(low + unseen_words if place is None else low)
    bar = _kth_best(lowest, groups.tolist() if options.per_artifact else range(len(refs)), options.k)
    if bar is None:
        return None
    kept = [(ref, rank) for rank, (ref, high) in enumerate(zip(refs, highest, strict=True), start=1) if high >= bar]
    near = set(refs)
    for ref, score in zip(word_refs, bm25, strict=True):
        if beta * score / (score + saturation) + unseen_cosine < bar:
            break
        if ref not in near:
            kept.append((ref, 0))
    word_places = [places.get(ref, -1) for ref, _ in kept]
    return Candidates(
        np.array([ref for ref, _ in kept], dtype=np.int64),
        {
            "dense": _channel(
                [rank for _, rank in kept], [cosines[rank - 1] if rank else 0.0 for _, rank in kept], dense.exhausted
            ),
            "lexical": _channel(
                [place + 1 for place in word_places],
                [bm25[place] if place >= 0 else 0.0 for place in word_places],
                lexical.exhausted,
            ),
        },
    )


def _channel(ranks: list[int], scores: list[float], exhausted: bool) -> Channel:
    return Channel(np.array(ranks, dtype=np.int64), np.array(scores, dtype=np.float32), exhausted)


def _kth_best(scores: list[float], groups: Iterable[int], k: int) -> float | None:
    """The score that ``k`` different groups reach."""
    best: dict[int, float] = {}
    for score, group in zip(scores, groups, strict=True):
        if score > best.get(group, float("-inf")):
            best[group] = score
    return sorted(best.values(), reverse=True)[k - 1] if len(best) >= k else None
