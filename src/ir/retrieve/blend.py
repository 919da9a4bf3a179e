"""The default hybrid search, looking up only the scores that can matter.

A record that a channel did not return scores no more there than the last one that it did. So each record has a
highest possible blend, and those that the dense channel returned have a lowest one, with no word matching. Whoever
cannot reach the lowest score of the ``k`` best is dropped before anything is looked up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ir.options import SearchOptions
from ir.protocols import Snapshot
from ir.retrieve.candidates import Candidates, Channel, Found
from ir.retrieve.channels import Question, lexical_scores

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = ["Blended", "blend"]


class Blended(NamedTuple):
    """The best records, best first, and the number of the artifact of each."""

    candidates: Candidates
    groups: NDArray[np.int64]


class _Contenders(NamedTuple):
    """Records that may be among the best, those of the dense channel first.

    A rank of 0 says that the channel did not return the record; its score is then not known yet.
    """

    refs: Integers
    groups: Integers
    cosines: Floats
    bm25: Floats
    dense_ranks: Integers
    lexical_ranks: Integers


def blend(
    snapshot: Snapshot, question: Question, found: dict[str, Found], options: SearchOptions, saturation: float
) -> Blended | None:
    """The ``k`` best by ``alpha · cosine + (1 − alpha) · bm25 / (bm25 + saturation)``; ``None`` if there are fewer."""
    dense, lexical = found["dense"], found["lexical"]
    if not len(dense.refs) or not len(lexical.refs):
        return None
    known = _contenders(snapshot, dense, lexical, options, saturation)
    if known is None:
        return None
    _complete(snapshot, question, known, lexical.exhausted)
    alpha, beta = float(options.alpha), 1.0 - float(options.alpha)
    shares = {"dense": alpha * known.cosines, "lexical": beta * known.bm25 / (known.bm25 + saturation)}
    scores = shares["dense"] + shares["lexical"]
    best = _best(scores, known, options)
    candidates = Candidates(
        known.refs[best],
        {
            "dense": Channel(known.dense_ranks[best], known.cosines[best], dense.exhausted, True),
            "lexical": Channel(known.lexical_ranks[best], known.bm25[best], lexical.exhausted, True),
        },
        scores[best],
        {name: share[best] for name, share in shares.items()},
    )
    return Blended(candidates, known.groups[best])


def _contenders(
    snapshot: Snapshot, dense: Found, lexical: Found, options: SearchOptions, saturation: float
) -> _Contenders | None:
    alpha, beta = float(options.alpha), 1.0 - float(options.alpha)
    cosines, bm25 = dense.scores.astype(np.float64), lexical.scores.astype(np.float64)
    places = _places_in(lexical.refs, dense.refs)
    seen = places >= 0
    words = np.where(seen, bm25[places], 0.0)
    lowest = alpha * cosines + beta * words / (words + saturation)
    groups = snapshot.grouping(dense.refs)[0]
    bar = _kth_best(lowest, groups if options.per_artifact else None, options.k)
    if bar is None:
        return None
    unseen = 0.0 if lexical.exhausted else beta * bm25[-1] / (bm25[-1] + saturation)
    kept = np.flatnonzero((lowest >= bar) | (~seen & (lowest + unseen >= bar)))
    # The lists are in order: those that only words found and that can reach the bar come first.
    reach = int(np.count_nonzero(beta * bm25 / (bm25 + saturation) + alpha * cosines[-1] >= bar))
    alone = np.ones(reach, np.bool_)
    alone[places[seen & (places < reach)]] = False
    far = np.flatnonzero(alone)
    none = np.zeros(len(far))
    return _Contenders(
        np.concatenate([dense.refs[kept], lexical.refs[far]]),
        np.concatenate([groups[kept], np.full(len(far), -1)]),
        np.concatenate([cosines[kept], none]),
        np.concatenate([words[kept], bm25[far]]),
        np.concatenate([kept + 1, none.astype(np.int64)]),
        np.concatenate([places[kept] + 1, far + 1]),
    )


def _places_in(refs: Integers, wanted: Integers) -> Integers:
    """Where each of ``wanted`` stands among ``refs``, or -1."""
    order = np.argsort(refs)
    at = np.minimum(np.searchsorted(refs, wanted, sorter=order), len(refs) - 1)
    places = order[at]
    return np.where(refs[places] == wanted, places, -1)


def _complete(snapshot: Snapshot, question: Question, known: _Contenders, words_exhausted: bool) -> None:
    """Look up the cosines, artifacts and BM25 scores that are not known yet."""
    far = np.flatnonzero(known.dense_ranks == 0)
    if len(far) and question.vector is not None:
        known.cosines[far] = snapshot.dense_scores(question.vector, known.refs[far])
        known.groups[far] = snapshot.grouping(known.refs[far])[0]
    if words_exhausted:
        return
    wordless = np.flatnonzero(known.lexical_ranks == 0)
    if len(wordless):
        known.bm25[wordless] = lexical_scores(snapshot, question, known.refs[wordless])


def _best(scores: Floats, known: _Contenders, options: SearchOptions) -> Integers:
    """The places of the ``k`` best, of each artifact the best only if they are to be collapsed; ties by number."""
    order = np.lexsort((known.refs, -scores))
    if not options.per_artifact:
        return order[: options.k]
    first: dict[int, int] = {}
    for place, group in zip(order.tolist(), known.groups[order].tolist(), strict=True):
        if group not in first:
            first[group] = place
            if len(first) == options.k:
                break
    return np.fromiter(first.values(), np.int64, len(first))


def _kth_best(scores: Floats, groups: Integers | None, k: int) -> float | None:
    """The score that ``k`` different groups reach."""
    if groups is not None and len(set(groups.tolist())) < len(scores):
        best: dict[int, float] = {}
        for score, group in zip(scores.tolist(), groups.tolist(), strict=True):
            if score > best.get(group, float("-inf")):
                best[group] = score
        scores = np.array(list(best.values()))
    return float(np.partition(scores, len(scores) - k)[len(scores) - k]) if len(scores) >= k else None
