"""Are questions about books answered from the right passages?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import CHAPTERS, FUSION, GRAPH, MODE
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.judged import built_corpus, case_file, new_file, refuse_files
from ir.app.operation import Value, operation
from ir.app.search_defaults import graph_in_force, search_options
from ir.errors import InvalidInput, StoreUnwritable

if TYPE_CHECKING:
    from ir.eval.books import BookQuestion, BookReport
    from ir.index import Corpus

__all__ = ["EvalBookRequest", "EvalBookResponse", "evaluate_book"]

#: How the reference searches: both rankings scaled over the whole corpus, 0.4 to 0.6.
_BEST_PRACTICE: Mapping[str, Any] = {"mode": "hybrid", "fusion": "minmax_corpus"}
#: What it recommends to do with links: one walk from the first three, two steps, and only the first 50 gain.
_BEST_BOOST: Mapping[str, Any] = {
    "variant": "frontier",
    "seeds": 3,
    "depth": 2,
    "boost": 0.05,
    "decay": 0.4,
    "top_k": 50,
}


@dataclass(frozen=True)
class EvalBookRequest(Value):
    """Questions about the books in some ``corpora``: those of ``queries_dir`` (a file or a folder), of a set of
    ``cases``, or else those that came with the books.

    ``model_id`` is the embedding model to compare by, of which a corpus may have several.
    """

    corpora: Annotated[
        tuple[str, ...], Arg("the corpora that hold the books", blank=False, max_items=20, metavar="CORPUS...")
    ]
    queries_dir: Annotated[
        str | None,
        Arg(
            "a file of questions, or a folder of them",
            blank=False,
            private=True,
            metavar="PATH",
            help="With book: a file of questions, or a folder of them; else those that came with the books.",
        ),
    ] = None
    cases: Annotated[
        str | None,
        Arg(
            "the questions of this set of cases",
            blank=False,
            bare=True,
            metavar="SET",
            help="With book: ask this set of cases.",
        ),
    ] = None
    books: Annotated[
        tuple[str, ...],
        Arg(
            "only questions about this book",
            blank=False,
            flag="--book",
            metavar="NAME",
            help="With book: only questions about this one. Repeatable.",
        ),
    ] = ()
    model_id: Annotated[
        str | None,
        Arg(
            "the embedding model to compare by",
            blank=False,
            bare=True,
            metavar="NAME",
            help="With book: the embedding model to compare by, where a corpus has several.",
        ),
    ] = None
    report_dir: Annotated[
        str | None,
        Arg(
            "also write a report with plots into this folder",
            blank=False,
            private=True,
            metavar="FOLDER",
            help="With book: also write a report with plots into this folder.",
        ),
    ] = None
    best_practice_eval: Annotated[
        bool,
        Arg(
            "search as the reference does, scaled over the whole corpus",
            help="With book: search as the reference does, scaled over the whole corpus.",
        ),
    ] = False
    best_practice_boost: Annotated[
        bool,
        Arg(
            "follow links as the reference recommends",
            help="With book: follow links as the reference recommends.",
        ),
    ] = False
    expand_gold: Annotated[
        bool,
        Arg(
            "also count passages one link away from gold, at most 12",
            help="With book: also count passages one link away from gold, at most 12.",
        ),
    ] = False
    chapter_routing_report: Annotated[
        bool,
        Arg(
            "also measure searching some chapters alone",
            help="With book: also measure searching some chapters alone.",
        ),
    ] = False
    top_n: Annotated[
        tuple[int, ...],
        Arg(
            "so many chapters; 3, 8 and 12 if nothing is said",
            min=1,
            max=1000,
            max_items=20,
            flag="--top-n",
            metavar="N",
            help="With --chapter-routing-report: so many chapters (3, 8, 12). Repeatable.",
        ),
    ] = ()
    graph_report: Annotated[
        bool,
        Arg(
            "also measure each way to follow links",
            help="With book: also measure each way to follow links.",
        ),
    ] = False
    mode: Annotated[str | None, MODE] = None
    fusion: Annotated[str | None, FUSION] = None
    graph: Annotated[str | None, GRAPH] = None
    chapters: Annotated[int | None, CHAPTERS] = None
    k: Annotated[int, Arg("look at the first so many passages", min=1, max=1000, short="-k", metavar="N")] = 10
    leave_out_quotes: Annotated[
        bool,
        Arg(
            "leave out questions that quote their gold",
            help="With book: leave out questions that quote their gold.",
        ),
    ] = False
    quote_words: Annotated[
        int,
        Arg(
            "from so many words in a row on, a question quotes",
            min=2,
            max=1000,
            metavar="N",
            help="With book: from so many words in a row on, a question quotes.",
        ),
    ] = 8
    pin: Annotated[
        str | None,
        Arg(
            "write the questions with gold that survives another cut of the books",
            blank=False,
            private=True,
            metavar="FILE",
            help="With book: write the questions with gold that survives another cut of the books.",
        ),
    ] = None
    save: Annotated[bool, Arg("keep the run in the workspace, to be shown and compared by its id")] = False
    label: Annotated[str | None, Arg("a few words to know the run by", max_chars=200, metavar="TEXT")] = None

    def __post_init__(self) -> None:
        if not self.corpora:
            raise InvalidInput("Name at least one corpus with books.")
        if self.queries_dir is not None and self.cases is not None:
            raise InvalidInput("The questions are those of a file or folder, or those of a set, not both.")
        if self.best_practice_eval and (self.mode or self.fusion):
            raise InvalidInput("Best practice says mode and fusion itself.", remedy="Leave them out.")
        if self.best_practice_boost and self.graph:
            raise InvalidInput("Best practice says itself how to follow links.", remedy="Leave the graph out.")
        if self.top_n and not self.chapter_routing_report:
            raise InvalidInput("Numbers of chapters are for the report on routing.", remedy="Ask for it, too.")


@dataclass(frozen=True)
class EvalBookResponse(Value):
    """``report`` is all that was measured, ``files`` what was written where, ``saved`` the id of the run if it was
    kept; ``repeated`` questions were said more than once, and asked once."""

    report: BookReport
    repeated: int = 0
    files: tuple[str, ...] = ()
    saved: str | None = None


def check_named(request: EvalBookRequest, ctx: Context) -> None:
    """Find what is not there, or may not be named, before any work begins."""
    refuse_files(ctx, queries_dir=request.queries_dir, report_dir=request.report_dir, pin=request.pin)
    for word in request.corpora:
        ctx.target(word).require_built()
    if request.cases is not None and ctx.for_agent:
        case_file(request.cases, ctx)


@operation(
    "eval-book",
    summary="Measure how well questions about books are answered",
    effect="writes",
    runs_long=True,
    doors=("cli", "http"),
    precheck=check_named,
)
def evaluate_book(request: EvalBookRequest, ctx: Context) -> EvalBookResponse:
    from ir.eval.books.harness import DFLT_TOP_N, GRAPHS, evaluate_books

    check_named(request, ctx)
    if request.pin is not None:
        new_file(request.pin)
    if request.report_dir is not None:
        _folder(request.report_dir)
    corpora = [built_corpus(word, ctx) for word in dict.fromkeys(request.corpora)]
    questions, repeated = _questions(request, corpora, ctx)
    report, pinned = evaluate_books(
        corpora,
        questions,
        how=_how(request, corpora, ctx),
        k=request.k,
        books=request.books,
        expand_gold=request.expand_gold,
        top_n=(request.top_n or DFLT_TOP_N) if request.chapter_routing_report else (),
        graphs=GRAPHS if request.graph_report else (),
        quote_words=request.quote_words,
        leave_out_quotes=request.leave_out_quotes,
        progress=ctx.progress,
    )
    for note in report.notes:
        ctx.note(note)
    files = _written(request, report, pinned, ctx)
    saved = _kept(request, report, corpora) if request.save else None
    return EvalBookResponse(report, repeated, files, saved)


def _questions(request: EvalBookRequest, corpora: list[Corpus], ctx: Context) -> tuple[list[BookQuestion], int]:
    from ir.eval.books import find_questions, kept_questions, read_questions

    if request.queries_dir is not None:
        return read_questions(find_questions(request.queries_dir))
    if request.cases is not None:
        return read_questions([case_file(request.cases, ctx)])
    found, repeated = kept_questions({corpus.name: corpus.store for corpus in corpora})
    if not found:
        raise InvalidInput(
            "No questions came with the books.", remedy="Name a file or a folder of them with --queries-dir."
        )
    return found, repeated


def _how(request: EvalBookRequest, corpora: list[Corpus], ctx: Context) -> dict[str, Any]:
    """The options of the search: as the user says, else as the first corpus was tuned or is set."""
    options = dict(_BEST_PRACTICE) if request.best_practice_eval else {}
    options = options or search_options(corpora[0], ctx, mode=request.mode, fusion=request.fusion)
    boost = dict(_BEST_BOOST) if request.best_practice_boost else graph_in_force(corpora[0], ctx, request.graph)
    options["graph"] = boost or "none"
    if request.chapters is not None:
        options["chapters"] = request.chapters
    if request.model_id is not None:
        options["space"] = _space(request.model_id, corpora)
    return options


def _space(model: str, corpora: list[Corpus]) -> str:
    """The space of vectors that a model made, in all of the corpora."""
    found: set[str] = set()
    for corpus in corpora:
        with corpus.store.snapshot() as snapshot:
            config, default = snapshot.config(), snapshot.default_space
            told = {name: dict((config.get("spaces") or {}).get(name, {})) for name in snapshot.spaces()}
            told[default] = told.get(default) or {name: config.get(name) for name in ("embedder", "embedder_id")}
        known = {
            name: {name, str(one.get("embedder")), str(one.get("embedder_id"))} for name, one in told.items() if one
        }
        mine = [name for name, words in known.items() if model in words]
        if not mine:
            models = sorted(str(one.get("embedder_id")) for one in told.values() if one)
            raise InvalidInput(
                f"{corpus.name!r} has no vectors by {model!r}.", remedy=f"It has those of: {', '.join(models)}."
            )
        found.add(mine[0])
    if len(found) > 1:
        raise InvalidInput(f"The corpora call the vectors by {model!r} differently.", remedy="Measure them one by one.")
    return found.pop()


def _folder(path: str) -> Path:
    folder = Path(path).expanduser()
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"{folder} is a file.", remedy="Name a folder.")
    return folder


def _written(request: EvalBookRequest, report: BookReport, pinned: list[BookQuestion], ctx: Context) -> tuple[str, ...]:
    from ir.eval.books import save_book_report
    from ir.eval.books.questions import save_questions

    files: list[str] = []
    if request.report_dir is not None:
        folder = _folder(request.report_dir)
        try:
            names, why = save_book_report(report, folder)
        except OSError as error:
            raise StoreUnwritable(f"{folder} cannot be written: {error.strerror or error}.") from None
        files += [str(folder / name) for name in names]
        if why is not None:
            ctx.note(f"there are no plots: {why}")
    if request.pin is not None:
        save_questions(pinned, Path(request.pin).expanduser())
        files.append(request.pin)
    return tuple(files)


def _kept(request: EvalBookRequest, report: BookReport, corpora: list[Corpus]) -> str:
    """Keep the run in the workspace; its id."""
    import ir
    from ir.eval.kept import KeptQuery, KeptRun, keep_run, new_run_id
    from ir.surrogates import storable

    queries = [
        KeptQuery(
            id=row.id,
            query=row.query,
            judgements=dict.fromkeys(row.gold, 1),
            outcome="hit_rank_1" if row.rank == 1 else "surfaced_low_rank" if row.rank else "retrieval_miss",
            rank=row.rank,
            figures={
                **{f"hit@{k}": float(0 < (row.rank or 0) <= k) for k in report.ks},
                "mrr": 1 / row.rank if row.rank else 0.0,
            },
            ranking=_falling(row.found),
        )
        for row in report.questions
    ]
    kept = KeptRun(
        id=new_run_id(),
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        label=None if request.label is None else storable(request.label).strip() or None,
        corpus=", ".join(report.corpora),
        cases=request.cases or ("of the books" if request.queries_dir is None else Path(request.queries_dir).stem),
        mode=str(report.settings.get("mode")),
        settings={"kind": "book", **report.settings},
        embedder=corpora[0].embedder_id,
        version=ir.__version__,
        content_version=corpora[0].store.content_version,
        n_cases=report.counts["questions"],
        n_gold=report.counts["asked"],
        n_abstention=report.counts["questions"] - report.counts["with_gold"],
        metrics=report.metrics,
        outcomes=dict(Counter(one.outcome for one in queries)),
        curves=report.curves,
        drifted=len(report.missing),
    )
    keep_run(kept, queries)
    return kept.id


def _falling(found: tuple[tuple[str, float], ...]) -> list[tuple[str, float]]:
    """Scores by which the order stays as it was found, also where a boost put one before a better."""
    return [(name, float(len(found) - at)) for at, (name, _) in enumerate(found)]
