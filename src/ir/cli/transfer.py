"""``ir export`` and ``ir import``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from ir.cli.arguments import KEEPING, Command, Json
from ir.cli.fields import derived

if TYPE_CHECKING:
    from ir.app.transfer import ExportResponse, ImportResponse
    from ir.cli.output import Output

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    made = derived(export, "ir.app.transfer:ExportRequest", arguments=("target", "file"))
    app.command("export", cls=Command, rich_help_panel=KEEPING)(made)
    made = derived(import_corpus, "ir.app.transfer:ImportRequest", arguments=("file",))
    app.command("import", cls=Command, rich_help_panel=KEEPING)(made)


def export(*, as_json: Json = False, **given: Any) -> None:
    """Write a corpus to one portable file."""
    from ir.app.transfer import ExportRequest
    from ir.app.transfer import export as operation
    from ir.cli.session import perform

    perform(operation, ExportRequest(**given), show_exported, as_json=as_json)


def import_corpus(*, as_json: Json = False, **given: Any) -> None:
    """Take in a corpus from a portable file."""
    from ir.app.transfer import ImportRequest
    from ir.app.transfer import import_corpus as operation
    from ir.cli.session import perform

    perform(operation, ImportRequest(**given), show_imported, as_json=as_json)


def show_exported(response: ExportResponse, output: Output) -> None:
    from ir.cli.output import count, size

    output.line(f"{response.file}: {response.corpus}, {count(response.records, 'record')}, {size(response.bytes)}")


def show_imported(response: ImportResponse, output: Output) -> None:
    from ir.cli.output import count

    output.line(f"imported {response.corpus}: {count(response.records, 'record')}")
