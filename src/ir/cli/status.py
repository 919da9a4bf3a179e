"""``ir status`` and ``ir refresh``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from ir.cli.arguments import KEEPING, Command, Json
from ir.cli.fields import derived

if TYPE_CHECKING:
    from ir.app.refreshing import RefreshResponse
    from ir.app.status import CorpusStatus, StatusResponse
    from ir.cli.output import Output

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    made = derived(status, "ir.app.status:StatusRequest", arguments=("target",))
    app.command("status", cls=Command, rich_help_panel=KEEPING)(made)
    made = derived(
        refresh, "ir.app.refreshing:RefreshRequest", arguments=("target",), required=("target",), without=("wait",)
    )
    app.command("refresh", cls=Command, rich_help_panel=KEEPING)(made)


def status(*, as_json: Json = False, **given: Any) -> None:
    """Show which corpora can be asked, how fresh they are, and what is being done to them."""
    from ir.app.status import StatusRequest
    from ir.app.status import status as operation
    from ir.cli.session import perform

    perform(operation, StatusRequest(**given), show_status, as_json=as_json)


def refresh(*, as_json: Json = False, **given: Any) -> None:
    """Take in what changed in the source of a corpus that was built.

    It is what ir build does, for a corpus that is there already and as it was built.
    """
    from ir.app.refreshing import RefreshRequest
    from ir.app.refreshing import refresh as operation
    from ir.cli.session import perform

    perform(operation, RefreshRequest(**given), show_refreshed, as_json=as_json)


def show_status(response: StatusResponse, output: Output) -> None:
    if not response.corpora:
        print("ir: no corpora yet; make one with: ir build PATH", file=sys.stderr)
        return
    rows = [
        (
            item.name,
            f"being written by {item.job}" if item.job else item.state,
            "-" if item.records is None else f"{item.records}",
            item.built_at or "-",
            _fresh(item),
            item.embedder or "-",
            (item.content_version or "-")[:12],
        )
        for item in response.corpora
    ]
    columns = ("name", "state", "records", "built", "changes", "embedder", "content")
    output.table(columns, rows, right=("records",))


def _fresh(item: CorpusStatus) -> str:
    if item.changes:
        return item.changes.rstrip(".")
    at = f"{item.git['told']}; " if item.git and item.git["commit"] != item.git["head"] else ""
    return f"{at}not looked for" if item.built else "-"


def show_refreshed(response: RefreshResponse, output: Output) -> None:
    counts = (("added", response.added), ("changed", response.changed), ("removed", response.removed))
    told = ", ".join(f"{number:,} {word}" for word, number in counts if number) or "nothing changed"
    output.line(f"{response.corpus}: {told}; {response.unchanged:,} unchanged", style="bold")
    for note in response.notes:
        print(f"ir: {note}", file=sys.stderr)
