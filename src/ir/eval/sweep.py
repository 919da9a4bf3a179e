"""Which selector setting suits a corpus: every setting of a grid, from one retrieval pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from ir.errors import InvalidInput
from ir.eval.cases import DiscoveryCase
from ir.eval.retrieval import DFLT_MODE, retrieve_cases
from ir.eval.selection import SELECTION_METRICS, SelectionReport, score_selection
from ir.eval.tables import plain_table
from ir.index.progress import Listener
from ir.options import choice
from ir.protocols import CorpusOrName
from ir.select.selectors import DFLT_GAP_RATIO

__all__ = [
    "DFLT_SWEEP_MAX_K",
    "DFLT_SWEEP_MIN_SCORE",
    "DFLT_SWEEP_OBJECTIVE",
    "DFLT_SWEEP_REL",
    "SelectionGridPoint",
    "SelectionSweep",
    "sweep_selector",
]

DFLT_SWEEP_MAX_K = (1, 2, 3, 5, 8)
DFLT_SWEEP_REL = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
DFLT_SWEEP_MIN_SCORE: tuple[float | None, ...] = (None,)
DFLT_SWEEP_OBJECTIVE = "selection_f1"
_SMALLER_IS_BETTER = frozenset({"mean_selected_size"})


@dataclass(frozen=True)
class SelectionGridPoint:
    """One setting and what it scored."""

    max_k: int
    rel: float
    min_score: float | None
    report: SelectionReport

    @property
    def params(self) -> dict[str, Any]:
        """The setting as keywords of :func:`ir.select`."""
        return {"max_k": self.max_k, "rel": self.rel, "min_score": self.min_score}

    def value(self, metric: str) -> float | None:
        found: float | None = getattr(self.report, choice("selection metric", metric, SELECTION_METRICS))
        return found

    def to_dict(self) -> dict[str, Any]:
        return {**self.params, "report": self.report.to_dict()}


def _goodness(point: SelectionGridPoint, metric: str, *, minimize: bool | None = None) -> float:
    """Larger is better, whatever the metric; a setting without a value comes last."""
    value = point.value(metric)
    if value is None:
        return float("-inf")
    smaller = metric in _SMALLER_IS_BETTER if minimize is None else minimize
    return -value if smaller else value


@dataclass(frozen=True)
class SelectionSweep:
    """Every setting that :func:`sweep_selector` tried, in grid order."""

    points: list[SelectionGridPoint]
    objective: str
    strategy: str
    mode: str
    k: int
    n_cases: int
    n_gold: int
    n_abstention: int
    n_gold_retrieved: int

    def best(self, metric: str | None = None, *, minimize: bool | None = None) -> SelectionGridPoint:
        """The best setting by ``metric`` (default: the sweep's objective); the earlier one wins a tie."""
        if not self.points:
            raise InvalidInput("The sweep is empty, so no setting is the best.", remedy="Give every grid a value.")
        return max(self.points, key=lambda point: _goodness(point, metric or self.objective, minimize=minimize))

    def frontier(self, *, x: str = "selection_recall", y: str = "selection_precision") -> list[SelectionGridPoint]:
        """The settings that no other beats on one of the two metrics without losing on the other, by rising ``x``."""
        ranked = sorted(self.points, key=lambda point: (-_goodness(point, x), -_goodness(point, y)))
        front: list[SelectionGridPoint] = []
        for point in ranked:
            level = _goodness(point, y)
            best_y = _goodness(front[-1], y) if front else float("-inf")
            same = bool(front) and level == best_y and _goodness(point, x) == _goodness(front[-1], x)
            if not front or level > best_y or same:
                front.append(point)
        return front[::-1]

    def table(self, *, sort_by: str | None = None) -> str:
        """One line for each setting, best first."""
        metric = sort_by or self.objective
        rows = sorted(self.points, key=lambda point: -_goodness(point, metric))
        floors = any(point.min_score is not None for point in self.points)
        refusals = self.n_abstention > 0
        header = ["max_k", "rel"] + ["min_score"] * floors + ["precision", "recall", "F1", "commit", "size"]
        body = []
        for point in rows:
            report = point.report
            line: list[object] = [point.max_k, f"{point.rel:g}"] + [point.min_score] * floors
            line += [report.selection_precision, report.selection_recall, report.selection_f1]
            line += [report.conditional_commit_rate, report.mean_selected_size]
            body.append(line + [report.abstention_accuracy] * refusals)
        return plain_table(header + ["abstention"] * refusals, body)

    def to_dict(self) -> dict[str, Any]:
        return {
            "objective": self.objective,
            "strategy": self.strategy,
            "mode": self.mode,
            "k": self.k,
            "n_cases": self.n_cases,
            "n_gold": self.n_gold,
            "n_abstention": self.n_abstention,
            "n_gold_retrieved": self.n_gold_retrieved,
            "best": self.best().to_dict() if self.points else None,
            "points": [point.to_dict() for point in self.points],
        }

    def __str__(self) -> str:
        return f"{len(self.points)} settings on {self.n_cases} cases, best {self.objective} first\n{self.table()}"


def sweep_selector(
    corpus: CorpusOrName,
    cases: Sequence[DiscoveryCase],
    *,
    strategy: str | Callable[..., Any] = "conservative",
    mode: str = DFLT_MODE,
    k: int = 10,
    surfaces: Iterable[str] | None = None,
    max_k_grid: Sequence[int] = DFLT_SWEEP_MAX_K,
    rel_grid: Sequence[float] = DFLT_SWEEP_REL,
    min_score_grid: Sequence[float | None] = DFLT_SWEEP_MIN_SCORE,
    gap_ratio: float = DFLT_GAP_RATIO,
    objective: str = DFLT_SWEEP_OBJECTIVE,
    progress: Listener | None = None,
    **search_kw: Any,
) -> SelectionSweep:
    """Score every combination of the grids. Each query is searched once, for all of them."""
    choice("selection metric", objective, SELECTION_METRICS)
    for name, grid in (("max_k_grid", max_k_grid), ("rel_grid", rel_grid), ("min_score_grid", min_score_grid)):
        if not list(grid):
            raise InvalidInput(f"{name} is empty; give it at least one value.")
    retrieved = retrieve_cases(corpus, cases, mode=mode, k=k, surfaces=surfaces, progress=progress, **search_kw)
    points = []
    for max_k, rel, floor in product(max_k_grid, rel_grid, min_score_grid):
        setting: dict[str, Any] = {"max_k": max_k, "rel": rel, "min_score": floor, "gap_ratio": gap_ratio}
        report = score_selection(retrieved, strategy=strategy, mode=mode, k=k, **setting)
        points.append(SelectionGridPoint(max_k=max_k, rel=rel, min_score=floor, report=report))
    first = points[0].report
    return SelectionSweep(
        points=points,
        objective=objective,
        strategy=first.strategy,
        mode=mode,
        k=k,
        n_cases=first.n_cases,
        n_gold=first.n_gold,
        n_abstention=first.n_abstention,
        n_gold_retrieved=first.n_gold_retrieved,
    )
