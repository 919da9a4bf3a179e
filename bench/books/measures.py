"""How well entries were found: hit@1, hit@5, both@5, R@5 and MRR, with intervals by bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bench.books.collections import Question

Ranker = Callable[[str], Sequence[str]]
MEASURES = ("hit@1", "hit@5", "both@5", "R@5", "MRR")
_SAMPLES = 2000


class Figure(NamedTuple):
    """A mean with the interval that 95 of 100 samples of the questions fall into."""

    mean: float
    low: float
    high: float
    of: int

    def __str__(self) -> str:
        return f"{_short(self.mean)} ({_short(self.low)}–{_short(self.high)})"


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def entries(hits: Sequence[str]) -> list[str]:
    """The entries that sections belong to, each once."""
    return list(dict.fromkeys(hit.partition("#")[0] for hit in hits))


def values_of(question: Question, ranking: Sequence[str]) -> dict[str, float | None]:
    """``both@5`` is for questions that need two; ``hit`` is the first of any."""
    found = entries(ranking)
    places = [next((at for at, entry in enumerate(found) if entry in group), None) for group in question.gold]
    first = min((at for at in places if at is not None), default=None)
    within = [at is not None and at < 5 for at in places]
    return {
        "hit@1": float(first == 0),
        "hit@5": float(any(within)),
        "both@5": float(all(within)) if len(places) > 1 else None,
        "R@5": sum(within) / len(within),
        "MRR": 0.0 if first is None else 1.0 / (first + 1),
    }


def measured(questions: Sequence[Question], ranker: Ranker) -> dict[str, list[float | None]]:
    """Each measure of each question."""
    rows = [values_of(question, ranker(question.text)) for question in questions]
    return {name: [row[name] for row in rows] for name in MEASURES}


def figures(values: Mapping[str, Sequence[float | None]]) -> dict[str, Figure]:
    return {name: figure([one for one in values[name] if one is not None]) for name in MEASURES if _any(values[name])}


def _any(values: Sequence[float | None]) -> bool:
    return any(one is not None for one in values)


def figure(values: Sequence[float]) -> Figure:
    data = np.array(values, dtype=np.float64)
    picks = np.random.default_rng(0).integers(0, len(data), (_SAMPLES, len(data)))
    low, high = np.percentile(data[picks].mean(axis=1), [2.5, 97.5])
    return Figure(float(data.mean()), float(low), float(high), len(data))


def difference(first: Sequence[float | None], second: Sequence[float | None]) -> Figure:
    """What the second is better by, question for question."""
    pairs = [(one, other) for one, other in zip(first, second, strict=True) if one is not None and other is not None]
    return figure([other - one for one, other in pairs])
