"""Is one run better than another, or is it luck?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ir.app.arguments import HTML
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.judged import new_file, read_qrels
from ir.app.operation import Value, given, operation

if TYPE_CHECKING:
    from ir.eval import RunComparison

__all__ = ["CompareRequest", "CompareResponse", "compare"]


@dataclass(frozen=True)
class CompareRequest(Value):
    """Two TREC runs and what they are judged by: TREC or BEIR judgements, a file of cases, or a BEIR folder."""

    run_a: Annotated[str, Arg("a TREC run", blank=False, metavar="RUN_A", help="A TREC run.")]
    run_b: Annotated[str, Arg("another, on the same queries", blank=False, metavar="RUN_B")]
    qrels: Annotated[
        str, Arg("judgements (TREC or BEIR), cases, or a BEIR folder", blank=False, short="-q", metavar="FILE")
    ]
    measures: Annotated[
        tuple[str, ...],
        Arg("such as ndcg@10, recall@100, mrr@10", blank=False, flag="--measure", metavar="NAME"),
    ] = ()
    html: Annotated[str | None, HTML] = None


@dataclass(frozen=True)
class CompareResponse(Value):
    """``queries`` holds the texts of the queries, where what they are judged by has them."""

    comparison: RunComparison
    html: str | None = None
    queries: Mapping[str, str] = field(default_factory=dict)


@operation("compare", summary="Compare two runs query by query, with paired tests", effect="writes", scope="machine")
def compare(request: CompareRequest, ctx: Context) -> CompareResponse:
    from ir.eval import compare_runs, load_run
    from ir.index import Progress

    page = None if request.html is None else new_file(request.html)
    qrels, queries = read_qrels(request.qrels, ctx)
    one, two = (load_run(Path(path).expanduser()) for path in (request.run_a, request.run_b))
    names = _names(request.run_a, request.run_b)
    ctx.progress(Progress("compare", 0, None))
    comparison = compare_runs(one, two, qrels, names=names, **given(measures=request.measures or None))
    if page is not None:
        from ir.eval import Section, plot_by_k, run_by_k, save_html_report

        runs = dict(zip(names, (one, two), strict=True))
        pictures = []
        for metric, label in (("ndcg", "nDCG"), ("recall", "Recall")):
            curves = {name: run_by_k(run, qrels, metric) for name, run in runs.items()}
            pictures.append(plot_by_k(curves, metric=label))
        sections = [
            Section("Means and paired tests", report=comparison),
            Section("Queries that changed most", report=comparison.changes_table(n=25)),
            Section("By depth", images=pictures),
        ]
        save_html_report(page, f"{names[0]} and {names[1]}", sections)
    ctx.progress(Progress("compare", 1, 1))
    return CompareResponse(comparison, request.html, queries)


def _names(a: str, b: str) -> tuple[str, str]:
    """What to call the runs: their file names, or the whole paths if those are the same."""
    one, two = Path(a).stem, Path(b).stem
    return (one, two) if one != two else (a, b) if a != b else (f"{one} (a)", f"{two} (b)")
