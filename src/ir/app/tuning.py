"""Finding the way to search that suits a corpus, and keeping it with the corpus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import CASES, EMBEDDER, TARGET
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.judged import built_corpus, read_cases
from ir.app.operation import Value, given, operation
from ir.errors import InvalidInput
from ir.protocols import Corpus

if TYPE_CHECKING:
    from ir.tune import Tuning

__all__ = ["TuneRequest", "TuneResponse", "tune"]


@dataclass(frozen=True)
class TuneRequest(Value):
    """``cases`` is a file of cases or a BEIR folder. ``forget`` drops an earlier choice instead of making one."""

    corpus: Annotated[str, TARGET]
    cases: Annotated[str | None, CASES] = None
    folds: Annotated[
        int | None,
        Arg(
            "how many parts to cross-validate with",
            min=2,
            metavar="N",
            help="How many parts to cross-validate with (5).",
        ),
    ] = None
    measure: Annotated[
        str | None, Arg("what to choose by", blank=False, metavar="NAME", help="What to choose by (ndcg@10).")
    ] = None
    embedder: Annotated[str | None, EMBEDDER] = None
    dry_run: Annotated[bool, Arg("print the table, but keep nothing", short="-n")] = False
    forget: Annotated[bool, Arg("drop an earlier choice and search as by default")] = False

    def __post_init__(self) -> None:
        if self.forget == bool(self.cases):
            raise InvalidInput(
                "Tuning needs a file of CASES, or --forget to drop an earlier choice; give one of the two.",
                remedy="ir eval-gen writes cases.",
            )
        if self.forget and (self.folds is not None or self.measure is not None or self.dry_run):
            raise InvalidInput("--forget goes with no other option.")


@dataclass(frozen=True)
class TuneResponse(Value):
    """``saved``: the outcome is kept with the corpus. ``forgotten`` is the choice that was dropped, if any, and
    ``floor_forgotten`` says whether a floor that tuning had set was dropped too."""

    corpus: str
    tuning: Tuning | None = None
    saved: bool = False
    drifted: int = 0
    forgotten: str | None = None
    floor_forgotten: bool = False

    @property
    def done(self) -> bool:
        """Whether something was chosen or dropped."""
        if self.tuning is None:
            return self.forgotten is not None or self.floor_forgotten
        return self.tuning.improved


@operation(
    "tune",
    summary="Choose how to search a corpus by judged cases, and keep the choice",
    effect="writes",
    runs_long=True,
)
def tune(request: TuneRequest, ctx: Context) -> TuneResponse:
    from ir.eval import validate_cases
    from ir.index.progress import Ticker
    from ir.tune import tune as tune_corpus

    corpus = built_corpus(request.corpus, ctx, embedder=request.embedder)
    if request.forget:
        return _forget(corpus)
    judged = read_cases(str(request.cases), ctx)
    drifted = validate_cases(corpus, judged.cases)
    if drifted:
        lost = next(iter(drifted.values()))[0]
        ctx.note(f"{len(drifted)} cases want something that is not in the corpus, among them {lost!r}")
    graded = any("query_id" in case.metadata for case in judged.cases)
    ticker = Ticker(ctx.progress, "search", unit="ways")

    made = tune_corpus(
        corpus,
        judged.cases,
        qrels=judged.qrels if graded and _same_ids(judged) else None,
        save=not request.dry_run,
        progress=ticker.reach,
        **given(folds=request.folds, measure=request.measure),
    )
    return TuneResponse(corpus.name, made, not request.dry_run, len(drifted))


def _same_ids(judged: Any) -> bool:
    """Whether the cases carry the ids that the judgements have, as those of a BEIR folder do."""
    return all(str(case.metadata.get("query_id")) in judged.qrels for case in judged.cases if not case.gold_is_none)


def _forget(corpus: Corpus) -> TuneResponse:
    from ir.tune import forget

    dropped = forget(corpus)
    return TuneResponse(corpus.name, forgotten=dropped.choice, floor_forgotten=dropped.floor)
