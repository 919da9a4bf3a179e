"""``ir calibrate-min-score``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from ir.cli.arguments import EVALUATING, Command, Json
from ir.cli.fields import derived

if TYPE_CHECKING:
    from ir.app.calibrating import CalibrateResponse
    from ir.cli.output import Output
    from ir.eval import MinScoreCalibration

__all__ = ["register"]

REASONS = {
    "no_abstention_cases": "no case is without an answer, so there is nothing to refuse; add some, or use --probes",
    "no_positive_cases": "no case has an answer that was found, so there is nothing to keep",
    "no_cases": "no case can be used: of those with an answer, none was found",
    "no_hits": "no probe found anything",
    "no_better_than_chance": "on cases that a floor was not made from it does no better than chance",
}


def register(app: typer.Typer) -> None:
    made = derived(calibrate, "ir.app.calibrating:CalibrateRequest", arguments=("corpus", "cases"))
    app.command("calibrate-min-score", cls=Command, rich_help_panel=EVALUATING)(made)


def calibrate(*, as_json: Json = False, **given: Any) -> int:
    """Find the floor below which a corpus should not answer, and keep it.

    The floor is on raw channel scores and tells what is off topic. Cases also choose what it reads: the best score,
    the mean of the best three, or both channels together. ir discover uses it from then on. Exit code 1 means that no
    floor came of it: there are not both kinds of cases, or on cases left out it is no better than chance. Without
    this command a corpus has the floor that builds make from the same probes, which is lower.
    """
    from ir.app.calibrating import CalibrateRequest
    from ir.app.calibrating import calibrate as operation
    from ir.cli.session import perform

    response = perform(operation, CalibrateRequest(**given), show_calibration, as_json=as_json)
    made = response.calibration
    return 0 if response.forgotten or (made is not None and made.min_score is not None) else 1


def show_calibration(response: CalibrateResponse, output: Output) -> None:
    from ir.select.signals import describe

    made = response.calibration
    if made is None:
        holds = (
            "none is left" if response.floor is None else f"the one made with the corpus holds, {response.floor:.4f}"
        )
        output.line(
            f"{response.corpus}: {'the floor is forgotten' if response.forgotten else 'no floor was kept'}; {holds}"
        )
        return
    if made.min_score is None:
        output.line(f"{response.corpus}: no floor: {REASONS.get(made.reason, made.reason)}{_worth(made)}")
        return
    state = "kept" if response.saved else "not kept (dry run)"
    output.line(
        f"{response.corpus}: floor {made.min_score:.4f} on the {describe(made.signal)}, mode {made.mode}; {state}"
    )
    shown: dict[str, str] = {}
    if made.signals_tried:
        shown["signals tried"] = ", ".join(f"{name} (J {j:.3f})" for name, j in made.signals_tried.items())
    if made.min_score_interval:
        shown["floor, 95 %"] = "{:.4f} to {:.4f}".format(*made.min_score_interval)
    if made.kind == "probes":
        shown["made from"] = f"{made.n_abstention:,} probes, percentile {made.percentile:g}"
        shown["probes let in"] = _share(made.error_rate)
        shown["answers lost"] = "not known without labelled cases"
    else:
        shown["made from"] = f"{made.n_positive:,} cases with an answer, {made.n_abstention:,} without"
        shown["answers kept"] = _share(made.sensitivity)
        shown["off topic refused"] = _share(made.specificity)
        shown["Youden J"] = "-" if made.youden_j is None else f"{made.youden_j:.3f}"
        if made.youden_j_interval:
            shown["J on cases left out, 95 %"] = "{:.3f} to {:.3f}".format(*made.youden_j_interval)
        shown["error on cases left out"] = _share(made.error_rate)
        if made.by_luck:
            shown["may be luck"] = "a floor to rely on takes more cases of both kinds" + _worth(made)
        if made.n_retrieval_miss:
            shown["left aside"] = f"{made.n_retrieval_miss:,} cases whose answer was not found"
    output.pairs(shown)


def _worth(made: MinScoreCalibration) -> str:
    if made.held_out_j is None or made.p is None:
        return ""
    return f" (held-out J {made.held_out_j:.3f}, p = {made.p:.4f})"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
