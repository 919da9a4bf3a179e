"""How the evaluation of books looks in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ir.app.book_evaluating import EvalBookResponse
    from ir.cli.output import Output
    from ir.eval.books import BookReport

__all__ = ["show_book"]

LISTED = 10
_HOW = {
    "id": "the chunk of that id",
    "artifact": "all chunks of an item",
    "span": "the quote, where it should be",
    "moved": "the quote, elsewhere in the book",
    "place": "all of the section or page",
    "missing": "not in the corpus",
}


def show_book(response: EvalBookResponse, output: Output) -> None:
    from ir.eval.books.report import ROUTING_COLUMNS, graph_columns

    report = response.report
    counts = report.counts
    said = f"{counts['questions']:,} questions" + (
        f" ({response.repeated:,} more are repeated)" * bool(response.repeated)
    )
    output.line(f"{', '.join(report.corpora)}: {said}, {counts['with_gold']:,} with gold", style="bold")
    output.row("evaluability", _figure(report.evaluability), f"{counts['evaluable']:,} of {counts['with_gold']:,}")
    ks = [f"@{k}" for k in report.ks]
    if report.metrics:
        rows = [[name, *map(_figure, values)] for name, *values in report.measure_rows()]
        output.table(("measure", *ks), rows, right=ks)
    output.table(("gold found by", "gold"), [(_HOW[how], n) for how, n in report.resolved.items()], right=("gold",))
    _show_missing(report, output)
    quotes = report.quotes
    told = "left out" if quotes["left_out"] else "counted"
    output.row("quote their gold", f"{quotes['questions']:,} questions, {told}")
    if report.routing is not None:
        rows = [[row[0], *map(_figure, row[1:])] for row in report.routing_rows()]
        output.table(ROUTING_COLUMNS, rows, right=ROUTING_COLUMNS[1:])
    if report.graph is not None:
        columns = graph_columns(report)
        output.table(columns, [[row[0], *map(_figure, row[1:])] for row in report.graph_rows()], right=columns[1:])
    for file in response.files:
        output.line(f"written: {file}")
    if response.saved:
        output.line(f"kept: {response.saved}")


def _show_missing(report: BookReport, output: Output) -> None:
    for at, (name, gold) in enumerate(report.missing.items()):
        if at == LISTED:
            output.line(f"… and {len(report.missing) - at} more; --json lists them all")
            break
        output.row("not in the corpus", name, ", ".join(_place(one) for one in gold))
    for name, questions in report.unknown_books.items():
        output.row("no such book", name, f"{questions:,} questions")


def _place(gold: object) -> str:
    told = gold if isinstance(gold, dict) else {}
    return str(told.get("id") or told.get("quote") or told.get("section") or told.get("page"))


def _figure(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return "-" if value is None else str(value)
