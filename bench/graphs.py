"""A graph with the degrees of real code: most functions call three others, a few are called by everybody."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.links import Edge, Node

if TYPE_CHECKING:
    from numpy.typing import NDArray

TYPES = ("calls", "imports", "refers")
MEDIAN, MOST = 3, 10_000
#: How far degrees lie apart: with it, their mean is about twice their median.
_SPREAD = 1.3


@dataclass(frozen=True)
class CodeGraph:
    """How many edges lead out of each node, and where each of them leads."""

    degrees: NDArray[np.int64]
    targets: NDArray[np.int64]

    @classmethod
    def of_edges(cls, count: int, seed: int = 7) -> CodeGraph:
        """A graph of about ``count`` edges."""
        rng = np.random.default_rng(seed)
        most = min(MOST, count // 10)
        degrees = _degrees(rng, count, most)
        weights = _degrees(rng, count, most)[: len(degrees)].astype(np.float64)
        weights = np.resize(rng.permutation(weights), len(degrees))
        targets = rng.choice(len(degrees), size=int(degrees.sum()), p=weights / weights.sum())
        return cls(degrees, targets)

    def __len__(self) -> int:
        return len(self.degrees)

    def name(self, number: int) -> str:
        return f"src/package{number % 97}/module{number % 4999}.py::Class{number % 13}.function_{number}"

    def nodes(self) -> Iterator[Node]:
        return (Node(self.name(number), "function", {"line": number % 1000}) for number in range(len(self)))

    def edges(self, batch: int = 1000) -> Iterator[dict[str, list[Edge]]]:
        """The edges out of all nodes, those of ``batch`` nodes at a time."""
        ends = np.cumsum(self.degrees)
        for first in range(0, len(self), batch):
            numbers = range(first, min(first + batch, len(self)))
            yield {
                self.name(one): self._out(one, int(ends[one] - self.degrees[one]), int(ends[one])) for one in numbers
            }

    def _out(self, number: int, start: int, end: int) -> list[Edge]:
        source = self.name(number)
        return [
            Edge(source, TYPES[at % len(TYPES)], self.name(target), None, {"line": at % 1000})
            for at, target in enumerate(self.targets[start:end].tolist())
        ]

    def some_nodes(self, rng: np.random.Generator, count: int) -> list[str]:
        return [self.name(number) for number in rng.integers(0, len(self), count).tolist()]

    def ends_of_edges(self, rng: np.random.Generator, count: int) -> list[str]:
        """Nodes that edges lead to: the more do, the likelier one is among them."""
        return [self.name(number) for number in rng.choice(self.targets, count).tolist()]

    def told(self) -> str:
        into = np.bincount(self.targets, minlength=len(self))
        return (
            f"{len(self.targets):,} edges between {len(self):,} nodes; out of a node lead "
            f"{np.median(self.degrees):.0f} in the median and at most {self.degrees.max():,}, "
            f"into it {np.median(into):.0f} and {into.max():,}."
        )


def _degrees(rng: np.random.Generator, count: int, most: int) -> NDArray[np.int64]:
    drawn = rng.lognormal(np.log(MEDIAN), _SPREAD, count).round().clip(1, most).astype(np.int64)
    drawn[0] = most
    return drawn[: int(np.searchsorted(np.cumsum(drawn), count)) + 1]


def neighbour_times(store: Any, graph: CodeGraph, pick: Any, *, asked: int, limit: int, rounds: int) -> list[float]:
    """Milliseconds of each of ``rounds`` questions for the neighbours of ``asked`` nodes, in both directions.

    Each is asked three times, and the median counts, so that a disturbed pass does not.
    """
    rng = np.random.default_rng(11)
    questions = [pick(rng, asked) for _ in range(rounds)]
    times: list[list[float]] = [[] for _ in questions]
    with store.snapshot() as snapshot:
        for _ in range(3):
            for names, each in zip(questions, times, strict=True):
                began = time.perf_counter()
                snapshot.neighbours(names, direction="both", limit=limit)
                each.append((time.perf_counter() - began) * 1e3)
    return [median(each) for each in times]
