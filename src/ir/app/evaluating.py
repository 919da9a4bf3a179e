"""Is a corpus any good? Measured on cases of the user's own, or the whole library on a test collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import CASES, CHAPTERS, EMBEDDER, FUSION, GRAPH, HTML, MODE, TARGET
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.judged import Judged, built_corpus, case_file, new_file, read_cases, refuse_files
from ir.app.measuring import MEASURES, SYSTEMS, CollectionScores, Run, measure_collections
from ir.app.operation import Value, operation
from ir.app.search_defaults import graph_in_force, search_options
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.eval import BeirDataset, DiscoveryReport
    from ir.eval.page import Section
    from ir.index import Corpus

__all__ = ["SYSTEMS", "CollectionScores", "EvalRequest", "EvalResponse", "evaluate"]

_DEPTH = 100


@dataclass(frozen=True)
class EvalRequest(Value):
    """A built ``corpus`` with its ``cases``, or ``collections``: folders at or below which there are collections in
    BEIR's layout, each of which is built anew to be measured.

    ``run`` names a file (for collections, a folder) that the rankings are written to in TREC's format, and ``html`` a
    page with the tables and their plots. ``min_score`` is a floor for abstention cases, or ``"auto"``. With ``tune``
    collections are also searched as tuned: each half of the queries by what the other half chooses. With ``save`` what
    was measured on cases is kept in the workspace, with all rankings and under a ``label``.
    """

    corpus: Annotated[str | None, TARGET] = None
    cases: Annotated[str | None, CASES] = None
    collections: Annotated[
        tuple[str, ...],
        Arg("folders at or below which there are test collections", blank=False, metavar="FOLDER", private=True),
    ] = ()
    mode: Annotated[str | None, MODE] = None
    fusion: Annotated[str | None, FUSION] = None
    k: Annotated[
        int,
        Arg(
            "an answer counts as surfaced among the first so many",
            min=1,
            max=1000,
            short="-k",
            metavar="N",
            help="An answer counts as surfaced among the first N.",
        ),
    ] = 10
    min_score: Annotated[
        float | str | None,
        Arg(
            "a number or auto: the floor for cases without an answer",
            metavar="FLOOR",
            help="A number or auto: the floor for cases without an answer.",
            complete=("auto",),
        ),
    ] = None
    embedder: Annotated[str | None, EMBEDDER] = None
    run: Annotated[
        str | None,
        Arg("also write the rankings as a TREC run; with beir a folder", blank=False, metavar="FILE", private=True),
    ] = None
    html: Annotated[str | None, HTML] = None
    tune: Annotated[
        bool,
        Arg(
            "also search collections as tuned, each half of the queries by the other's choice",
            help="With beir: also search as tuned, each half of the queries by the other's choice.",
            private=True,
        ),
    ] = False
    save: Annotated[bool, Arg("keep the run in the workspace, to be shown and compared by its id")] = False
    label: Annotated[str | None, Arg("a few words to know the run by", max_chars=200, metavar="TEXT")] = None
    graph: Annotated[str | None, GRAPH] = None
    chapters: Annotated[int | None, CHAPTERS] = None

    def __post_init__(self) -> None:
        if (self.save or self.label) and self.collections:
            raise InvalidInput("Runs are kept of a corpus and its cases.", remedy="For collections: --run FOLDER")
        if self.tune and not self.collections:
            raise InvalidInput("Tuning is measured on test collections.", remedy="For a corpus: ir tune CORPUS CASES")
        if bool(self.collections) == bool(self.corpus or self.cases):
            raise InvalidInput("Give a CORPUS and its CASES, or the folders of test collections.")
        if not self.collections and not (self.corpus and self.cases):
            raise InvalidInput("An evaluation needs both a CORPUS and its CASES.")


@dataclass(frozen=True)
class EvalResponse(Value):
    """``report`` for cases, ``collections`` for folders. ``drifted`` counts cases whose gold is not all indexed;
    ``broken`` says of folders that could not be measured why not. ``curves`` has each measure by depth, and ``saved``
    is the id of the run, where it was kept."""

    corpus: str | None = None
    report: DiscoveryReport | None = None
    drifted: int = 0
    floor: float | None = None
    collections: tuple[CollectionScores, ...] = ()
    broken: Mapping[str, str] = field(default_factory=dict)
    embedder: str | None = None
    run: str | None = None
    html: str | None = None
    saved: str | None = None
    curves: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def check_named(request: EvalRequest, ctx: Context) -> None:
    """Find what is not there, or may not be named, before any work begins."""
    refuse_files(ctx, collections=request.collections, run=request.run, html=request.html)
    if request.cases is not None and ctx.for_agent:
        case_file(request.cases, ctx)


@operation(
    "eval",
    summary="Measure how well a corpus answers cases, or the library on test collections",
    effect="writes",
    runs_long=True,
    doors=("cli", "http"),
    precheck=check_named,
)
def evaluate(request: EvalRequest, ctx: Context) -> EvalResponse:
    check_named(request, ctx)
    if request.html is not None:
        new_file(request.html)
    return _evaluate_collections(request, ctx) if request.collections else _evaluate_cases(request, ctx)


def _evaluate_cases(request: EvalRequest, ctx: Context) -> EvalResponse:
    from ir.eval import evaluate_discovery, make_run, save_run, validate_cases
    from ir.eval.plots import depth_curves

    judged = read_cases(str(request.cases), ctx)
    if not judged.queries:
        ctx.note("no case has an answer, so all that can be measured is what is refused")
    corpus = built_corpus(str(request.corpus), ctx, embedder=request.embedder)
    how = search_options(corpus, ctx, mode=request.mode, fusion=request.fusion)
    more = {"graph": graph_in_force(corpus, ctx, request.graph), "chapters": request.chapters}
    how |= {name: value for name, value in more.items() if value is not None}
    floor = _floor(corpus, request.min_score, how)
    drifted = validate_cases(corpus, judged.cases)
    if drifted:
        lost = next(iter(drifted.values()))[0]
        ctx.note(f"{len(drifted)} cases want something that is not in the corpus, among them {lost!r}")
    report = evaluate_discovery(
        corpus,
        judged.cases,
        primary_k=request.k,
        abstain_threshold=request.min_score,
        progress=ctx.progress,
        **how,
    )
    run: Run = {}
    if request.run or request.html or request.save:
        asked = dict(zip(judged.ids, (case.query for case in judged.cases), strict=True))
        run = make_run(corpus, asked if request.save else judged.queries, k=_DEPTH, progress=ctx.progress, **how)
    answered = {qid: scores for qid, scores in run.items() if qid in judged.queries}
    if request.run:
        save_run(answered, new_file(request.run), tag=str(how["mode"]))
    if request.html:
        title = f"{corpus.name}: {judged.path}"
        _page(request.html, title, [_case_section(report), *_plots({how["mode"]: answered}, judged)])
    curves = depth_curves(answered, judged.qrels)
    response = EvalResponse(
        corpus=corpus.name,
        report=report,
        drifted=len(drifted),
        floor=floor,
        embedder=corpus.embedder_id,
        run=request.run,
        html=request.html,
        curves=curves,
    )
    return replace(response, saved=_kept(request, response, corpus, judged, run, how)) if request.save else response


def _kept(
    request: EvalRequest, done: EvalResponse, corpus: Corpus, judged: Judged, run: Run, how: Mapping[str, Any]
) -> str:
    """Keep the run in the workspace; its id."""
    import ir
    from ir.eval.cases import case_id
    from ir.eval.discovery import gold_rank
    from ir.eval.kept import KeptQuery, KeptRun, keep_run, new_run_id
    from ir.eval.runs import ranking_of
    from ir.surrogates import storable

    report = done.report
    assert report is not None
    queries = []
    for at, (qid, case) in enumerate(zip(judged.ids, judged.cases, strict=True)):
        ranking = ranking_of(run[qid])
        judgements = {item: int(grade) for item, grade in judged.qrels.get(qid, case.judgements).items()}
        figures = report.retrieval.per_query.get(case_id(at), {})
        found = [(item, run[qid][item]) for item in ranking]
        rank = gold_rank(ranking, case.gold) or None
        queries.append(KeptQuery(qid, case.query, judgements, report.per_case[at], rank, figures, found))
    kept = KeptRun(
        id=new_run_id(),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        label=None if request.label is None else storable(request.label).strip() or None,
        corpus=corpus.name,
        cases=judged.name,
        mode=str(how["mode"]),
        settings={name: value for name, value in how.items() if value is not None} | {"k": request.k},
        embedder=done.embedder,
        version=ir.__version__,
        content_version=corpus.store.content_version,
        n_cases=report.n_cases,
        n_gold=report.n_gold,
        n_abstention=report.n_abstention,
        metrics=report.retrieval.metrics,
        outcomes=report.failure_classes,
        curves=done.curves,
        floor=done.floor,
        abstention_accuracy=report.abstention_accuracy,
        drifted=done.drifted,
        degraded=report.degraded,
    )
    keep_run(kept, queries)
    return kept.id


def _floor(corpus: Corpus, given: float | str | None, how: Mapping[str, Any]) -> float | None:
    if given is None or not isinstance(given, str):
        return given
    from ir.eval.signals import gate_for

    return gate_for(corpus, str(how["mode"]), given, how).floor


def _evaluate_collections(request: EvalRequest, ctx: Context) -> EvalResponse:
    from ir.eval import find_beir

    folder = None if request.run is None else _run_folder(request.run)
    embedder = request.embedder or _embedder(ctx)
    folders = [found for path in request.collections for found in find_beir(Path(path).expanduser())]
    sections: list[Section] = []

    def keep(data: BeirDataset, scores: CollectionScores, runs: Mapping[str, Run]) -> None:
        if folder is not None:
            _save(scores.name, runs, folder)
        if request.html:
            judged = Judged(scores.name, (), *data.answered())
            sections.extend([_collection_section(scores, embedder), *_plots(runs, judged)])

    scores, broken = measure_collections(folders, embedder, ctx, tuned=request.tune, keep=keep)
    if request.html:
        _page(request.html, "Test collections", sections)
    return EvalResponse(collections=tuple(scores), broken=broken, embedder=embedder, run=request.run, html=request.html)


def _embedder(ctx: Context) -> str:
    chosen = str(ctx.settings["embedder"])
    if chosen != "default":
        return chosen
    from ir.embed import best_available

    return best_available()


def _run_folder(path: str) -> Path:
    folder = Path(path).expanduser()
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{folder} is a file.", remedy="With collections, --run names a folder.")
    return folder


def _save(name: str, runs: Mapping[str, Run], folder: Path) -> None:
    from ir.eval import save_run

    for system, run in runs.items():
        save_run(run, folder / f"{name}.{system.lower()}.run", tag=system)


def _page(path: str, title: str, sections: Sequence[Section]) -> None:
    from ir.eval import save_html_report

    save_html_report(Path(path).expanduser(), title, sections)


def _case_section(report: DiscoveryReport) -> Section:
    from ir.eval import Section

    return Section("Retrieval and outcomes", report=report)


def _collection_section(scores: CollectionScores, embedder: str) -> Section:
    from ir.eval import Section
    from ir.eval.tables import plain_table

    header = [f"{scores.documents:,} documents, {scores.queries:,} queries, {embedder}", "nDCG@10", "Recall@100"]
    rows = [[name, *(values[measure] for measure in MEASURES)] for name, values in scores.scores.items()]
    return Section(scores.name, report=plain_table(header, rows))


def _plots(runs: Mapping[str, Run], judged: Judged) -> list[Section]:
    from ir.eval import Section, plot_by_k, run_by_k

    if not judged.qrels:
        return []
    images = []
    for metric, label in (("ndcg", "nDCG"), ("recall", "Recall")):
        curves = {name: run_by_k(run, judged.qrels, metric) for name, run in runs.items()}
        images.append(plot_by_k(curves, metric=label))
    return [Section("By depth", images=images)]
