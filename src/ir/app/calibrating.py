"""Finding the floor below which a corpus should not answer, and keeping it with the corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import EMBEDDER, MODE, TARGET
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.judged import built_corpus, read_cases
from ir.app.operation import Value, given, operation
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.eval import MinScoreCalibration
    from ir.index import Corpus

__all__ = ["CalibrateRequest", "CalibrateResponse", "calibrate"]


@dataclass(frozen=True)
class CalibrateRequest(Value):
    """From labelled ``cases``, or with ``probes`` from queries about other things, which need no labels.

    ``forget`` drops the floor of before instead of making one: the one that builds make holds again.
    ``max_loss`` is the largest share of answerable queries that may be refused, instead of the best balance;
    ``percentile`` says where among the probes the floor lies, ``probe_file`` holds probes of your own.
    """

    corpus: Annotated[str, TARGET]
    cases: Annotated[str | None, Arg("a file of cases with and without an answer", blank=False, metavar="CASES")] = None
    probes: Annotated[bool, Arg("use queries about other things, which ship with ir; needs no labels")] = False
    mode: Annotated[str | None, MODE] = None
    max_loss: Annotated[
        float | None, Arg("refuse at most this share of answerable queries", min=0, max=1, metavar="SHARE")
    ] = None
    sensitivity_weight: Annotated[
        float | None,
        Arg(
            "how much keeping answers counts against refusing",
            min=0,
            max=1,
            flag="--weight",
            metavar="SHARE",
            help="How much keeping answers counts against refusing (0.5).",
        ),
    ] = None
    percentile: Annotated[
        float | None,
        Arg(
            "where among the probes the floor lies",
            min=0,
            max=100,
            metavar="P",
            help="Where among the probes the floor lies (75).",
        ),
    ] = None
    probe_file: Annotated[str | None, Arg("probes of your own, one to a line", blank=False, metavar="FILE")] = None
    k: Annotated[int, Arg("candidates for each case", min=1, max=1000, option=False)] = 10
    embedder: Annotated[str | None, EMBEDDER] = None
    dry_run: Annotated[bool, Arg("print the floor, but do not keep it", short="-n")] = False
    forget: Annotated[bool, Arg("drop an earlier floor; the one that builds make holds again")] = False

    def __post_init__(self) -> None:
        if self.forget:
            if self.cases or self.probes or self.probe_file or self.dry_run:
                raise InvalidInput("--forget makes no floor; it goes with --mode only.")
            return
        if bool(self.cases) == bool(self.probes or self.probe_file):
            raise InvalidInput(
                "A floor is calibrated from a file of CASES or from probes; give one of the two.",
                remedy="Without labelled cases, use --probes; to drop the floor of before, --forget.",
            )
        labelled = {"max_loss": self.max_loss, "sensitivity_weight": self.sensitivity_weight}
        misplaced = labelled if not self.cases else {"percentile": self.percentile}
        for name, value in misplaced.items():
            if value is not None:
                kind = "labelled cases" if not self.cases else "probes"
                raise InvalidInput(f"{name} only means something for {kind}.")


@dataclass(frozen=True)
class CalibrateResponse(Value):
    """``saved``: the floor is kept with the corpus, and ``min_score="auto"`` uses it from now on. ``forgotten``: there
    was one, and it is gone; ``floor`` is what holds instead, made with the corpus."""

    corpus: str
    calibration: MinScoreCalibration | None
    saved: bool
    forgotten: bool = False
    floor: float | None = None

    def to_dict(self) -> dict[str, Any]:
        made = None if self.calibration is None else self.calibration.to_dict()
        more = {"forgotten": self.forgotten, "floor": self.floor}
        return {"corpus": self.corpus, "saved": self.saved, "calibration": made, **more}


@operation(
    "calibrate-min-score",
    summary="Find the floor below which a corpus should not answer, and keep it",
    effect="writes",
    runs_long=True,
)
def calibrate(request: CalibrateRequest, ctx: Context) -> CalibrateResponse:
    corpus = built_corpus(request.corpus, ctx, embedder=request.embedder)
    mode = request.mode or ctx.settings["mode"]
    if request.forget:
        return _forget(corpus, mode)
    how: dict[str, Any] = {"mode": mode, "k": request.k, "progress": ctx.progress}
    made = _from_cases(corpus, request, how, ctx) if request.cases else _from_probes(corpus, request, how)
    wanted = not request.dry_run and made.min_score is not None
    if wanted:
        made.save(corpus)
    return CalibrateResponse(corpus.name, made, wanted)


def _forget(corpus: Corpus, mode: str) -> CalibrateResponse:
    from ir.eval import forget_calibration
    from ir.select.gate import find_gate

    forgotten = forget_calibration(corpus, mode)
    return CalibrateResponse(corpus.name, None, False, forgotten, find_gate(corpus, mode).floor)


def _from_cases(corpus: Corpus, request: CalibrateRequest, how: Mapping[str, Any], ctx: Context) -> MinScoreCalibration:
    from ir.eval import calibrate_min_score

    path = str(request.cases)
    asked = given(max_loss=request.max_loss, sensitivity_weight=request.sensitivity_weight)
    cases = read_cases(path, ctx).cases
    return replace(calibrate_min_score(corpus, cases, **how, **asked), made_from=_absolute(path))


def _from_probes(corpus: Corpus, request: CalibrateRequest, how: Mapping[str, Any]) -> MinScoreCalibration:
    from ir.eval import calibrate_from_probes
    from ir.eval.probes import read_probes

    asked = given(percentile=request.percentile)
    if request.probe_file is None:
        return calibrate_from_probes(corpus, **how, **asked)
    made = calibrate_from_probes(corpus, probes=read_probes(request.probe_file), **how, **asked)
    return replace(made, made_from=_absolute(request.probe_file))


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())
