"""How well a selector commits: one setting, or which of many suits a corpus."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.app.context import Context
from ir.app.judged import built_corpus, new_file, read_cases
from ir.app.operation import Value, given, operation

if TYPE_CHECKING:
    from ir.eval import SelectionReport, SelectionSweep

__all__ = [
    "EvalSelectRequest",
    "EvalSelectResponse",
    "SweepSelectRequest",
    "SweepSelectResponse",
    "evaluate_select",
    "sweep_select",
]


@dataclass(frozen=True)
class EvalSelectRequest(Value):
    """``k`` candidates are retrieved for each case, and the selector commits to some; ``min_score`` may be "auto"."""

    corpus: str
    cases: str
    strategy: str = "conservative"
    max_k: int | None = None
    rel: float | None = None
    min_score: float | str | None = None
    k: int = 10
    mode: str | None = None
    embedder: str | None = None


@dataclass(frozen=True)
class EvalSelectResponse(Value):
    corpus: str
    report: SelectionReport


@operation("eval-select", summary="Measure what a selector keeps of what retrieval found", read_only=True)
def evaluate_select(request: EvalSelectRequest, ctx: Context) -> EvalSelectResponse:
    from ir.eval import evaluate_selection

    judged = read_cases(request.cases, ctx)
    corpus = built_corpus(request.corpus, ctx, embedder=request.embedder)
    report = evaluate_selection(
        corpus,
        judged.cases,
        strategy=request.strategy,
        k=request.k,
        mode=request.mode or ctx.settings["mode"],
        **given(max_k=request.max_k, rel=request.rel, min_score=request.min_score),
    )
    return EvalSelectResponse(corpus.name, report)


@dataclass(frozen=True)
class SweepSelectRequest(Value):
    """Every combination of the grids is tried on one retrieval pass; an empty grid means the library's own."""

    corpus: str
    cases: str
    max_k: tuple[int, ...] = ()
    rel: tuple[float, ...] = ()
    min_score: tuple[float, ...] = ()
    objective: str = "selection_f1"
    strategy: str = "conservative"
    k: int = 10
    mode: str | None = None
    embedder: str | None = None
    html: str | None = None


@dataclass(frozen=True)
class SweepSelectResponse(Value):
    corpus: str
    sweep: SelectionSweep
    html: str | None = None


@operation("sweep-select", summary="Find the selector setting that suits a corpus best")
def sweep_select(request: SweepSelectRequest, ctx: Context) -> SweepSelectResponse:
    from ir.eval import Section, plot_frontier, save_html_report, sweep_selector

    page = None if request.html is None else new_file(request.html)
    judged = read_cases(request.cases, ctx)
    corpus = built_corpus(request.corpus, ctx, embedder=request.embedder)
    grids: dict[str, Any] = {"max_k_grid": request.max_k, "rel_grid": request.rel, "min_score_grid": request.min_score}
    sweep = sweep_selector(
        corpus,
        judged.cases,
        strategy=request.strategy,
        k=request.k,
        mode=request.mode or ctx.settings["mode"],
        objective=request.objective,
        **{name: grid for name, grid in grids.items() if grid},
    )
    if page is not None:
        section = Section("Selector settings", report=sweep, images=[plot_frontier(sweep)])
        save_html_report(Path(page), f"{corpus.name}: {judged.path}", [section])
    return SweepSelectResponse(corpus.name, sweep, request.html)
