"""Choosing among ways by what they are worth on queries that they were not chosen by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ir.eval.compare import randomization_test
from ir.eval.measures import per_query_values
from ir.eval.runs import Qrels, make_run, rankings
from ir.protocols import Corpus
from ir.tune.candidates import Way

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

__all__ = ["Choice", "choose", "luck", "measure_ways"]

#: A gain counts only if luck alone would give it with less than this probability.
SIGNIFICANT = 0.05
#: How many results to ask for if the measure does not say how deep it looks.
DEEPEST = 100


class Choice(NamedTuple):
    """``place`` is the chosen way's, 0 for the default; ``best`` that of the highest mean, which may be luck.

    ``picks`` is the best way of each fold's training queries, ``held_out`` the mean of these on the folds, ``p`` how
    likely the difference to the default there is by luck alone.
    """

    place: int
    best: int
    picks: tuple[int, ...]
    held_out: float
    p: float


def measure_ways(
    corpus: Corpus,
    queries: Mapping[str, str],
    qrels: Qrels,
    tried: Sequence[Way],
    measure: str,
    progress: Callable[[int, int], None] | None = None,
) -> Values:
    """The value of each way (rows) for each query (columns)."""
    _, _, cutoff = measure.partition("@")
    k = int(cutoff) if cutoff.isdigit() and int(cutoff) else DEEPEST
    values = np.empty((len(tried), len(queries)))
    for row, way in enumerate(tried):
        if progress is not None:
            progress(row, len(tried))
        run = make_run(corpus, queries, k=k, **way.options)
        found = per_query_values(rankings(run), qrels, [measure])
        values[row] = [found[qid][measure] for qid in queries]
    return values


def choose(values: Values, folds: int, *, seed: int = 0) -> Choice:
    """The way with the highest mean, if choosing like that beats the first row on held-out folds; else the first."""
    columns = np.arange(values.shape[1])
    fold_of = columns % folds
    picks = tuple(_best(values[:, fold_of != fold]) for fold in range(folds))
    held_out = values[np.array(picks)[fold_of], columns]
    p = luck(values[0], held_out, seed=seed)
    best = _best(values)
    better = held_out.mean() > values[0].mean() and p < SIGNIFICANT
    return Choice(best if better else 0, best, picks, float(held_out.mean()), p)


def luck(a: Values, b: Values, *, seed: int = 0) -> float:
    """How likely a difference as large between paired values is by luck alone."""
    return randomization_test(b - a, seed=seed)


def _best(values: Values) -> int:
    """The way with the highest mean; of equals the first, which is the simplest."""
    return int(np.argmax(np.round(values.mean(axis=1), 9)))
