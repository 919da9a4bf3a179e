"""``ir tune``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from ir.cli.arguments import EVALUATING, Command, Json
from ir.cli.fields import derived

if TYPE_CHECKING:
    from ir.app.tuning import TuneResponse
    from ir.cli.output import Output
    from ir.tune import Tuning

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    made = derived(tune, "ir.app.tuning:TuneRequest", arguments=("corpus", "cases"))
    app.command("tune", cls=Command, rich_help_panel=EVALUATING)(made)


def tune(*, as_json: Json = False, **given: Any) -> int:
    """Choose how to search a corpus by judged cases, and keep the choice.

    Modes, fusions, weights and feedback are tried. Another way than the default is chosen only if it is better on
    queries that it was not chosen by, and not by luck. ir search and ir discover use it from then on, unless told
    otherwise. Cases without an answer give it a floor, unless that may be luck. Exit code 1 means that the default
    way stays.
    """
    from ir.app.tuning import TuneRequest
    from ir.app.tuning import tune as operation
    from ir.cli.session import perform

    response = perform(operation, TuneRequest(**given), show_tuning, as_json=as_json)
    return 0 if response.done else 1


def show_tuning(response: TuneResponse, output: Output) -> None:
    if response.tuning is None:
        dropped = [response.forgotten or "", "the floor that tuning set" if response.floor_forgotten else ""]
        named = " and ".join(filter(None, dropped))
        verb = "are" if all(dropped) else "is"
        output.line(f"{response.corpus}: {f'{named} {verb} forgotten' if named else 'nothing was tuned'}")
        return
    _show(response.tuning, output)
    if response.tuning.improved or response.tuning.floor is not None:
        output.line("kept with the corpus" if response.saved else "not kept (dry run)")


def _show(tuning: Tuning, output: Output) -> None:
    output.line(f"{tuning.corpus}: {tuning.n_queries:,} queries, {tuning.folds} folds")
    if tuning.trials:
        header = ("way", tuning.measure, "to default", "p", "folds")
        rows = [
            (one.way.name, f"{one.value:.4f}", f"{one.difference:+.4f}", f"{one.p:.4f}", f"{one.picked}/{tuning.folds}")
            for one in sorted(tuning.trials, key=lambda one: -one.value)
        ]
        output.table(header, rows, right=header[1:])
    output.line(tuning.reason)
    if tuning.floor_reason:
        output.line(tuning.floor_reason)
