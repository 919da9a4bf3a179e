"""``ir graph``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ir.cli.arguments import KEEPING, Command, CorpusOrPath, Json

if TYPE_CHECKING:
    from ir.app.graphing import GraphResponse
    from ir.cli.output import Output

__all__ = ["register"]

_MAKES_LINKS = "ir build --links makes them of the fields deps and parent"


def register(app: typer.Typer) -> None:
    app.command("graph", cls=Command, rich_help_panel=KEEPING)(graph)


def graph(
    corpus: CorpusOrPath,
    action: Annotated[str, typer.Argument(metavar="ACTION", help="neighbours or export.", show_default=False)],
    artifact: Annotated[str | None, typer.Argument(metavar="ID", help="The artifact, for neighbours.")] = None,
    edge_type: Annotated[
        str | None, typer.Option("--type", "-t", metavar="TYPE", help="Only links of this type, such as REF.")
    ] = None,
    format: Annotated[str, typer.Option("--format", metavar="FORMAT", help="Export as dot or json.")] = "dot",
    file: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the export to a file.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace a file that exists.")] = False,
    as_json: Json = False,
) -> int:
    """Show what an artifact is linked to, or export all links.

    ir build --links makes links. Exit code 1 means that there are none. dot is the language of Graphviz:
    ir graph NAME export | dot -Tsvg.
    """
    from ir.app.graphing import GraphRequest
    from ir.app.graphing import graph as operation
    from ir.cli.session import perform

    request = GraphRequest(corpus, action, artifact, edge_type, format, file, force)
    show = show_neighbours if action == "neighbours" else show_json if format == "json" else show_dot
    response = perform(operation, request, show, as_json=as_json)
    return 0 if response.edges else 1


def show_neighbours(response: GraphResponse, output: Output) -> None:
    rows = []
    for edge in response.edges:
        out = edge.source == response.id
        other = edge.target if out else edge.source
        rows.append(("to" if out else "from", edge.type, f"{edge.corpus}: {other}" if edge.corpus else other))
    if rows:
        output.table(("direction", "type", "artifact"), rows)
    else:
        print(f"ir: {response.id!r} has no such links; {_MAKES_LINKS}", file=sys.stderr)


def show_dot(response: GraphResponse, output: Output) -> None:
    from ir.app.graphing import to_dot

    if not _written(response, output):
        output.line(to_dot(response))


def show_json(response: GraphResponse, output: Output) -> None:
    from ir.cli.streams import json_text

    if not _written(response, output):
        print(json_text(response.to_dict()))


def _written(response: GraphResponse, output: Output) -> bool:
    from ir.cli.output import count

    if not response.edges:
        print(f"ir: {response.corpus!r} has no links; {_MAKES_LINKS}", file=sys.stderr)
    if response.file:
        output.line(f"{response.file}: {count(response.nodes, 'artifact')}, {count(len(response.edges), 'link')}")
    return bool(response.file)
