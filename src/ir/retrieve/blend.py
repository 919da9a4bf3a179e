"""The default hybrid search, looking up only the scores that can matter.

A record that a channel did not return scores no more there than the last one that it did. So each record has a
highest possible blend, and those that the dense channel returned have a lowest one, with no word matching. Whoever
cannot reach the lowest score of the ``k`` best is dropped before anything is looked up. The lists are short: plain
Python is quicker here than arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ir.options import SearchOptions
from ir.protocols import Snapshot
from ir.retrieve.candidates import Candidates, Channel, Found
from ir.retrieve.channels import Question, lexical_scores

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Blended", "blend"]


class Blended(NamedTuple):
    """The best records, best first, and the number of the artifact of each."""

    candidates: Candidates
    groups: NDArray[np.int64]


class _Contender:
    """A record that may be among the best. A rank of 0 says that the channel did not return it."""

    __slots__ = ("bm25", "cosine", "dense_rank", "group", "lexical_rank", "ref", "score")

    def __init__(self, ref: int, group: int, dense_rank: int, cosine: float, lexical_rank: int, bm25: float) -> None:
        self.ref = ref
        self.group = group
        self.dense_rank = dense_rank
        self.cosine = cosine
        self.lexical_rank = lexical_rank
        self.bm25 = bm25
        self.score = 0.0


def blend(
    snapshot: Snapshot, question: Question, found: dict[str, Found], options: SearchOptions, saturation: float
) -> Blended | None:
    """The ``k`` best by ``alpha · cosine + (1 − alpha) · bm25 / (bm25 + saturation)``; ``None`` if there are fewer."""
    dense, lexical = found["dense"], found["lexical"]
    contenders = _contenders(snapshot, dense, lexical, options, saturation)
    if contenders is None:
        return None
    _complete(snapshot, question, contenders, lexical.exhausted)
    alpha, beta = options.alpha, 1.0 - options.alpha
    for one in contenders:
        one.score = alpha * one.cosine + beta * one.bm25 / (one.bm25 + saturation)
    contenders.sort(key=lambda one: (-one.score, one.ref))
    picked = _first_of_each(contenders, options)
    cosines = np.array([one.cosine for one in picked])
    bm25 = np.array([one.bm25 for one in picked])
    candidates = Candidates(
        np.array([one.ref for one in picked], dtype=np.int64),
        {
            "dense": Channel(np.array([one.dense_rank for one in picked]), cosines, dense.exhausted, True),
            "lexical": Channel(np.array([one.lexical_rank for one in picked]), bm25, lexical.exhausted, True),
        },
        np.array([one.score for one in picked]),
        {"dense": alpha * cosines, "lexical": beta * bm25 / (bm25 + saturation)},
    )
    return Blended(candidates, np.array([one.group for one in picked], dtype=np.int64))


def _contenders(
    snapshot: Snapshot, dense: Found, lexical: Found, options: SearchOptions, saturation: float
) -> list[_Contender] | None:
    refs, cosines = dense.refs.tolist(), dense.scores.tolist()
    word_refs, bm25 = lexical.refs.tolist(), lexical.scores.tolist()
    if not refs or not word_refs:
        return None
    alpha, beta = options.alpha, 1.0 - options.alpha
    groups = snapshot.grouping(dense.refs)[0].tolist()
    place_of = dict(zip(word_refs, range(1, len(word_refs) + 1), strict=True))
    places = [place_of.get(ref, 0) for ref in refs]
    scores = [bm25[place - 1] if place else 0.0 for place in places]
    lowest = [
        alpha * cosine + beta * score / (score + saturation) for cosine, score in zip(cosines, scores, strict=True)
    ]
    bar = _kth_best(lowest, groups if options.per_artifact else range(len(refs)), options.k)
    if bar is None:
        return None
    unseen = 0.0 if lexical.exhausted else beta * bm25[-1] / (bm25[-1] + saturation)
    kept = [
        _Contender(refs[at], groups[at], at + 1, cosines[at], places[at], scores[at])
        for at, low in enumerate(lowest)
        if low >= bar or (not places[at] and low + unseen >= bar)
    ]
    near = set(refs)
    for place, (ref, score) in enumerate(zip(word_refs, bm25, strict=True), start=1):
        if beta * score / (score + saturation) + alpha * cosines[-1] < bar:
            break
        if ref not in near:
            kept.append(_Contender(ref, -1, 0, 0.0, place, score))
    return kept


def _complete(snapshot: Snapshot, question: Question, contenders: list[_Contender], words_exhausted: bool) -> None:
    """Look up the cosines, artifacts and BM25 scores that are not known yet."""
    far = [one for one in contenders if not one.dense_rank]
    if far and question.vector is not None:
        refs = np.array([one.ref for one in far], dtype=np.int64)
        cosines = snapshot.dense_scores(question.vector, refs).tolist()
        groups = snapshot.grouping(refs)[0].tolist()
        for one, cosine, group in zip(far, cosines, groups, strict=True):
            one.cosine, one.group = cosine, group
    wordless = [] if words_exhausted else [one for one in contenders if not one.lexical_rank]
    if wordless:
        scores = lexical_scores(snapshot, question, np.array([one.ref for one in wordless], dtype=np.int64))
        for one, score in zip(wordless, scores.tolist(), strict=True):
            one.bm25 = score


def _first_of_each(contenders: list[_Contender], options: SearchOptions) -> list[_Contender]:
    """The best ``k``, of each artifact the first only if they are to be collapsed."""
    if not options.per_artifact:
        return contenders[: options.k]
    first: dict[int, _Contender] = {}
    for one in contenders:
        if one.group not in first:
            first[one.group] = one
            if len(first) == options.k:
                break
    return list(first.values())


def _kth_best(scores: list[float], groups: Sequence[int], k: int) -> float | None:
    """The score that ``k`` different groups reach."""
    if len(set(groups)) < len(scores):
        best: dict[int, float] = {}
        for score, group in zip(scores, groups, strict=True):
            if score > best.get(group, float("-inf")):
                best[group] = score
        scores = list(best.values())
    return sorted(scores, reverse=True)[k - 1] if len(scores) >= k else None
