"""``ir graph``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from ir.cli.arguments import KEEPING, Command, Json
from ir.cli.fields import derived

if TYPE_CHECKING:
    from ir.app.graphing import GraphRequest, GraphResponse
    from ir.app.neighbours import NeighboursResponse
    from ir.cli.output import Output

__all__ = ["register"]

#: So many links are listed in each direction.
_MOST = 1000
_MAKES_LINKS = "ir build --links makes them from the fields deps and parent"


def register(app: typer.Typer) -> None:
    made = derived(
        graph,
        "ir.app.graphing:GraphRequest",
        arguments=("corpus", "action", "id"),
        required=("action",),
        defaults={"format": "dot"},
    )
    app.command("graph", cls=Command, rich_help_panel=KEEPING)(made)


def graph(*, as_json: Json = False, **given: Any) -> int:
    """Show what an artifact is linked to, or export all links.

    ir build --links makes links. Exit code 1 means that there are none. dot is the language of Graphviz:
    ir graph NAME export | dot -Tsvg.
    """
    from ir.app.graphing import GraphRequest
    from ir.app.graphing import graph as operation
    from ir.cli.session import perform

    request = GraphRequest(**given)
    if request.action == "neighbours":
        return _neighbours(request, as_json=as_json)
    show = show_json if request.format == "json" else show_dot
    response = perform(operation, request, show, as_json=as_json)
    return 0 if response.edges else 1


def _neighbours(asked: GraphRequest, *, as_json: bool) -> int:
    from ir.app.neighbours import NeighboursRequest, neighbours
    from ir.cli.session import perform

    request = NeighboursRequest(str(asked.id), asked.corpus, asked.edge_type, _MOST)
    response = perform(neighbours, request, show_neighbours, as_json=as_json)
    return 0 if response.edges else 1


def show_neighbours(response: NeighboursResponse, output: Output) -> None:
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
