"""``ir judge``, ``ir judged-sets``, ``ir runs`` and ``ir forget-run``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from ir.cli.arguments import EVALUATING, Command, Json
from ir.cli.fields import derived

if TYPE_CHECKING:
    from ir.app.judging import JudgedQueryShown, JudgedSetsResponse, JudgeResponse
    from ir.app.runs import ForgetRunResponse, RunsResponse
    from ir.cli.output import Output

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    made = derived(judge, "ir.app.judging:JudgeRequest", arguments=("set", "query", "items"))
    app.command("judge", cls=Command, rich_help_panel=EVALUATING)(made)
    made = derived(judged_sets, "ir.app.judging:JudgedSetsRequest", arguments=("name",))
    app.command("judged-sets", cls=Command, rich_help_panel=EVALUATING)(made)
    made = derived(runs, "ir.app.runs:RunsRequest", arguments=("id",))
    app.command("runs", cls=Command, rich_help_panel=EVALUATING)(made)
    made = derived(forget_run, "ir.app.runs:ForgetRunRequest", arguments=("id",))
    app.command("forget-run", cls=Command, rich_help_panel=EVALUATING)(made)


def judge(*, as_json: Json = False, **given: Any) -> None:
    """Say which items answer a query, in a set of cases that evaluation reads.

    ir eval CORPUS SET measures by it. With --corpus, an ID that is not in it is refused.
    """
    from ir.app.judging import JudgeRequest
    from ir.app.judging import judge as operation
    from ir.cli.session import perform

    perform(operation, JudgeRequest(**given), show_judged, as_json=as_json)


def judged_sets(*, as_json: Json = False, **given: Any) -> None:
    """List the sets of cases that were judged, or show one."""
    from ir.app.judging import JudgedSetsRequest
    from ir.app.judging import judged_sets as operation
    from ir.cli.session import perform

    perform(operation, JudgedSetsRequest(**given), show_sets, as_json=as_json)


def runs(*, as_json: Json = False, **given: Any) -> None:
    """List the evaluation runs that were kept, or show one query by query.

    ir eval --save keeps runs; ir compare takes their ids.
    """
    from ir.app.runs import RunsRequest
    from ir.app.runs import runs as operation
    from ir.cli.session import perform

    perform(operation, RunsRequest(**given), show_runs, as_json=as_json)


def forget_run(*, as_json: Json = False, **given: Any) -> None:
    """Remove an evaluation run that was kept."""
    from ir.app.runs import ForgetRunRequest
    from ir.app.runs import forget_run as operation
    from ir.cli.session import perform

    perform(operation, ForgetRunRequest(**given), show_forgotten, as_json=as_json)


def show_judged(response: JudgeResponse, output: Output) -> None:
    number = "" if response.change is None else f"; change {response.change}, which --undo takes back"
    told = "judgement" if response.changed == 1 else "judgements"
    output.line(f"{response.set}: {response.changed} {told} changed{number}")
    _show_queries(response.queries, output)


def show_sets(response: JudgedSetsResponse, output: Output) -> None:
    if not response.sets and not response.broken:
        print("ir: nothing was judged yet; begin: ir judge SET QUERY ID", file=sys.stderr)
        return
    header = ("set", "cases", "answered", "by nothing", "undecided", "judgements", "corpora")
    rows = [
        (
            *(one.name, one.cases, one.answered, one.unanswerable, one.undecided, one.judgements),
            ", ".join(one.corpora) or "-",
        )
        for one in response.sets
    ]
    output.table(header, rows, right=header[1:6])
    _show_queries(response.queries, output)
    for name, reason in response.broken.items():
        print(f"ir: {name} is not readable: {reason}", file=sys.stderr)


def _show_queries(queries: tuple[JudgedQueryShown, ...], output: Output) -> None:
    if not queries:
        return
    rows: list[tuple[object, ...]] = []
    for one in queries:
        if one.nothing:
            rows.append((one.id or "-", one.query, "-", "nothing answers it", ""))
        rows += [(one.id or "-", one.query, held.grade, held.item, held.note or "") for held in one.judgements]
    output.table(("id", "query", "grade", "item", "note"), rows, right=("grade",))


def show_runs(response: RunsResponse, output: Output) -> None:
    if not response.runs:
        print("ir: no run was kept; keep one: ir eval CORPUS CASES --save", file=sys.stderr)
        return
    header = ("run", "corpus", "cases", "mode", "embedder", "nDCG@10", "recall@10", "label")
    rows = [
        (
            *(run.id, run.corpus, run.cases, run.mode, run.embedder or "-"),
            *(_figure(run.metrics.get(name)) for name in ("ndcg@10", "recall@10")),
            run.label or "",
        )
        for run in response.runs
    ]
    output.table(header, rows, right=("nDCG@10", "recall@10"))
    if response.queries:
        names = list(dict.fromkeys(name for one in response.queries for name in one.figures))
        name = "ndcg@10" if "ndcg@10" in names else next(iter(names), "")
        lines = [
            (one.id, one.outcome, one.rank or "-", _figure(one.figures.get(name)), one.query)
            for one in response.queries
        ]
        output.table(("id", "outcome", "rank", name or "figure", "query"), lines, right=("rank", name))


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def show_forgotten(response: ForgetRunResponse, output: Output) -> None:
    from ir.cli.output import size

    told = "would be removed" if response.dry_run else "removed"
    output.line(f"{response.id}: {told}, {size(response.bytes)}")
