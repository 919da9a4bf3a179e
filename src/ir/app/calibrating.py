"""Finding the floor below which a corpus should not answer, and keeping it with the corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.app.context import Context
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

    ``max_loss`` is the largest share of answerable queries that may be refused, instead of the best balance;
    ``percentile`` says where among the probes the floor lies, ``probe_file`` holds probes of your own.
    """

    corpus: str
    cases: str | None = None
    probes: bool = False
    mode: str | None = None
    max_loss: float | None = None
    sensitivity_weight: float | None = None
    percentile: float | None = None
    probe_file: str | None = None
    k: int = 10
    embedder: str | None = None
    dry_run: bool = False

    def __post_init__(self) -> None:
        if bool(self.cases) == bool(self.probes or self.probe_file):
            raise InvalidInput(
                "A floor is calibrated from a file of CASES or from probes; give one of the two.",
                remedy="Without labelled cases, use --probes.",
            )
        labelled = {"max_loss": self.max_loss, "sensitivity_weight": self.sensitivity_weight}
        misplaced = labelled if not self.cases else {"percentile": self.percentile}
        for name, value in misplaced.items():
            if value is not None:
                kind = "labelled cases" if not self.cases else "probes"
                raise InvalidInput(f"{name} only means something for {kind}.")


@dataclass(frozen=True)
class CalibrateResponse(Value):
    """``saved``: the floor is kept with the corpus, and ``min_score="auto"`` uses it from now on."""

    corpus: str
    calibration: MinScoreCalibration
    saved: bool

    def to_dict(self) -> dict[str, Any]:
        return {"corpus": self.corpus, "saved": self.saved, "calibration": self.calibration.to_dict()}


@operation("calibrate-min-score", summary="Find the floor below which a corpus should not answer, and keep it")
def calibrate(request: CalibrateRequest, ctx: Context) -> CalibrateResponse:
    corpus = built_corpus(request.corpus, ctx, embedder=request.embedder)
    how: dict[str, Any] = {"mode": request.mode or ctx.settings["mode"], "k": request.k}
    made = _from_cases(corpus, request, how, ctx) if request.cases else _from_probes(corpus, request, how)
    wanted = not request.dry_run and made.min_score is not None
    if wanted:
        made.save(corpus)
    return CalibrateResponse(corpus.name, made, wanted)


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
