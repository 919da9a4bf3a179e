"""``ir doctor`` and ``ir config``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ir.cli.arguments import SYSTEM, Command, Json
from ir.cli.visible import visible

if TYPE_CHECKING:
    from ir.app.doctor import DoctorResponse
    from ir.app.settings import ConfigResponse
    from ir.cli.output import Output

__all__ = ["register"]

MARKS = {"ok": "ok", "info": "-", "warning": "warning", "broken": "BROKEN"}
STYLES = {"ok": "green", "info": "dim", "warning": "yellow", "broken": "bold red"}


def register(app: typer.Typer) -> None:
    app.command("doctor", cls=Command, rich_help_panel=SYSTEM)(doctor)
    app.command("config", cls=Command, rich_help_panel=SYSTEM)(config)


def doctor(as_json: Json = False) -> int:
    """Check versions, folders, corpora, embedders and optional parts; exit code 3 if something is broken."""
    from ir.app.doctor import DoctorRequest
    from ir.app.doctor import doctor as operation
    from ir.cli.session import perform
    from ir.config import Settings

    # The user's own may be what is broken; they are among what is checked.
    response = perform(operation, DoctorRequest(), show_checks, as_json=as_json, settings=Settings.defaults())
    return 0 if response.healthy else 3


def config(
    action: Annotated[
        str, typer.Argument(metavar="ACTION", help="list, get, set or unset.", show_default=False)
    ] = "list",
    key: Annotated[
        str | None, typer.Argument(metavar="KEY", help="The name of a setting.", autocompletion=lambda: _keys())
    ] = None,
    value: Annotated[str | None, typer.Argument(metavar="VALUE", help="Its new value.")] = None,
    as_json: Json = False,
) -> None:
    """Show or change settings, with where each comes from.

    Flags win over the environment (IR_K=5), that over a project's ir.toml, that over your own settings file.
    """
    from ir.app.settings import ConfigRequest
    from ir.app.settings import config as operation
    from ir.cli.session import perform

    perform(operation, ConfigRequest(action, key, value), show_settings, as_json=as_json)


def _keys() -> list[str]:
    from ir.config.keys import KEYS

    return [key.name for key in KEYS]


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


def show_settings(response: ConfigResponse, output: Output) -> None:
    rows = [(item.key, "-" if item.value is None else item.value, item.origin) for item in response.settings]
    output.table(("setting", "value", "from"), rows)
