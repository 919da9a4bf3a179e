"""How well a selector commits: one setting, or which of many suits a corpus."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import CANDIDATES, CASES, EMBEDDER, HTML, MODE, REL, STRATEGY, TARGET
from ir.app.context import Context
from ir.app.discovering import AUTO, NO_FLOOR
from ir.app.fields import Arg
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
    """``k`` candidates are retrieved for each case, and the selector commits to some. ``min_score`` is a number,
    ``"auto"`` or ``"none"``; ``None`` takes the floor that :func:`ir.app.discovering.discover` would take, if any."""

    corpus: Annotated[str, TARGET]
    cases: Annotated[str, CASES]
    strategy: Annotated[str, STRATEGY] = "conservative"
    max_k: Annotated[int | None, Arg("keep at most so many", min=1, metavar="N", help="Keep at most so many (3).")] = (
        None
    )
    rel: Annotated[float | None, REL] = None
    min_score: Annotated[
        float | str | None,
        Arg(
            "the floor: a number, none or auto",
            metavar="FLOOR",
            help="A number, none, or auto. By default the floor that ir discover takes.",
            complete=("auto", "none"),
        ),
    ] = None
    k: Annotated[int, CANDIDATES] = 10
    mode: Annotated[str | None, MODE] = None
    embedder: Annotated[str | None, EMBEDDER] = None


@dataclass(frozen=True)
class EvalSelectResponse(Value):
    """``floor`` is what refused queries before the selector saw them, ``floor_from`` what it was made from."""

    corpus: str
    report: SelectionReport
    floor: float | None = None
    floor_from: str | None = None


@operation(
    "eval-select", summary="Measure what a selector keeps of what retrieval found", effect="reads", runs_long=True
)
def evaluate_select(request: EvalSelectRequest, ctx: Context) -> EvalSelectResponse:
    from ir.eval import evaluate_selection
    from ir.select.gate import find_gate

    judged = read_cases(request.cases, ctx)
    corpus = built_corpus(request.corpus, ctx, embedder=request.embedder)
    mode = request.mode or ctx.settings["mode"]
    gate = find_gate(corpus, mode)
    kept = AUTO if gate.floor is not None and request.strategy != "abs_threshold" else None
    floor = kept if request.min_score is None else None if request.min_score == NO_FLOOR else request.min_score
    report = evaluate_selection(
        corpus,
        judged.cases,
        strategy=request.strategy,
        k=request.k,
        mode=mode,
        min_score=floor,
        progress=ctx.progress,
        **given(max_k=request.max_k, rel=request.rel),
    )
    if floor == AUTO:
        return EvalSelectResponse(corpus.name, report, gate.floor, gate.origin)
    return EvalSelectResponse(corpus.name, report, None if floor is None else float(floor), "given" if floor else None)


@dataclass(frozen=True)
class SweepSelectRequest(Value):
    """Every combination of the grids is tried on one retrieval pass; an empty grid means the library's own."""

    corpus: Annotated[str, TARGET]
    cases: Annotated[str, CASES]
    max_k: Annotated[tuple[int, ...], Arg("sizes to try", min=1, metavar="N,…", help="Values to try (1,2,3,5,8).")] = ()
    rel: Annotated[
        tuple[float, ...],
        Arg("shares to try", min=0, max=1, metavar="SHARE,…", help="Values to try (0.4,0.5,0.6,0.7,0.8,0.9)."),
    ] = ()
    min_score: Annotated[tuple[float, ...], Arg("floors to try", metavar="FLOOR,…")] = ()
    objective: Annotated[
        str,
        Arg(
            "what to choose by",
            choices="ir.eval.selection:SELECTION_METRICS",
            metavar="METRIC",
            help="selection_f1, selection_precision, selection_recall, conditional_commit_rate, "
            "abstention_accuracy or mean_selected_size.",
        ),
    ] = "selection_f1"
    strategy: Annotated[str, STRATEGY] = "conservative"
    k: Annotated[int, CANDIDATES] = 10
    mode: Annotated[str | None, MODE] = None
    embedder: Annotated[str | None, EMBEDDER] = None
    html: Annotated[str | None, HTML] = None


@dataclass(frozen=True)
class SweepSelectResponse(Value):
    corpus: str
    sweep: SelectionSweep
    html: str | None = None


@operation(
    "sweep-select", summary="Find the selector setting that suits a corpus best", effect="writes", runs_long=True
)
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
        progress=ctx.progress,
        **{name: grid for name, grid in grids.items() if grid},
    )
    if page is not None:
        section = Section("Selector settings", report=sweep, images=[plot_frontier(sweep)])
        save_html_report(Path(page), f"{corpus.name}: {judged.path}", [section])
    return SweepSelectResponse(corpus.name, sweep, request.html)
