"""``ir gc``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from ir.cli.arguments import KEEPING, Command, Json
from ir.cli.fields import derived

if TYPE_CHECKING:
    from ir.app.cleaning import CleanResponse
    from ir.cli.output import Output

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    made = derived(gc, "ir.app.cleaning:CleanRequest", arguments=("targets",))
    app.command("gc", cls=Command, rich_help_panel=KEEPING)(made)


def gc(*, as_json: Json = False, **given: Any) -> None:
    """Remove what nothing refers to any more: old generations, half-made files, caches of models nobody uses.

    What somebody is searching stays until they are done. A corpus that is being built is waited for, then left alone.
    """
    from ir.app.cleaning import CleanRequest, clean
    from ir.cli.session import perform

    perform(clean, CleanRequest(**given), show_cleaned, as_json=as_json)


def show_cleaned(response: CleanResponse, output: Output) -> None:
    from ir.cli.output import size

    words = {"compact": "needs --compact"}
    rows = [
        (item.corpus or "-", item.what, item.name, size(item.bytes), item.detail or words.get(item.state, item.state))
        for item in response.items
    ]
    if rows:
        output.table(("corpus", "what", "name", "size", "state"), rows, right=("size",))
    told = f"{'would free' if response.dry_run else 'freed'} {size(response.bytes)}"
    if response.more:
        told += f"; --compact would free {size(response.more)} more"
    output.line(told, style="bold")
