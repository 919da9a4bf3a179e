"""Is a corpus any good? Measured on cases of the user's own, or the whole library on a test collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.app.context import Context
from ir.app.judged import Judged, built_corpus, new_file, read_cases
from ir.app.operation import Value, operation
from ir.app.ways import search_options
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.eval import BeirDataset, DiscoveryReport
    from ir.eval.page import Section
    from ir.index import Corpus

__all__ = ["SYSTEMS", "CollectionScores", "EvalRequest", "EvalResponse", "evaluate"]

#: The ways to search that a collection is measured with.
SYSTEMS: Mapping[str, Mapping[str, str]] = {
    "BM25": {"mode": "lexical"},
    "dense": {"mode": "dense"},
    "RRF": {"mode": "hybrid", "fusion": "rrf"},
    "default": {"mode": "hybrid"},
}
_DEPTH = 100
_MEASURES = ("ndcg@10", "recall@100")

Run = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class EvalRequest(Value):
    """A built ``corpus`` with its ``cases``, or ``collections``: BEIR folders, each built anew to be measured.

    ``run`` names a file (for collections, a folder) that the rankings are written to in TREC's format, and ``html`` a
    page with the tables and their plots. ``min_score`` is a floor for abstention cases, or ``"auto"``. With ``tune``
    collections are also searched as tuned: each half of the queries by what the other half chooses.
    """

    corpus: str | None = None
    cases: str | None = None
    collections: tuple[str, ...] = ()
    mode: str | None = None
    fusion: str | None = None
    k: int = 10
    min_score: float | str | None = None
    embedder: str | None = None
    run: str | None = None
    html: str | None = None
    tune: bool = False

    def __post_init__(self) -> None:
        if self.tune and not self.collections:
            raise InvalidInput("Tuning is measured on test collections.", remedy="For a corpus: ir tune CORPUS CASES")
        if bool(self.collections) == bool(self.corpus or self.cases):
            raise InvalidInput("Give a CORPUS and its CASES, or the folders of test collections.")
        if not self.collections and not (self.corpus and self.cases):
            raise InvalidInput("An evaluation needs both a CORPUS and its CASES.")


@dataclass(frozen=True)
class CollectionScores(Value):
    """One collection: for each way to search its measures, and for each but RRF how likely its difference to RRF (in
    nDCG@10, by a paired randomization test) is by luck alone."""

    name: str
    documents: int
    queries: int
    scores: Mapping[str, Mapping[str, float]]
    p_against_rrf: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class EvalResponse(Value):
    """``report`` for cases, ``collections`` for folders. ``drifted`` counts cases whose gold is not all indexed."""

    corpus: str | None = None
    report: DiscoveryReport | None = None
    drifted: int = 0
    floor: float | None = None
    collections: tuple[CollectionScores, ...] = ()
    embedder: str | None = None
    run: str | None = None
    html: str | None = None


@operation("eval", summary="Measure how well a corpus answers cases, or the library on test collections")
def evaluate(request: EvalRequest, ctx: Context) -> EvalResponse:
    if request.html is not None:
        new_file(request.html)
    return _evaluate_collections(request, ctx) if request.collections else _evaluate_cases(request, ctx)


def _evaluate_cases(request: EvalRequest, ctx: Context) -> EvalResponse:
    from ir.eval import evaluate_discovery, make_run, save_run, validate_cases

    judged = read_cases(str(request.cases), ctx)
    if not judged.queries:
        ctx.note("no case has an answer, so all that can be measured is what is refused")
    corpus = built_corpus(str(request.corpus), ctx, embedder=request.embedder)
    how = search_options(corpus, ctx, mode=request.mode, fusion=request.fusion)
    floor = _floor(corpus, request.min_score, how)
    drifted = validate_cases(corpus, judged.cases)
    if drifted:
        lost = next(iter(drifted.values()))[0]
        ctx.note(f"{len(drifted)} cases want something that is not in the corpus, among it {lost!r}")
    report = evaluate_discovery(corpus, judged.cases, primary_k=request.k, abstain_threshold=request.min_score, **how)
    run = make_run(corpus, judged.queries, k=_DEPTH, **how) if request.run or request.html else {}
    if request.run:
        save_run(run, new_file(request.run), tag=str(how["mode"]))
    if request.html:
        _page(
            request.html, f"{corpus.name}: {judged.path}", [_case_section(report), *_plots({how["mode"]: run}, judged)]
        )
    return EvalResponse(
        corpus=corpus.name,
        report=report,
        drifted=len(drifted),
        floor=floor,
        embedder=corpus.embedder_id,
        run=request.run,
        html=request.html,
    )


def _floor(corpus: Corpus, given: float | str | None, how: Mapping[str, Any]) -> float | None:
    if given is None or not isinstance(given, str):
        return given
    from ir.eval.signals import gate_for

    return gate_for(corpus, str(how["mode"]), given, how).floor


def _evaluate_collections(request: EvalRequest, ctx: Context) -> EvalResponse:
    from ir.eval import load_beir

    folder = None if request.run is None else _run_folder(request.run)
    embedder = request.embedder or _embedder(ctx)
    data = [load_beir(Path(path).expanduser()) for path in request.collections]
    sections: list[Section] = []
    scores = []
    for item in data:
        runs = _runs(item, embedder, ctx, tuned=request.tune)
        scores.append(_scores(item, runs))
        if folder is not None:
            _save(item.name, runs, folder)
        if request.html:
            judged = Judged(item.name, (), item.queries, _relevant(item))
            sections += [_collection_section(scores[-1]), *_plots(runs, judged)]
    if request.html:
        _page(request.html, "Test collections", sections)
    return EvalResponse(collections=tuple(scores), embedder=str(embedder), run=request.run, html=request.html)


def _embedder(ctx: Context) -> str:
    chosen = str(ctx.settings["embedder"])
    if chosen != "default":
        return chosen
    from ir.embed import best_available

    return best_available()


def _runs(data: BeirDataset, embedder: str, ctx: Context, *, tuned: bool) -> dict[str, Run]:
    """The collection built by itself, out of the way of the user's corpora, and searched in every way."""
    import tempfile

    from ir.eval import make_run
    from ir.index import Progress, build
    from ir.sources import CorpusSource
    from ir.store import LocalStore
    from ir.strategy import WholeText

    source = CorpusSource.from_mapping(data.corpus, name=data.name, strategy=WholeText(text_key="text"))
    judged = {qid: data.queries[qid] for qid in _relevant(data)}
    with tempfile.TemporaryDirectory(prefix="ir-eval-") as folder, LocalStore(Path(folder) / "corpus") as store:
        corpus = build(source, store=store, embedder=embedder, progress=ctx.progress)
        runs: dict[str, Run] = {}
        for done, (name, how) in enumerate(SYSTEMS.items()):
            ctx.progress(Progress("search", done, len(SYSTEMS)))
            runs[name] = make_run(corpus, judged, k=_DEPTH, **how)
        if tuned:
            from ir.tune import tuned_run

            runs["tuned"], _ = tuned_run(corpus, judged, _relevant(data), k=_DEPTH)
        return runs


