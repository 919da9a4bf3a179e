"""Standard measures of a ranking, computed by ``ir_measures``.

Rankings are handed over by position, so equal scores cannot be ordered differently by different measures.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ir.errors import InvalidInput, MissingExtra

__all__ = ["DFLT_K_VALUES", "DFLT_METRICS", "METRICS", "mean", "measure_names", "per_query_values"]

DFLT_K_VALUES = (1, 5, 10)
DFLT_METRICS = ("ndcg", "recall", "precision", "mrr", "map")
#: Our names for measures, and what ``ir_measures`` calls them.
METRICS = {"ndcg": "nDCG", "recall": "R", "precision": "P", "mrr": "RR", "map": "AP", "success": "Success"}

Qrels = Mapping[str, Mapping[str, float]]
Rankings = Mapping[str, Sequence[str]]


def measure_names(metrics: Iterable[str], k_values: Iterable[int]) -> list[str]:
    """The measures of a report: every metric at every k.

    >>> measure_names(["ndcg", "recall"], [1, 10])
    ['ndcg@1', 'ndcg@10', 'recall@1', 'recall@10']
    """
    cutoffs = sorted(set(k_values))
    for k in cutoffs:
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:
            raise InvalidInput(f"k_values must hold whole numbers of at least 1, not {k!r}.")
    return [f"{metric}@{k}" for metric in metrics for k in cutoffs]


def _parsed(name: str) -> Any:
    """The library's measure for ``ndcg@10``; its own spelling, ``nDCG@10``, is understood too."""
    try:
        import ir_measures
    except ImportError:
        raise MissingExtra("ir-measures", "eval", "Computing retrieval measures") from None
    match = re.fullmatch(r"([A-Za-z]+)(?:@([1-9][0-9]*))?", name)
    known = {**METRICS, **{v.lower(): v for v in METRICS.values()}}
    metric = known.get(match[1].lower()) if match else None
    if match is None or metric is None or (metric == "Success" and not match[2]):
        allowed = ", ".join(map(repr, METRICS))
        raise InvalidInput(f"Unknown measure {name!r}; use one of {allowed} with a cutoff, as in 'ndcg@10'.")
    measure = getattr(ir_measures, metric)  # its parser needs what Python 3.14 no longer has
    return measure @ int(match[2]) if match[2] else measure


def per_query_values(rankings: Rankings, qrels: Qrels, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """The value of each measure for each judged query. A query without a ranking scores 0.

    >>> per_query_values({"q": ["b", "a"]}, {"q": {"a": 1}}, ["mrr@10", "recall@1"])
    {'q': {'mrr@10': 0.5, 'recall@1': 0.0}}
    """
    measures = {name: _parsed(name) for name in names}
    judged = {qid: _whole_grades(qid, grades) for qid, grades in qrels.items()}
    values = {qid: dict.fromkeys(names, 0.0) for qid in judged}
    if not judged or not measures:
        return values
    import ir_measures

    by_position = {
        qid: {doc: -float(place) for place, doc in enumerate(dict.fromkeys(rankings.get(qid, ())))} for qid in judged
    }
    wanted: dict[Any, list[str]] = {}
    for name, measure in measures.items():
        wanted.setdefault(measure, []).append(name)
    for metric in ir_measures.iter_calc(list(wanted), judged, by_position):
        for name in wanted[metric.measure]:
            values[metric.query_id][name] = float(metric.value)
    return values


def _whole_grades(qid: str, grades: Mapping[str, float]) -> dict[str, int]:
    for doc, grade in grades.items():
        if grade != int(grade):
            raise InvalidInput(f"Judgements must be whole numbers: query {qid!r}, document {doc!r} has {grade!r}.")
    return {doc: int(grade) for doc, grade in grades.items()}


def mean(values: Iterable[float]) -> float | None:
    """The mean, or ``None`` of nothing."""
    items = list(values)
    return sum(items) / len(items) if items else None
