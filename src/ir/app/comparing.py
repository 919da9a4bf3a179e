"""Is one run better than another, or is it luck?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ir.app.arguments import HTML
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.judged import new_file, read_qrels, refuse_files
from ir.app.operation import Value, given, operation
from ir.app.runs import visible_run
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.eval import RunComparison
    from ir.eval.runs import Qrels, Run

__all__ = ["CompareRequest", "CompareResponse", "compare"]


@dataclass(frozen=True)
class CompareRequest(Value):
    """Two runs: TREC files, or ids of runs that were kept. Files are judged by ``qrels``: TREC or BEIR judgements, a
    set or a file of cases, or a BEIR folder. Runs that were kept are judged as the second was, unless others are given;
    their queries are paired by their texts, since the numbers of cases change."""

    run_a: Annotated[str, Arg("the id of a run that was kept, or a TREC run", blank=False, metavar="RUN_A")]
    run_b: Annotated[str, Arg("another, on the same queries", blank=False, metavar="RUN_B")]
    qrels: Annotated[
        str | None,
        Arg(
            "judgements for TREC runs: TREC or BEIR, a set or a file of cases, or a BEIR folder",
            blank=False,
            short="-q",
            metavar="FILE",
        ),
    ] = None
    measures: Annotated[
        tuple[str, ...],
        Arg("such as ndcg@10, recall@100, mrr@10", blank=False, flag="--measure", metavar="NAME", max_items=50),
    ] = ()
    html: Annotated[str | None, HTML] = None


@dataclass(frozen=True)
class CompareResponse(Value):
    """``queries`` holds the texts of the queries, where what they are judged by has them, and ``curves`` each measure
    by depth: by measure, by run. ``unpaired`` queries are in one of the runs only, and count in neither."""

    comparison: RunComparison
    html: str | None = None
    queries: Mapping[str, str] = field(default_factory=dict)
    curves: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    unpaired: int = 0


@dataclass(frozen=True)
class _Side:
    """A run to be compared; one that was kept has its own judgements and queries."""

    name: str
    run: Run
    qrels: Qrels | None = None
    queries: Mapping[str, str] = field(default_factory=dict)


@operation(
    "compare",
    summary="Compare two runs query by query, with paired tests",
    effect="reads",
    doors=("cli", "http"),
    scope="workspace",
)
def compare(request: CompareRequest, ctx: Context) -> CompareResponse:
    from ir.eval import compare_runs
    from ir.eval.plots import depth_curves
    from ir.index import Progress

    refuse_files(ctx, html=request.html)
    page = None if request.html is None else new_file(request.html)
    one, two = (_side(word, ctx) for word in (request.run_a, request.run_b))
    names = _names(one.name, two.name, request)
    ctx.progress(Progress("compare", 0, None))
    judged, queries, unpaired = _judged(request, one, two, ctx)
    qrels = {qid: grades for qid, grades in judged.items() if any(grade > 0 for grade in grades.values())}
    first, second = _renamed(one, queries), _renamed(two, queries)
    comparison = compare_runs(first, second, qrels, names=names, **given(measures=request.measures or None))
    runs = dict(zip(names, (first, second), strict=True))
    by_run = {name: depth_curves(run, qrels) for name, run in runs.items()}
    measured = dict.fromkeys(measure for curves in by_run.values() for measure in curves)
    curves = {measure: {name: held[measure] for name, held in by_run.items()} for measure in measured}
    if page is not None:
        _write_page(page, names, comparison, curves)
    ctx.progress(Progress("compare", 1, 1))
    return CompareResponse(comparison, request.html, queries, curves, unpaired)


def _side(word: str, ctx: Context) -> _Side:
    """A run by its id; for the user also a file."""
    from ir.eval.kept import as_run, kept_queries

    place = Path(word).expanduser()
    if not ctx.for_agent and place.exists():
        from ir.eval import load_run

        return _Side(place.stem, load_run(place))
    run, qrels, queries = as_run(kept_queries(visible_run(word, ctx).id))
    return _Side(word, run, qrels, queries)


def _judged(request: CompareRequest, one: _Side, two: _Side, ctx: Context) -> tuple[Qrels, Mapping[str, str], int]:
    """The judgements that both are held against, the texts of the queries, and how many are not in both."""
    if request.qrels is not None:
        qrels, queries = read_qrels(request.qrels, ctx)
    elif two.qrels is not None:
        qrels, queries = two.qrels, two.queries
    elif one.qrels is not None:
        qrels, queries = one.qrels, one.queries
    else:
        raise InvalidInput("compare needs judgements.", remedy="Give them with --qrels FILE.")
    asked = [set(side.queries.values()) for side in (one, two) if side.queries]
    if not asked or not queries:
        return qrels, queries, 0
    both = set.intersection(*asked, set(queries.values()))
    kept = {qid: text for qid, text in queries.items() if text in both}
    if not kept:
        raise InvalidInput("The runs have no query in common.", remedy="Compare runs on the same cases.")
    unpaired = len(set.union(*asked, set(queries.values())) - both)
    return {qid: grades for qid, grades in qrels.items() if qid in kept}, kept, unpaired


def _renamed(side: _Side, queries: Mapping[str, str]) -> Run:
    """A run that was kept by the query ids of the judgements: the same text is the same query."""
    if not side.queries:
        return side.run
    by_text = {text: qid for qid, text in side.queries.items()}
    return {qid: side.run[by_text[text]] for qid, text in queries.items() if text in by_text}


def _write_page(
    page: Path,
    names: tuple[str, str],
    comparison: RunComparison,
    curves: Mapping[str, Mapping[str, Mapping[str, float]]],
) -> None:
    from ir.eval import Section, plot_by_k, save_html_report

    pictures = [
        plot_by_k(
            {name: {int(k): value for k, value in by_k.items()} for name, by_k in curves[metric].items()}, metric=label
        )
        for metric, label in (("ndcg", "nDCG"), ("recall", "Recall"))
    ]
    sections = [
        Section("Means and paired tests", report=comparison),
        Section("Queries that changed most", report=comparison.changes_table(n=25)),
        Section("By depth", images=pictures),
    ]
    save_html_report(page, f"{names[0]} and {names[1]}", sections)


def _names(one: str, two: str, request: CompareRequest) -> tuple[str, str]:
    """What to call the runs: their file names or ids, or the whole paths if those are the same."""
    if one != two:
        return one, two
    if request.run_a != request.run_b:
        return request.run_a, request.run_b
    return f"{one} (a)", f"{two} (b)"
