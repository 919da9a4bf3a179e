"""``ir eval-select`` and ``ir sweep-select``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ir.cli.arguments import EVALUATING, Command, Json, one_of
from ir.cli.fields import derived
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.app.selecting import EvalSelectResponse, SweepSelectResponse
    from ir.cli.output import Output

__all__ = ["register"]

LISTED = 15


def register(app: typer.Typer) -> None:
    made = derived(
        eval_select, "ir.app.selecting:EvalSelectRequest", arguments=("corpus", "cases"), without=("min_score",)
    )
    app.command("eval-select", cls=Command, rich_help_panel=EVALUATING)(made)
    made = derived(
        sweep_select,
        "ir.app.selecting:SweepSelectRequest",
        arguments=("corpus", "cases"),
        without=("max_k", "rel", "min_score"),
    )
    app.command("sweep-select", cls=Command, rich_help_panel=EVALUATING)(made)


def eval_select(
    *,
    min_score: Annotated[
        str | None,
        typer.Option(
            "--min-score",
            metavar="FLOOR",
            help="A number, none, or auto. By default the floor that ir discover takes.",
            autocompletion=one_of("auto", "none"),
        ),
    ] = None,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Measure what a selector keeps of what retrieval found.

    Cases whose answer was not among the candidates are left out: those are misses of retrieval.
    """
    from ir.app.selecting import EvalSelectRequest, evaluate_select
    from ir.cli.evaluate import read_floor
    from ir.cli.session import perform

    request = EvalSelectRequest(min_score=read_floor(min_score, none="none"), **given)
    perform(evaluate_select, request, show_selection, as_json=as_json)


def sweep_select(
    *,
    max_k: Annotated[str | None, typer.Option("--max-k", metavar="N,…", help="Values to try (1,2,3,5,8).")] = None,
    rel: Annotated[
        str | None, typer.Option("--rel", metavar="SHARE,…", help="Values to try (0.4,0.5,0.6,0.7,0.8,0.9).")
    ] = None,
    min_score: Annotated[str | None, typer.Option("--min-score", metavar="FLOOR,…", help="Floors to try.")] = None,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Find the selector setting that suits a corpus best.

    Each query is searched once for all settings. A * marks those that no other beats on precision without losing
    recall.
    """
    from ir.app.selecting import SweepSelectRequest
    from ir.app.selecting import sweep_select as operation
    from ir.cli.session import perform

    request = SweepSelectRequest(
        max_k=tuple(int(value) for value in _grid("--max-k", max_k, whole=True)),
        rel=_grid("--rel", rel),
        min_score=_grid("--min-score", min_score),
        **given,
    )
    perform(operation, request, show_sweep, as_json=as_json)


def _grid(option: str, words: str | None, *, whole: bool = False) -> tuple[float, ...]:
    """The numbers of a list like ``0.7,0.8``."""
    found = []
    for word in (words or "").split(",") if words else ():
        try:
            found.append(float(int(word)) if whole else float(word))
        except ValueError:
            kind = "whole numbers" if whole else "numbers"
            raise InvalidInput(f"{option} takes {kind} separated by commas, not {words!r}.") from None
    return tuple(found)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def show_selection(response: EvalSelectResponse, output: Output) -> None:
    report = response.report
    output.line(
        f"{response.corpus}: {report.n_cases:,} cases, {report.n_gold_retrieved:,} with an answer among the {report.k} "
        f"candidates; {report.strategy}, {report.mode}"
    )
    output.pairs(
        {
            "floor": "none" if response.floor is None else f"{response.floor:.3f} ({response.floor_from})",
            "precision": _figure(report.selection_precision),
            "recall": _figure(report.selection_recall),
            "F1": _figure(report.selection_f1),
            "commits to an answer": _figure(report.conditional_commit_rate),
            "mean size": _figure(report.mean_selected_size),
            "refuses what nothing answers": _figure(report.abstention_accuracy),
        }
    )


def show_sweep(response: SweepSelectResponse, output: Output) -> None:
    sweep = response.sweep
    front = {id(point) for point in sweep.frontier()}
    best = sweep.best()
    ranked = sorted(sweep.points, key=lambda point: -(point.value(sweep.objective) or 0.0))
    if sweep.objective == "mean_selected_size":
        ranked.reverse()
    refusals = sweep.n_abstention > 0
    rows = []
    for point in ranked if not output.pretty else ranked[:LISTED]:
        report = point.report
        figures = [report.selection_precision, report.selection_recall, report.selection_f1, report.mean_selected_size]
        figures += [report.abstention_accuracy] if refusals else []
        mark = "best" if point is best else "*" if id(point) in front else ""
        floor = "-" if point.min_score is None else f"{point.min_score:g}"
        rows.append((mark, point.max_k, f"{point.rel:g}", floor, *map(_figure, figures)))
    header = ["", "max_k", "rel", "floor", "precision", "recall", "F1", "size"] + ["refused"] * refusals
    output.line(
        f"{response.corpus}: {len(sweep.points)} settings on {sweep.n_gold_retrieved:,} cases, "
        f"best by {sweep.objective.replace('_', ' ')} first"
    )
    output.table(header, rows, right=header[1:])
    if len(rows) < len(sweep.points):
        output.line(f"… and {len(sweep.points) - len(rows)} more; --json lists them all")
    if response.html:
        output.line(f"written: {response.html}")
