"""Timing many contestants on a machine that others use too: in turns, warmed up, medians."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from bench.contestant import Contestant

Where = Mapping[str, Any] | None


@dataclass
class Times:
    """Milliseconds of each query, and the answers of the last pass."""

    passes: dict[int, list[float]] = field(default_factory=dict)
    answers: dict[int, list[int]] = field(default_factory=dict)

    def add(self, numbers: Sequence[int], result: Mapping[str, Any]) -> None:
        for number, milliseconds, ids in zip(numbers, result["ms"], result["ids"], strict=True):
            self.passes.setdefault(number, []).append(milliseconds)
            self.answers[number] = ids

    @property
    def each(self) -> list[float]:
        """One figure for each query: the median of its passes, so that a disturbed pass does not count."""
        return [median(values) for values in self.passes.values()]

    def percentile(self, share: float) -> float:
        return float(np.percentile(self.each, share))

    @property
    def p50(self) -> float:
        return self.percentile(50)

    @property
    def p95(self) -> float:
        return self.percentile(95)


@dataclass(frozen=True)
class Lane:
    """One contestant doing one thing in a race."""

    name: str
    contestant: Contestant
    mode: str
    queries: int
    where: Where = None
    passes: int = 3

    @property
    def count(self) -> int:
        return min(self.queries, len(self.contestant.data.queries))


def race(lanes: Sequence[Lane], *, chunk: int = 25, warm_up: int = 10) -> dict[str, Times]:
    """Every lane through its queries, a chunk at a time, each round in another order."""
    out = {lane.name: Times() for lane in lanes}
    for lane in lanes:
        lane.contestant.search(lane.mode, range(min(warm_up, lane.count)), lane.where)
    rounds = max(lane.passes * -(-lane.count // chunk) for lane in lanes)
    for turn in range(rounds):
        order = [*lanes[turn % len(lanes) :], *lanes[: turn % len(lanes)]]
        for lane in order:
            starts = range(0, lane.count, chunk)
            if turn >= lane.passes * len(starts):
                continue
            start = starts[turn % len(starts)]
            numbers = range(start, min(start + chunk, lane.count))
            out[lane.name].add(numbers, lane.contestant.search(lane.mode, numbers, lane.where))
    return out
