"""``ir doctor``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ir.cli.arguments import SYSTEM, Command, Json
from ir.cli.visible import visible

if TYPE_CHECKING:
    from ir.app.doctor import DoctorResponse
    from ir.cli.output import Output

__all__ = ["register"]

MARKS = {"ok": "ok", "info": "-", "warning": "warning", "broken": "BROKEN"}
STYLES = {"ok": "green", "info": "dim", "warning": "yellow", "broken": "bold red"}


def register(app: typer.Typer) -> None:
    app.command("doctor", cls=Command, rich_help_panel=SYSTEM)(doctor)


def doctor(as_json: Json = False) -> int:
    """Check versions, folders, corpora, embedders and optional parts; exit code 3 if something is broken."""
    from ir.app.doctor import DoctorRequest
    from ir.app.doctor import doctor as operation
    from ir.cli.session import perform
    from ir.config import Settings

    # The user's own settings may be what is broken; they are one of the things to check.
    response = perform(operation, DoctorRequest(), show_checks, as_json=as_json, settings=Settings.defaults())
    return 0 if response.healthy else 3


def show_checks(response: DoctorResponse, output: Output) -> None:
    width = max(len(check.name) for check in response.checks)
    for check in response.checks:
        mark = MARKS[check.status]
        if output.pretty:
            from rich.text import Text

            line = Text.assemble(
                (f"{mark:<8}", STYLES[check.status]), (f"{check.name:<{width}}  ", "bold"), visible(check.detail)
            )
            output.console.print(line, soft_wrap=True)
        else:
            output.line(f"{mark}\t{check.name}\t{check.detail}")
        if check.remedy:
            output.line(f"        {check.remedy}", style="dim")