def _relevant(data: BeirDataset) -> Mapping[str, Mapping[str, float]]:
    """The judgements of queries that have an answer, as they are usually counted."""
    found = {
        qid: grades for qid, grades in data.qrels.items() if qid in data.queries and any(g > 0 for g in grades.values())
    }
    if not found:
        raise InvalidInput(f"No query of {data.name!r} has a relevant document in the judgements.")
    return found


def _scores(data: BeirDataset, runs: Mapping[str, Run]) -> CollectionScores:
    from ir.eval import compare_runs, per_query_values, ranking_of

    qrels = _relevant(data)
    scores: dict[str, dict[str, float]] = {}
    for name, run in runs.items():
        rankings = {qid: ranking_of(found) for qid, found in run.items()}
        values = per_query_values(rankings, qrels, list(_MEASURES))
        scores[name] = {measure: sum(v[measure] for v in values.values()) / len(values) for measure in _MEASURES}
    luck = {
        name: compare_runs(runs["RRF"], run, qrels, _MEASURES[:1]).measures[_MEASURES[0]].p_randomization
        for name, run in runs.items()
        if name != "RRF"
    }
    return CollectionScores(data.name, len(data.corpus), len(qrels), scores, luck)


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


def _collection_section(scores: CollectionScores) -> Section:
    from ir.eval import Section
    from ir.eval.tables import plain_table

    header = [f"{scores.documents:,} documents, {scores.queries:,} queries", "nDCG@10", "Recall@100"]
    rows = [[name, *(values[measure] for measure in _MEASURES)] for name, values in scores.scores.items()]
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
