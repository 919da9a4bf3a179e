"""Tuning a corpus: measure the ways, choose, keep; and what tuning is worth on queries it has not seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ir.errors import InvalidInput
from ir.eval.calibration import calibrate_min_score
from ir.eval.cases import DiscoveryCase, to_qrels
from ir.eval.runs import Qrels, make_run
from ir.index.opening import as_corpus
from ir.options import count
from ir.protocols import Corpus, CorpusOrName
from ir.tune.candidates import Way, default_way, ways
from ir.tune.choosing import Choice, choose, luck, measure_ways
from ir.tune.result import Trial, Tuning

if TYPE_CHECKING:
    from ir.eval import MinScoreCalibration

__all__ = ["DFLT_FOLDS", "tune", "tuned_run"]

DFLT_FOLDS = 5
DFLT_MEASURE = "ndcg@10"
#: With fewer judged queries nothing is chosen: a paired test could not tell a gain from luck.
FEWEST_QUERIES = 20
#: If there are more queries than this, a sample is taken: more would cost more than they improve the choice.
MOST_QUERIES = 1000
#: How many queries of each part are used to choose for the other parts in :func:`tuned_run`.
MOST_LEARNT_FROM = 300


def tune(
    corpus: CorpusOrName,
    cases: Sequence[DiscoveryCase],
    *,
    folds: int = DFLT_FOLDS,
    measure: str = DFLT_MEASURE,
    qrels: Qrels | None = None,
    save: bool = False,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Tuning:
    """Choose how to search ``corpus`` by the ``cases`` that have an answer.

    For each fold, the best way on the other folds is measured on it; the choice counts only if these held-out values
    beat the default's by a paired test (p < .05). ``qrels`` are graded judgements by query id, for cases that carry
    ``metadata["query_id"]``. Cases without an answer give the chosen way a floor, if it parts them from the others by
    more than luck on cases that it was not made from (p < .01). ``save`` keeps both with the corpus:
    :func:`ir.discover` and the commands then search that way unless told otherwise.
    """
    opened = as_corpus(corpus)
    queries, judged = _judged(cases, qrels)
    folds = count("folds", folds, 2)
    if not judged:
        raise InvalidInput(
            "No case has an answer, so no way to search can be better than another.",
            remedy='Give the right ids with each query: {"query": "…", "gold": ["id"]}.',
        )
    if len(judged) < FEWEST_QUERIES:
        reason = f"Kept the default: {len(judged)} judged queries are too few, at least {FEWEST_QUERIES} are needed."
        tuning = Tuning(opened.name, _embedder_id(opened), measure, len(judged), folds, (), default_way(), reason)
    else:
        queries, judged = _sampled(queries, judged, seed)
        tuning = _tuned(opened, queries, judged, folds=folds, measure=measure, seed=seed, progress=progress)
    tuning = replace(tuning, calibration=_calibration(opened, cases, tuning.choice))
    if save:
        tuning.save(opened)
    return tuning


def tuned_run(
    corpus: CorpusOrName,
    queries: Mapping[str, str],
    qrels: Qrels,
    *,
    k: int = 100,
    parts: int = 2,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[dict[str, dict[str, float]], list[Way]]:
    """A run in which every query is searched by the way that was chosen without it, and these ways.

    The queries are parted at random; each part is searched by what tuning chooses on some hundreds of the others.
    """
    opened = as_corpus(corpus)
    ids = np.array(list(queries), dtype=object)[np.random.default_rng(seed).permutation(len(queries))].tolist()
    tried = ways()
    measured = {qid: queries[qid] for qid in ids[: parts * MOST_LEARNT_FROM]}
    values = measure_ways(opened, measured, qrels, tried, DFLT_MEASURE, progress)
    found: dict[str, dict[str, float]] = {}
    chosen = []
    for part in range(parts):
        training = values[:, np.arange(len(measured)) % parts != part]
        enough = training.shape[1] >= FEWEST_QUERIES
        way = tried[choose(training, DFLT_FOLDS, seed=seed).place if enough else 0]
        chosen.append(way)
        found.update(make_run(opened, {qid: queries[qid] for qid in ids[part::parts]}, k=k, **way.options))
    return {qid: found[qid] for qid in queries}, chosen


def _judged(cases: Sequence[DiscoveryCase], qrels: Qrels | None) -> tuple[dict[str, str], Qrels]:
    if qrels is None:
        return to_qrels(cases)
    queries = {str(case.metadata.get("query_id")): case.query for case in cases if not case.gold_is_none}
    return queries, {qid: qrels[qid] for qid in queries if qid in qrels}


def _sampled(queries: Mapping[str, str], qrels: Qrels, seed: int) -> tuple[dict[str, str], Qrels]:
    """As many queries as are worth their time, in random order."""
    order = np.random.default_rng(seed).permutation(len(qrels))[:MOST_QUERIES]
    ids = list(qrels)
    kept = [ids[place] for place in order.tolist()]
    return {qid: queries[qid] for qid in kept}, {qid: qrels[qid] for qid in kept}


def _tuned(
    corpus: Corpus,
    queries: Mapping[str, str],
    qrels: Qrels,
    *,
    folds: int,
    measure: str,
    seed: int,
    progress: Callable[[int, int], None] | None,
) -> Tuning:
    tried = ways()
    values = measure_ways(corpus, queries, qrels, tried, measure, progress)
    default = float(values[0].mean())
    choice = choose(values, folds, seed=seed)
    trials = tuple(
        Trial(way, float(row.mean()), float(row.mean()) - default, luck(values[0], row, seed=seed), picked)
        for way, row, picked in zip(tried, values, map(choice.picks.count, range(len(tried))), strict=True)
    )
    return Tuning(
        corpus=corpus.name,
        embedder_id=_embedder_id(corpus),
        measure=measure,
        n_queries=len(queries),
        folds=folds,
        trials=trials,
        choice=tried[choice.place],
        reason=_reason(choice, tried, choice.held_out - default),
        held_out=choice.held_out,
        held_out_default=default,
        p=choice.p,
    )


def _reason(choice: Choice, tried: Sequence[Way], gain: float) -> str:
    if choice.place:
        name = tried[choice.place].name
        return f"Chose {name}: {gain:+.4f} on queries that it was not chosen by (p = {choice.p:.4f})."
    if not choice.best:
        return "Kept the default: no way that was tried is better."
    return (
        f"Kept the default: {tried[choice.best].name} looks better, but on queries that it was not chosen by the gain "
        f"is {gain:+.4f} (p = {choice.p:.3f}), which may be luck."
    )


def _calibration(corpus: Corpus, cases: Sequence[DiscoveryCase], way: Way) -> MinScoreCalibration | None:
    """For the chosen way, where some cases have no answer and can show what is off topic."""
    if not any(case.gold_is_none for case in cases):
        return None
    return calibrate_min_score(corpus, cases, **way.options)


def _embedder_id(corpus: Corpus) -> str | None:
    found = corpus.store.get_config().get("embedder_id")
    return None if found is None else str(found)
