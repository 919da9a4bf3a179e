"""``ir store``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ir.cli.arguments import KEEPING, Command, Json, one_of
from ir.cli.fields import derived
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.app.storing import CopyResponse, MigrateResponse
    from ir.cli.output import Output

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    made = derived(store, "ir.app.storing:CopyRequest", without=("source", "target"))
    app.command("store", cls=Command, rich_help_panel=KEEPING)(made)


def store(
    action: Annotated[
        str,
        typer.Argument(
            metavar="ACTION", help="copy or migrate.", show_default=False, autocompletion=one_of("copy", "migrate")
        ),
    ],
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="A corpus name, a folder or an address such as postgresql://host/db.")
    ],
    target: Annotated[
        str | None, typer.Argument(metavar="TO", help="Where copy puts it: a name, a folder or an address.")
    ] = None,
    *,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Copy a corpus to another store, or bring a server's tables up to date.

    ir store copy FROM TO goes on where an earlier copy broke off, and compares both sides at its end.
    ir store migrate ADDRESS is for a corpus in PostgreSQL that an older ir made.
    """
    from ir.app.storing import CopyRequest, MigrateRequest, copy, migrate
    from ir.cli.session import perform

    if action == "migrate" and target is None:
        perform(migrate, MigrateRequest(source), show_migrated, as_json=as_json)
    elif action == "copy" and target is not None:
        perform(copy, CopyRequest(source, target, **given), show_copied, as_json=as_json)
    else:
        raise InvalidInput(
            "A store is copied or migrated.", remedy="Write: ir store copy FROM TO, or ir store migrate ADDRESS"
        )


def show_copied(response: CopyResponse, output: Output) -> None:
    from ir.cli.output import count

    told = f"{response.target}: {count(response.records, 'record')}, {count(response.ledger, 'artifact')}"
    if response.already_there:
        told += f"; {response.already_there:,} were there already"
    output.line(told, style="bold")
    precision = "" if response.exact else ", vectors in half precision"
    output.line(f"verified: counts and checksums are those of {response.source}{precision}")


def show_migrated(response: MigrateResponse, output: Output) -> None:
    change = f"{response.before} to {response.after}" if response.before != response.after else "up to date"
    output.line(f"{response.target}: schema {change}")
