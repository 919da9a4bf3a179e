"""The default hybrid search, looking up only the scores that can matter.

A record that a channel did not return scores no more there than the last one that it did. So each record has a
highest possible blend, and those that the dense channel returned have a lowest one, with no word matching. Whoever
cannot reach the lowest score of the ``k`` best is dropped before anything is looked up.

The lists are short, a hundred records or so: plain Python goes through them sooner than arrays do, whose every
operation costs as much as a dozen steps.
"""

from __future__ import annotations

from bisect import bisect_right
from operator import neg
from typing import TYPE_CHECKING

import numpy as np

from ir.options import SearchOptions
from ir.protocols import Snapshot
from ir.retrieve.apart import places_of, spread
from ir.retrieve.candidates import Found, Pick
from ir.retrieve.channels import Question, lexical_scores
from ir.retrieve.fusion import blended, bm25_for

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["blend"]


#: What decides about a record, in the order in which the best come first: its score negated, its number, that of its
#: artifact, its rank and score in the dense channel, and in the lexical one. A rank of 0: not returned there.
_Contender = tuple[float, int, int, int, float, int, float]


def blend(
    snapshot: Snapshot, question: Question, found: dict[str, Found], options: SearchOptions, saturation: float
) -> list[Pick] | None:
    """The ``k`` best by :func:`~ir.retrieve.fusion.blended`; ``None`` if there are fewer."""
    dense, lexical = found["dense"], found["lexical"]
    if not len(dense.refs) or not len(lexical.refs):
        return None
    known = _contenders(snapshot, question, dense, lexical, options, saturation)
    if known is None:
        return None
    known.sort()
    best = _first_of_each(known, options.k) if options.per_artifact else known[: options.k]
    if options.each > 1:
        where = places_of(snapshot, [one[1] for one in known])
        best = spread(known, options.k, options.each, group=lambda one: one[2], place=where)
    return [
        Pick(
            ref,
            -negated,
            {
                "dense": {"rank": dense_rank or None, "score": cosine},
                "lexical": {"rank": lexical_rank or None, "score": bm25},
            },
            {
                "dense": blended(cosine, 0.0, options.alpha, saturation),
                "lexical": blended(0.0, bm25, options.alpha, saturation),
            }
            if options.explain
            else {},
            {},
        )
        for negated, ref, _, dense_rank, cosine, lexical_rank, bm25 in best
    ]


def _contenders(
    snapshot: Snapshot, question: Question, dense: Found, lexical: Found, options: SearchOptions, saturation: float
) -> list[_Contender] | None:
    """Those that may be among the best, with their scores."""
    alpha, k = float(options.alpha), options.k
    refs, cosines = dense.refs.tolist(), dense.scores.tolist()
    word_refs, bm25 = lexical.refs.tolist(), lexical.scores.tolist()
    shares = blended(0.0, lexical.scores.astype(np.float64), alpha, saturation).tolist()
    groups = snapshot.grouping(dense.refs)[0].tolist() if options.per_artifact else refs
    at_of = {ref: at for at, ref in enumerate(refs)}
    lowest = blended(dense.scores.astype(np.float64), 0.0, alpha, saturation).tolist()
    least = max(lowest[-1], 0.0)  # a record without a vector has a cosine of 0, and the last found may have less
    place_at: dict[int, int] = {}
    for place in [place for place, ref in enumerate(word_refs) if ref in at_of]:
        at = at_of[word_refs[place]]
        place_at[at] = place
        lowest[at] += shares[place]
    bar = _kth_best(lowest, groups, k)
    if bar is None:
        return None
    # The lists are in order: those that only words found and that can reach the bar come first.
    needed = bm25_for(bar - least, alpha, saturation)
    reach = bisect_right(bm25, -needed, key=neg)
    far = [place for place in range(reach) if word_refs[place] not in at_of]
    known: list[_Contender] = []
    if far:
        numbers = lexical.refs[far]
        near = question.dense_scores(snapshot, numbers)
        lows = blended(near.astype(np.float64), 0.0, alpha, saturation).tolist()
        homes = snapshot.grouping(numbers)[0].tolist() if options.per_artifact else numbers.tolist()
        for place, group, cosine, low in zip(far, homes, near.tolist(), lows, strict=True):
            score = low + shares[place]
            if score >= bar:
                known.append((-score, word_refs[place], group, 0, cosine, place + 1, bm25[place]))
    unseen = 0.0 if lexical.exhausted else shares[-1]
    wordless = [at for at, low in enumerate(lowest) if low + unseen >= bar and at not in place_at]
    if wordless and known:
        # What the others turned out to score may be out of reach.
        bar = _kth_best(lowest + [-one[0] for one in known], groups + [one[2] for one in known], k) or bar
        wordless = [at for at in wordless if lowest[at] + unseen >= bar]
    for at, place in place_at.items():
        if lowest[at] >= bar:
            known.append((-lowest[at], refs[at], groups[at], at + 1, cosines[at], place + 1, bm25[place]))
    words = np.zeros(len(wordless))
    if wordless and not lexical.exhausted:
        words = lexical_scores(snapshot, question, dense.refs[wordless]).astype(np.float64)
    added = blended(0.0, words, alpha, saturation).tolist()
    for at, word_score, share in zip(wordless, words.tolist(), added, strict=True):
        known.append((-(lowest[at] + share), refs[at], groups[at], at + 1, cosines[at], 0, word_score))
    return known


def _first_of_each(ordered: Iterable[_Contender], k: int) -> list[_Contender]:
    """The best ``k``, of each artifact the first only."""
    first: dict[int, _Contender] = {}
    for one in ordered:
        if one[2] not in first:
            first[one[2]] = one
            if len(first) == k:
                break
    return list(first.values())


def _kth_best(scores: list[float], groups: list[int], k: int) -> float | None:
    """The score that ``k`` different groups reach; ``None`` if there are fewer."""
    if len(set(groups)) < len(groups):
        best: dict[int, float] = {}
        for score, group in zip(scores, groups, strict=True):
            if score > best.get(group, float("-inf")):
                best[group] = score
        scores = list(best.values())
    return sorted(scores, reverse=True)[k - 1] if len(scores) >= k else None
