"""``ir ingest``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from ir.cli.arguments import KEEPING, Command, Json
from ir.cli.fields import derived
from ir.cli.visible import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ir.app.ingesting import IngestResponse
    from ir.cli.output import Output

__all__ = ["register"]

LISTED = 10


def register(app: typer.Typer) -> None:
    made = derived(ingest, "ir.app.ingesting:IngestRequest", arguments=("kind", "target"))
    app.command("ingest", cls=Command, rich_help_panel=KEEPING)(made)


def ingest(*, as_json: Json = False, **given: Any) -> None:
    """Read a folder of code as definitions and the links between them, and say what was found.

    ir search PATH does the same on its way to an answer if most of a folder is code. Only what changed since the last
    time is read again.
    """
    from ir.app.ingesting import IngestRequest
    from ir.app.ingesting import ingest as operation
    from ir.cli.session import perform

    perform(operation, IngestRequest(**given), show, as_json=as_json)


def show(response: IngestResponse, output: Output) -> None:
    """Print what was found; what is to be done about it goes to stderr."""
    from ir.cli.output import count

    parts = [(response.added, "added"), (response.changed, "changed"), (response.removed, "removed")]
    told = [f"{number:,} {word}" for number, word in parts if number] or ["nothing changed"]
    told.append(f"{response.unchanged:,} unchanged")
    chunks = f"{count(response.chunks, 'chunk')} by {response.embedder} in {response.seconds:.1f} s"
    output.line(f"{response.corpus} ({response.branch}): {', '.join(told)}; {chunks}", style="bold")
    output.row("files", _counts(response.files))
    output.row("definitions", _counts(response.definitions))
    if response.sections:
        output.row("sections", f"{response.sections:,} of documents")
    if response.records:
        output.row("records", _counts(response.records))
    for kind, known in response.links.items():
        output.row(kind, _counts(known))
    total = sum(response.calls.values())
    if total:
        shares = response.shares
        output.row(
            "calls resolved",
            f"{shares['project']:.1%} of {total:,} in the project, {shares['outside']:.1%} external or builtin, "
            f"{shares['unresolved']:.1%} unresolved",
        )
    _show_problems(response, output)
    for note in response.notes:
        print(visible(f"ir: {note}"), file=sys.stderr)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in counts.items()) or "none"


def _show_problems(response: IngestResponse, output: Output) -> None:
    from ir.cli.output import count

    for told in response.cut:
        output.row("cut as text", f"{count(told['files'], 'file')}: {told['reason']}", ", ".join(told["paths"]))
    lines = [("parsed in part", one["id"], f"line {one['line']} could not be read") for one in response.partial]
    lines += [("problem", one["id"], one["reason"]) for one in response.problems]
    lines += [("skipped", one["id"], one["reason"]) for one in response.skipped]
    lines += [("failed", one["id"], one["reason"]) for one in response.failed]
    for line in lines[:LISTED]:
        output.row(*line)
    if len(lines) > LISTED:
        output.line(f"… and {len(lines) - LISTED} more; --json lists them all")
