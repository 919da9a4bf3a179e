"""``ir ingest``."""

from __future__ import annotations

import sys
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ir.cli.arguments import KEEPING, Command, Json, one_of
from ir.cli.fields import derived
from ir.cli.visible import visible
from ir.errors import InvalidInput
from ir.options import choice

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ir.app.ingesting import IngestResponse
    from ir.app.ingesting_books import IngestBookResponse
    from ir.cli.output import Output

__all__ = ["register"]

LISTED = 10


KINDS = ("code", "book")
_REQUESTS = ("ir.app.ingesting:IngestRequest", "ir.app.ingesting_books:IngestBookRequest")


def register(app: typer.Typer) -> None:
    made = derived(ingest, _REQUESTS, without=("kind", "target", "paths"))
    app.command("ingest", cls=Command, rich_help_panel=KEEPING)(made)


def ingest(
    kind: Annotated[
        str,
        typer.Argument(metavar="code|book", help="What is read.", show_default=False, autocompletion=one_of(*KINDS)),
    ],
    places: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH...]",
            help="code: a folder, or a corpus by name. book: files or folders; Rules/RULESET/BOOK if none is named.",
            show_default=False,
        ),
    ] = None,
    *,
    as_json: Json = False,
    **given: Any,
) -> None:
    """Read a folder of code as definitions, or books as passages, with the links between them; say what was found.

    ir ingest code PATH: --records, --branch. ir search PATH does the same on its way to an answer if most of a folder
    is code. ir ingest book PATH...: Markdown, HTML, PDF and text files, and *.enriched.json; all options but those two.
    Only what changed since the last time is read again.
    """
    from ir.app.ingesting import IngestRequest
    from ir.app.ingesting import ingest as ingest_code
    from ir.app.ingesting_books import IngestBookRequest, ingest_book
    from ir.cli.session import perform

    choice("kind", kind, KINDS)
    shape: Any = IngestRequest if kind == "code" else IngestBookRequest
    known = {field.name: field.default for field in fields(shape)}
    for name in sorted(set(given) - set(known)):
        if given[name] not in (None, False, (), "full"):
            raise InvalidInput(
                f"`ir ingest {kind}` takes no --{name.replace('_', '-')}.", remedy="See: ir ingest --help"
            )
    told = {name: value for name, value in given.items() if name in known}
    if kind == "book":
        perform(ingest_book, IngestBookRequest(paths=tuple(places or ()), **told), show_books, as_json=as_json)
        return
    if not places or len(places) > 1:
        said = f"{places[1]!r} is too much" if places else "there is none"
        raise InvalidInput(f"`ir ingest code` takes one folder; {said}.", remedy="Write: ir ingest code PATH")
    perform(ingest_code, IngestRequest(kind=kind, target=places[0], **told), show, as_json=as_json)


def show_books(response: IngestBookResponse, output: Output) -> None:
    """Print what was found; what is to be done about it goes to stderr."""
    from ir.cli.output import count

    told = _changes(response)
    where = "" if response.workspace == "default" else f" in the workspace {response.workspace}"
    if response.dry_run:
        output.line(f"{response.corpus}{where}: would be {', '.join(told)}", style="bold")
        for document in response.documents:
            output.row("document", document)
        _list(output, [("skipped", one["id"], one["reason"]) for one in response.skipped])
        return
    chunks = f"{count(response.chunks, 'passage')} by {response.embedder} in {response.seconds:.1f} s"
    output.line(f"{response.corpus}{where}: {', '.join(told)}; {chunks}", style="bold")
    output.row("nodes", _counts(response.nodes or {}))
    output.row("links", _counts(response.links or {}))
    output.row("kinds", _counts(response.kinds or {}) if response.kinds else "none known")
    if response.elsewhere:
        output.row("to other books", count(response.elsewhere, "reference"))
    if response.unresolved:
        output.row("unresolved", count(response.unresolved, "reference"))
    if len(response.spaces) > 1:
        output.row("spaces", ", ".join(response.spaces))
    if response.queries:
        lost = f", {len(response.unanswerable):,} without their chunks here" if response.unanswerable else ""
        output.row("questions", f"{response.queries:,}{lost}")
    if response.files:
        output.row("files", response.files)
    lines = [("leads nowhere", one["document"], one["said"]) for one in response.references]
    lines += [
        ("edge dropped", one["source"], f"{one['relation']} {one['target']}: {one['unknown']!r} is not there")
        for one in response.dropped
    ]
    lines += [("skipped", one["id"], one["reason"]) for one in response.skipped]
    lines += [("failed", one["id"], one["reason"]) for one in response.failed]
    _list(output, lines)
    for note in response.notes:
        print(visible(f"ir: {note}"), file=sys.stderr)


def _changes(response: IngestResponse | IngestBookResponse) -> list[str]:
    parts = [(response.added, "added"), (response.changed, "changed"), (response.removed, "removed")]
    told = [f"{number:,} {word}" for number, word in parts if number] or ["nothing changed"]
    return [*told, f"{response.unchanged:,} unchanged"]


def show(response: IngestResponse, output: Output) -> None:
    """Print what was found; what is to be done about it goes to stderr."""
    from ir.cli.output import count

    told = _changes(response)
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
    _list(output, lines)


def _list(output: Output, lines: Sequence[tuple[str, str, str]]) -> None:
    for line in lines[:LISTED]:
        output.row(*line)
    if len(lines) > LISTED:
        output.line(f"… and {len(lines) - LISTED} more; --json lists them all")
