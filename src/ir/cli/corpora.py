"""``ir ls``, ``ir info``, ``ir register`` and ``ir rm``."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ir.cli.arguments import KEEPING, Command, Corpus, CorpusOrPath, Embedder, Json

if TYPE_CHECKING:
    from ir.app.corpora import InfoResponse, ListResponse
    from ir.app.registering import RegisterResponse, RemoveResponse
    from ir.cli.output import Output

from ir.errors import InvalidInput

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    app.command("ls", cls=Command, rich_help_panel=KEEPING)(ls)
    app.command("info", cls=Command, rich_help_panel=KEEPING)(info)
    app.command("register", cls=Command, rich_help_panel=KEEPING)(register_corpus)
    app.command("rm", cls=Command, rich_help_panel=KEEPING)(rm)


def ls(as_json: Json = False) -> None:
    """List the corpora."""
    from ir.app.corpora import ListRequest, list_corpora
    from ir.cli.session import perform

    perform(list_corpora, ListRequest(), show_list, as_json=as_json)


def info(target: CorpusOrPath, as_json: Json = False) -> None:
    """Show what a corpus holds, what it was made from and with what."""
    from ir.app.corpora import InfoRequest
    from ir.app.corpora import info as operation
    from ir.cli.session import perform

    perform(operation, InfoRequest(target), show_info, as_json=as_json)


def register_corpus(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name to give.")],
    path: Annotated[str | None, typer.Argument(metavar="PATH", help="The folder or file it is made from.")] = None,
    kind: Annotated[
        str,
        typer.Option(
            "--kind", metavar="KIND", help="files, skills, reports, packages, sessions, jsonl, mcp or records."
        ),
    ] = "files",
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", metavar="KEY=VALUE", help="A parameter of the kind. Repeatable."),
    ] = None,
    embedder: Embedder = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="ADDRESS", help="A server that keeps it, such as postgresql://host/db."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Give a corpus a name, so that ir build NAME makes it."""
    from ir.app.registering import RegisterRequest
    from ir.app.registering import register as operation
    from ir.cli.session import perform

    request = RegisterRequest(name, kind, path, _parameters(param or []), embedder, store)
    perform(operation, request, show_registered, as_json=as_json)


def rm(
    corpus: Corpus,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Only say what would be removed.")] = False,
    as_json: Json = False,
) -> None:
    """Remove a corpus: its index and its registration. The files it was made from stay."""
    from ir.app.context import Context
    from ir.app.registering import RemoveRequest, remove
    from ir.cli.session import perform

    if not dry_run and not yes:
        _ask(remove(RemoveRequest(corpus, dry_run=True), Context()))
    perform(remove, RemoveRequest(corpus, dry_run), show_removed, as_json=as_json)


def _ask(preview: RemoveResponse) -> None:
    """Ask a person; a script has to say --yes."""
    from ir.cli.output import size

    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidInput(f"Removing {preview.corpus!r} needs --yes where nobody can be asked.")
    if not typer.confirm(f"Remove the corpus {preview.corpus!r} ({size(preview.bytes)})?", err=True):
        print("ir: nothing was changed", file=sys.stderr)
        raise typer.Exit(1)


def _parameters(pairs: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, word = pair.partition("=")
        if not equals or not key:
            raise InvalidInput(f"--param {pair!r} must be KEY=VALUE.")
        try:
            found[key] = json.loads(word)
        except (ValueError, RecursionError):
            found[key] = word
    return found


def show_list(response: ListResponse, output: Output) -> None:
    from ir.cli.output import size

    if not response.corpora:
        print("ir: no corpora yet; make one with: ir build PATH", file=sys.stderr)
        return
    rows = [
        (
            item.name,
            "-" if item.artifacts is None else f"{item.artifacts}",
            "-" if item.records is None else f"{item.records}",
            size(item.bytes) if item.built else "-",
            item.embedder or "-",
            item.state,
            item.origin or "-",
        )
        for item in response.corpora
    ]
    columns = ("name", "items", "records", "size", "embedder", "state", "source")
    output.table(columns, rows, right=("items", "records", "size"))


def show_info(response: InfoResponse, output: Output) -> None:
    from ir.cli.output import size

    shown = {name: value for name, value in response.to_dict().items() if value not in (None, [], {}, "")}
    shown["bytes"] = size(response.bytes)
    for name, value in shown.items():
        if isinstance(value, list):
            shown[name] = ", ".join(map(str, value))
        elif isinstance(value, dict):
            shown[name] = ", ".join(f"{key}={item}" for key, item in value.items())
    output.pairs({("size" if name == "bytes" else name): value for name, value in shown.items()})


def show_registered(response: RegisterResponse, output: Output) -> None:
    output.line(f"registered {response.name}; build it with: ir build {response.name}")


def show_removed(response: RemoveResponse, output: Output) -> None:
    from ir.cli.output import size

    verb = "would remove" if response.dry_run else "removed"
    if response.path:
        output.line(f"{verb} {response.path} ({size(response.bytes)})")
    if response.registered:
        output.line(f"{verb} the registration of {response.corpus}")
