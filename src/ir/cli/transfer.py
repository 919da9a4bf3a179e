"""``ir export`` and ``ir import``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ir.cli.arguments import KEEPING, Command, CorpusOrPath, Json

if TYPE_CHECKING:
    from ir.app.transfer import ExportResponse, ImportResponse
    from ir.cli.output import Output

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    app.command("export", cls=Command, rich_help_panel=KEEPING)(export)
    app.command("import", cls=Command, rich_help_panel=KEEPING)(import_corpus)


def export(
    target: CorpusOrPath,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file to write.")],
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace a file that exists.")] = False,
    as_json: Json = False,
) -> None:
    """Write a corpus to one portable file."""
    from ir.app.transfer import ExportRequest
    from ir.app.transfer import export as operation
    from ir.cli.session import perform

    perform(operation, ExportRequest(target, file, force), show_exported, as_json=as_json)


def import_corpus(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file that ir export wrote.")],
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Another name for the corpus.")] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace a corpus that has this name.")] = False,
    as_json: Json = False,
) -> None:
    """Take in a corpus from a portable file."""
    from ir.app.transfer import ImportRequest
    from ir.app.transfer import import_corpus as operation
    from ir.cli.session import perform

    perform(operation, ImportRequest(file, name, force), show_imported, as_json=as_json)


def show_exported(response: ExportResponse, output: Output) -> None:
    from ir.cli.output import count, size

    output.line(f"{response.file}: {response.corpus}, {count(response.records, 'record')}, {size(response.bytes)}")


def show_imported(response: ImportResponse, output: Output) -> None:
    from ir.cli.output import count

    output.line(f"imported {response.corpus}: {count(response.records, 'record')}")
