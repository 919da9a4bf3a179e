"""``ir gate``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from ir.cli.arguments import EVALUATING, Command, Json
from ir.cli.fields import derived
from ir.cli.visible import visible

if TYPE_CHECKING:
    from ir.app.gate import GateResponse
    from ir.cli.output import Output

__all__ = ["register"]

_WORDS = {"ship": "ship", "fallback": "roll to the fallback", "block": "block"}


def register(app: typer.Typer) -> None:
    made = derived(gate, "ir.app.gate:GateRequest", arguments=("file", "target"))
    app.command("gate", cls=Command, rich_help_panel=EVALUATING)(made)


def gate(*, as_json: Json = False, **given: Any) -> int:
    """Measure configurations on judged questions, and say whether the proposed one may ship.

    PLAN names questions, judgements, and configurations: the proposed one, and perhaps a baseline and a fallback. Each
    is asked every question. Exit codes: 0 ship, 4 roll to the fallback, 5 block; 2 and 3 as ever.
    """
    from ir.app.gate import GateRequest
    from ir.app.gate import gate as operation
    from ir.cli.session import perform

    response = perform(operation, GateRequest(**given), show, as_json=as_json)
    return response.report.exit_code


def show(response: GateResponse, output: Output) -> None:
    from ir.eval.gate_plan import SHAPES

    report = response.report
    header = ("configuration", "shape", "questions", f"nDCG@{report.k}", f"Recall@{report.k}", "p50 ms", "p95 ms")
    rows = [
        (
            one.name,
            shape,
            scores.questions,
            f"{scores.ndcg:.3f}",
            f"{scores.recall:.3f}",
            f"{scores.p50_ms:.1f}",
            f"{scores.p95_ms:.1f}",
        )
        for one in report.scores
        for shape in SHAPES
        if (scores := one.shapes.get(shape)) is not None
    ]
    output.table(header, rows, right=header[2:])
    words = {True: "yes", False: "no", None: "not measured"}
    lines = [
        (one.name, one.needed, "-" if one.measured is None else f"{one.measured:.4g}", words[one.met])
        for one in report.criteria
    ]
    output.table(("criterion", "needed", "measured", "met"), lines, right=("needed", "measured"))
    output.line(f"verdict: {_WORDS[report.verdict]}")
    output.line(report.why)
    for path in response.written:
        output.line(f"written: {path}")
    failed = sorted({error for one in report.scores for error in one.to_dict()["errors"]})
    for note in (*response.notes, *failed[:5]):
        print(visible(f"ir: {note}"), file=sys.stderr)
