"""Reading and writing the nodes and edges of a corpus, as they were given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from ir.links import Edge, Node
from ir.store.postgres import codec
from ir.store.postgres.connections import Connection
from ir.store.postgres.copying import NULL, copy_rows, json_text, small, texts

__all__ = [
    "PREFIX",
    "TYPE_PREFIX",
    "edge_pages",
    "erase_edges",
    "erase_nodes",
    "has_long_type",
    "insert_edges",
    "insert_nodes",
    "node_pages",
    "properties_of",
    "read_edges",
    "read_nodes",
]

#: So many characters of an id, and of an edge's type, are in the indexes; just as the migrations say.
PREFIX = 300
TYPE_PREFIX = 50
_BATCH = 5000
_EDGE = "source, type, target, corpus, properties::text"
_NODE = "id, type, properties::text"


def _among(column: str) -> str:
    """The condition that a column is one of some ids; see :func:`_parts` for its parameters."""
    return f"left({column}, {PREFIX}) = ANY(%s::text[]) AND {column} = ANY(%s::text[])"


def _parts(ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    for start in range(0, len(ids), _BATCH):
        part = [codec.packed(one) for one in ids[start : start + _BATCH]]
        yield codec.as_text_array(one[:PREFIX] for one in part), codec.as_text_array(part)


# -- nodes -------------------------------------------------------------------------------------------------------


def insert_nodes(connection: Connection, nodes: Iterable[Node]) -> None:
    """Copy nodes in; none of them may be there."""
    rows = ((*texts(node.id, node.type), _written(node.properties)) for node in nodes)
    copy_rows(connection, "nodes (id, type, properties)", rows)


def erase_nodes(connection: Connection, node_ids: Sequence[str]) -> None:
    for names in _parts(node_ids):
        connection.execute(f"DELETE FROM nodes WHERE {_among('id')}".encode(), names)


def read_nodes(connection: Connection, node_ids: Sequence[str]) -> dict[str, Node]:
    """Those of the nodes that are there."""
    query = f"SELECT {_NODE} FROM nodes WHERE {_among('id')}".encode()
    found = (_node(*row) for names in _parts(node_ids) for row in connection.execute(query, names))
    return {node.id: node for node in found}


def node_pages(connection: Connection, after: str, size: int) -> list[Node]:
    """Up to ``size`` nodes whose ids follow ``after``, by id."""
    query = (
        f"SELECT {_NODE} FROM nodes WHERE left(id, {PREFIX}) >= left(%s, {PREFIX}) AND id > %s "
        f"ORDER BY left(id, {PREFIX}), id LIMIT %s"
    )
    last = codec.packed(after)
    return [_node(*row) for row in connection.execute(query.encode(), (last, last, size))]


def _node(node_id: str, node_type: str, properties: str | None) -> Node:
    return Node(codec.unpacked(node_id), codec.unpacked(node_type), properties_of(properties))


# -- edges -------------------------------------------------------------------------------------------------------


def insert_edges(connection: Connection, edges: Mapping[str, Sequence[Edge]]) -> None:
    """Copy the edges out of some nodes in; these may have none."""
    # In the order of the index, which is then filled from one end to the other.
    given = [(place, edge) for source in sorted(edges) for place, edge in enumerate(edges[source])]
    for start in range(0, len(given), _BATCH):
        rows = (_encoded(place, edge) for place, edge in given[start : start + _BATCH])
        copy_rows(connection, "edges (place, source, type, target, corpus, properties)", rows)


def _encoded(place: int, edge: Edge) -> tuple[bytes, ...]:
    if edge.corpus is None:
        return (small(place), *texts(edge.source, edge.type, edge.target), NULL, _written(edge.properties))
    return (small(place), *texts(edge.source, edge.type, edge.target, edge.corpus), _written(edge.properties))


def has_long_type(edges: Iterable[Edge]) -> bool:
    """Whether the index does not know the whole type of one of the edges."""
    return any(len(codec.packed(name)) > TYPE_PREFIX for name in {edge.type for edge in edges})


def erase_edges(connection: Connection, node_ids: Sequence[str]) -> None:
    """Delete the edges out of some nodes."""
    for names in _parts(node_ids):
        connection.execute(f"DELETE FROM edges WHERE {_among('source')}".encode(), names)


def read_edges(connection: Connection, node_ids: Sequence[str]) -> dict[str, list[Edge]]:
    """The edges out of each of the nodes that have any, in their order."""
    query = f"SELECT {_EDGE} FROM edges WHERE {_among('source')} ORDER BY source, place".encode()
    found: dict[str, list[Edge]] = {}
    for names in _parts(node_ids):
        for row in connection.execute(query, names):
            edge = _edge(*row)
            found.setdefault(edge.source, []).append(edge)
    return found


def edge_pages(read: Any, batch: int) -> Iterator[list[tuple[str, list[Edge]]]]:
    """Every node that edges lead out of, by id, with them; ``read`` runs a query and gives its rows."""
    page: list[tuple[str, list[Edge]]] = []
    for source, edges in groupby(_all_edges(read, max(batch, _BATCH)), key=lambda edge: edge.source):
        page.append((source, list(edges)))
        if len(page) == batch:
            yield page
            page = []
    if page:
        yield page


def _all_edges(read: Any, size: int) -> Iterator[Edge]:
    query = (
        f"SELECT place, {_EDGE} FROM edges WHERE left(source, {PREFIX}) >= left(%s, {PREFIX}) "
        f"AND (source, place) > (%s, %s) ORDER BY left(source, {PREFIX}), source, place LIMIT %s"
    )
    source, place = "", -1
    while rows := read(query, source, source, place, size):
        yield from (_edge(*row[1:]) for row in rows)
        place, source = rows[-1][:2]


def _edge(source: str, edge_type: str, target: str, corpus: str | None, properties: str | None) -> Edge:
    return Edge(
        codec.unpacked(source),
        codec.unpacked(edge_type),
        codec.unpacked(target),
        None if corpus is None else codec.unpacked(corpus),
        properties_of(properties),
    )


def _written(properties: Mapping[str, Any]) -> bytes:
    return json_text(codec.dumps(properties)) if properties else NULL


def properties_of(written: str | None) -> dict[str, Any]:
    """Properties as they were given; where there are none, nothing is written."""
    return {} if written is None else codec.loads(written)
