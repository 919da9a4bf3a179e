"""``ir space``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from ir.cli.arguments import KEEPING, Command, Json
from ir.cli.fields import derived

if TYPE_CHECKING:
    from ir.app.spaces import SpaceResponse
    from ir.cli.output import Output

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    made = derived(space, "ir.app.spaces:SpaceRequest", arguments=("action", "target", "name"))
    app.command("space", cls=Command, rich_help_panel=KEEPING)(made)


def space(*, as_json: Json = False, **given: Any) -> None:
    """Show or change the spaces of vectors of a corpus.

    A space holds the vectors of one embedding model. ir space add NAME SPACE --embedder MODEL embeds the corpus by a
    second model beside the first; searches go on as before until ir space use NAME SPACE makes it the default.
    """
    from ir.app.spaces import SpaceRequest
    from ir.app.spaces import space as operation
    from ir.cli.session import perform

    perform(operation, SpaceRequest(**given), show, as_json=as_json)


def show(response: SpaceResponse, output: Output) -> None:
    if response.embedded:
        output.line(f"embedded {response.embedded:,} texts")
    rows = [
        (
            f"{one.name} (default)" if one.default else one.name,
            one.embedder or "-",
            "-" if one.dim is None else str(one.dim),
            f"{one.records - one.missing:,} of {one.records:,}",
        )
        for one in response.spaces
    ]
    output.table(("space", "embedder", "dim", "records"), rows)
