"""The links of a corpus: what an artifact points to and what points to it, and the whole as a drawing."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import REPLACE, TARGET
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.judged import new_file
from ir.app.operation import Value, operation
from ir.app.targets import resolve
from ir.errors import InvalidInput, NotFound
from ir.options import choice

if TYPE_CHECKING:
    from ir.graph import CorpusGraph

__all__ = ["ACTIONS", "FORMATS", "Edge", "GraphRequest", "GraphResponse", "check_known", "graph", "to_dot"]

ACTIONS = ("neighbours", "export")
FORMATS = ("dot", "json")


@dataclass(frozen=True)
class GraphRequest(Value):
    """``neighbours`` of the artifact ``id``, or ``export`` of all links; ``edge_type`` keeps one type only."""

    corpus: Annotated[str, TARGET]
    action: Annotated[str, Arg("what to show", choices=ACTIONS, metavar="ACTION", help="neighbours or export.")] = (
        "export"
    )
    id: Annotated[
        str | None, Arg("the artifact, for neighbours", blank=False, metavar="ID", help="The artifact, for neighbours.")
    ] = None
    edge_type: Annotated[
        str | None,
        Arg("only links of this type, such as REF", blank=False, flag="--type", short="-t", metavar="TYPE"),
    ] = None
    format: Annotated[
        str, Arg("how an export is written", choices=FORMATS, metavar="FORMAT", help="Export as dot or json.")
    ] = "json"
    file: Annotated[
        str | None, Arg("write the export to a file", blank=False, flag="--output", short="-o", metavar="FILE")
    ] = None
    replace: Annotated[bool, REPLACE] = False

    def __post_init__(self) -> None:
        choice("action", self.action, ACTIONS)
        choice("format", self.format, FORMATS)
        if self.action == "neighbours" and not self.id:
            raise InvalidInput("`graph neighbours` needs the ID of an artifact.")
        if self.action == "export" and self.id:
            raise InvalidInput("`graph export` takes no ID: it writes all links.")
        if self.action == "neighbours" and self.file:
            raise InvalidInput("Only `graph export` writes a file.")


@dataclass(frozen=True)
class Edge(Value):
    """A link. ``corpus`` is the target's, where it is another one."""

    source: str
    type: str
    target: str
    corpus: str | None = None


@dataclass(frozen=True)
class GraphResponse(Value):
    """Edges out of and into an artifact, or all; ``nodes`` counts the artifacts of the corpus that have a link."""

    corpus: str
    edges: tuple[Edge, ...]
    nodes: int
    id: str | None = None
    file: str | None = None


@operation("graph", summary="Show what an artifact is linked to, or export all links", effect="writes")
def graph(request: GraphRequest, ctx: Context) -> GraphResponse:
    from ir.graph import CorpusGraph
    from ir.index import open_store
    from ir.index.progress import Ticker

    target = resolve(request.corpus)
    target.require_built()
    name = target.name
    file = None if request.file is None else new_file(request.file, replace=request.replace)
    with open_store(name) as store:
        links = CorpusGraph(store)
        links.source = name
        if request.id is not None:
            edges = _around(links, request.id, request.edge_type)
        else:
            ticker = Ticker(ctx.progress, "read links", unit="items")
            found: list[Edge] = []
            for origin, _ in store.link_items():
                found += _out(links, origin, request.edge_type)
                ticker.tick()
            ticker.end()
            edges = tuple(found)
    response = GraphResponse(name, edges, len(_nodes(edges)), request.id, request.file)
    if file is not None:
        from ir.eval.files import write_lines

        drawn = request.format == "dot"
        write_lines(file, [to_dot(response) if drawn else json.dumps(response.to_dict(), ensure_ascii=False, indent=2)])
    return response


def _around(links: CorpusGraph, artifact_id: str, edge_type: str | None) -> tuple[Edge, ...]:
    origins = links.reverse_neighbors(artifact_id, edge_type=edge_type)
    kinds = dict.fromkeys(kind for origin in origins for kind in links.edge_types(origin) if edge_type in (None, kind))
    incoming = [
        Edge(origin, kind, artifact_id)
        for kind in kinds
        for origin in links.reverse_neighbors(artifact_id, edge_type=kind)
    ]
    found = (*_out(links, artifact_id, edge_type), *incoming)
    if not found:
        check_known(links, artifact_id)
    return found


def _out(links: CorpusGraph, origin: str, edge_type: str | None) -> list[Edge]:
    from ir.graph import canonical_node_id

    edges = []
    for kind in links.edge_types(origin):
        if edge_type in (None, kind):
            for target in links.neighbors(origin, edge_type=kind):
                corpus, artifact_id = canonical_node_id(target, source=links.source)
                edges.append(Edge(origin, kind, artifact_id, None if corpus == links.source else corpus))
    return edges


def check_known(links: CorpusGraph, artifact_id: str) -> None:
    """An artifact without links is fine; one that is not there is an error that names one like it."""
    known = [str(entry["artifact_id"]) for _, entry in links.store.ledger_items()]
    if artifact_id not in known:
        near = get_close_matches(artifact_id, known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else "`ir search` shows the ids of artifacts."
        raise NotFound(f"There is no artifact {artifact_id!r} in {links.source!r}.", remedy=hint)


def _nodes(edges: Iterable[Edge]) -> dict[tuple[str | None, str], int]:
    """The nodes at both ends of the edges, numbered in order of appearance."""
    found: dict[tuple[str | None, str], int] = {}
    for edge in edges:
        found.setdefault((None, edge.source), len(found))
        found.setdefault((edge.corpus, edge.target), len(found))
    return found


def to_dot(response: GraphResponse) -> str:
    """The links in Graphviz's language. Nodes are numbered, so no id can be taken for syntax; labels are escaped.

    >>> print(to_dot(GraphResponse("c", (Edge('say "hi"', "REF", "b"),), 2)))
    digraph "c" {
      n0 [label="say \\"hi\\""];
      n1 [label="b"];
      n0 -> n1 [label="REF"];
    }
    """
    nodes = _nodes(response.edges)
    lines = [f"digraph {_quoted(response.corpus)} {{"]
    for (corpus, artifact_id), number in nodes.items():
        label = artifact_id if corpus is None else f"{corpus}: {artifact_id}"
        lines.append(f"  n{number} [label={_quoted(label)}];")
    for edge in response.edges:
        ends = nodes[None, edge.source], nodes[edge.corpus, edge.target]
        lines.append(f"  n{ends[0]} -> n{ends[1]} [label={_quoted(edge.type)}];")
    return "\n".join([*lines, "}"])


_DOT_ESCAPES: dict[int, Any] = {
    **dict.fromkeys(range(32), " "),
    127: " ",
    ord("\\"): "\\\\",
    ord('"'): '\\"',
    ord("&"): "&amp;",  # Graphviz reads HTML entities in labels
}


def _quoted(text: str) -> str:
    return f'"{text.translate(_DOT_ESCAPES)}"'
