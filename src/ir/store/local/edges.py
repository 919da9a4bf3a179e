"""The nodes and edges of a corpus in its database, asked from both ends."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, Literal

from ir.base import ledger_key
from ir.content import edge_sum, node_sum, written_fields
from ir.links import ARTIFACT, RECORD, Direction, Edge, Neighbour, Node, Place, direction_of
from ir.store.local.faults import parsed

__all__ = [
    "degrees",
    "edge_pages",
    "erase_nodes",
    "neighbours",
    "node_pages",
    "nodes_here",
    "read_edges",
    "read_nodes",
    "write_edges",
    "write_nodes",
]

_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
#: SQLite takes so many parameters at least.
_MOST = 900
#: Edges from the node that is asked about on; ``{nodes}`` and ``{types}`` are filled in.
_OUT = (
    "SELECT source, target, type, corpus, properties FROM edges WHERE source {nodes}{types} "
    "ORDER BY source, place LIMIT ?"
)
_INTO = (
    "SELECT target, source, type, NULL, properties FROM edges WHERE target {nodes}{types} "
    "AND (corpus IS NULL OR corpus = ?) ORDER BY target, type, source, place LIMIT ?"
)
#: Nodes that have no more than so many edges on average are asked about in one statement.
_FEW_EDGES = 32
#: The node, the other end, the type, the corpus and the properties of an edge.
_Found = tuple[str, str, str, "str | None", str]

Connecting = Callable[[], Any]


# -- writing -----------------------------------------------------------------------------------------------------


def write_nodes(connection: sqlite3.Connection, nodes: Sequence[Node]) -> int:
    """Declare nodes; by how much the sum of nodes changes. Those that were declared so before are left alone."""
    latest = {node.id: node for node in nodes}
    held = read_nodes(connection, list(latest))
    fresh = [node for node in latest.values() if node != held.get(node.id)]
    rows = [(node.id, node.type, _json(node.properties)) for node in fresh]
    connection.executemany("INSERT OR REPLACE INTO nodes VALUES (?, ?, ?)", rows)
    return node_sum(fresh) - node_sum(held[node.id] for node in fresh if node.id in held)


def erase_nodes(connection: sqlite3.Connection, node_ids: Sequence[str]) -> int:
    """Take declarations back; by how much the sum of nodes changes."""
    held = read_nodes(connection, node_ids)
    connection.executemany("DELETE FROM nodes WHERE id = ?", [(node_id,) for node_id in held])
    return -node_sum(held.values())


def write_edges(connection: sqlite3.Connection, edges: Mapping[str, Sequence[Edge]]) -> tuple[bool, int]:
    """Replace the edges out of nodes where they differ; whether any do, and by how much the sum of edges changes."""
    held = read_edges(connection, list(edges))
    fresh = {source: list(out) for source, out in edges.items() if list(out) != held.get(source, [])}
    gone = [(source,) for source in fresh if source in held]
    connection.executemany("DELETE FROM edges WHERE source = ?", gone)
    every = [edge for out in fresh.values() for edge in out]
    written = [written_fields(edge.properties) for edge in every]
    places = (place for out in fresh.values() for place in range(len(out)))
    connection.executemany(
        "INSERT INTO edges VALUES (?, ?, ?, ?, ?, ?)",
        [
            (edge.source, place, edge.type, edge.target, edge.corpus, properties)
            for edge, place, properties in zip(every, places, written, strict=True)
        ],
    )
    lost = sum(edge_sum(held[source]) for (source,) in gone)
    return bool(fresh), edge_sum(every, written) - lost


# -- reading all of it ---------------------------------------------------------------------------------------------


def read_nodes(connection: sqlite3.Connection, node_ids: Sequence[str]) -> dict[str, Node]:
    """Those of the nodes that were declared."""
    rows = _asked(connection, "SELECT id, type, properties FROM nodes WHERE id IN ({})", node_ids)
    return {node_id: Node(node_id, kind, parsed(properties)) for node_id, kind, properties in rows}


def read_edges(connection: sqlite3.Connection, sources: Sequence[str]) -> dict[str, list[Edge]]:
    """The edges out of each of the nodes that have any."""
    rows = _asked(connection, "SELECT * FROM edges WHERE source IN ({}) ORDER BY source, place", sources)
    return {source: [_edge(row) for row in run] for source, run in groupby(rows, key=lambda row: row[0])}


def node_pages(connecting: Connecting, size: int) -> Iterator[list[Node]]:
    """Every declared node, by id; no connection is held between two pages."""
    last = ""
    while True:
        with connecting() as connection:
            rows = connection.execute("SELECT * FROM nodes WHERE id > ? ORDER BY id LIMIT ?", (last, size)).fetchall()
        if not rows:
            return
        yield [Node(node_id, kind, parsed(properties)) for node_id, kind, properties in rows]
        last = rows[-1][0]


def edge_pages(connecting: Connecting, size: int) -> Iterator[list[tuple[str, list[Edge]]]]:
    """The edges out of every node, by its id, in the same way."""
    last = ""
    # From one node to the next in the index: going through all edges would take as long as reading them.
    query = (
        "WITH RECURSIVE s (id) AS (SELECT min(source) FROM edges WHERE source > ? UNION ALL "
        "SELECT (SELECT min(source) FROM edges WHERE source > s.id) FROM s WHERE s.id IS NOT NULL) "
        "SELECT id FROM s WHERE id IS NOT NULL LIMIT ?"
    )
    while True:
        with connecting() as connection:
            sources = [source for (source,) in connection.execute(query, (last, size))]
            if not sources:
                return
            page = list(read_edges(connection, sources).items())
        yield page
        last = sources[-1]


# -- asking ----------------------------------------------------------------------------------------------------------


def nodes_here(connection: sqlite3.Connection, node_ids: Sequence[str]) -> dict[str, Node]:
    """Those of the nodes that are in the corpus: declared, or an artifact of the ledger, or a record."""
    found = read_nodes(connection, node_ids)
    for kind, known in ((ARTIFACT, _artifacts), (RECORD, _records)):
        missing = [node_id for node_id in node_ids if node_id not in found]
        found.update({node_id: Node(node_id, kind) for node_id in known(connection, missing)})
    return found


def neighbours(
    connection: sqlite3.Connection,
    node_ids: Sequence[str],
    *,
    types: Collection[str] | None,
    direction: Direction,
    limit: int | None,
    name: str | None,
) -> list[list[Neighbour]]:
    """The other ends of the edges of each node; ``name`` is the corpus's own, which some edges say of their target."""
    wanted = direction_of(direction)
    chosen = [] if types is None else list(types)
    condition = "" if types is None else f" AND type IN ({_marks(chosen)})"
    ask = partial(_by_node, connection, list(dict.fromkeys(node_ids)), condition, limit)
    ahead = ask(_OUT, chosen) if wanted != "in" else {}
    back = ask(_INTO, [*chosen, name]) if wanted != "out" else {}
    out, into = _ends(connection, ahead, "out", name), _ends(connection, back, "in", name)
    return [[*out.get(node_id, ()), *into.get(node_id, ())] for node_id in node_ids]


def _by_node(
    connection: sqlite3.Connection,
    nodes: Sequence[str],
    types: str,
    limit: int | None,
    query: str,
    parameters: Sequence[str | None],
) -> dict[str, list[_Found]]:
    """The edges of each node: in one statement, unless there are so many that the limit is worth one for each."""
    if len(nodes) <= _MOST and (limit is not None and limit > 0):
        most = _FEW_EDGES * len(nodes)
        together = query.format(nodes=f"IN ({_marks(nodes)})", types=types)
        rows = connection.execute(together, (*nodes, *parameters, most + 1)).fetchall()
        if len(rows) <= most:
            return {node: list(islice(run, limit)) for node, run in groupby(rows, key=itemgetter(0))}
    alone = query.format(nodes="= ?", types=types)
    each = -1 if limit is None else limit
    return {node: connection.execute(alone, (node, *parameters, each)).fetchall() for node in nodes}


def _ends(
    connection: sqlite3.Connection, rows: Mapping[str, list[_Found]], direction: Literal["out", "in"], name: str | None
) -> dict[str, list[Neighbour]]:
    """The other ends of edges, with what is known of them."""
    every = [row for run in rows.values() for row in run]
    known = _known(connection, {row[1] for row in every})
    ends = iter(zip(every, _properties(every), strict=True))
    return {
        node: [_neighbour(row, properties, direction, known, name) for row, properties in islice(ends, len(run))]
        for node, run in rows.items()
    }


def _properties(rows: Sequence[_Found]) -> list[dict[str, Any]]:
    """The properties of edges; read together, which takes a quarter of the time of one by one."""
    read: list[dict[str, Any]] = parsed(f"[{','.join([row[4] or '{}' for row in rows])}]")
    return read


def _neighbour(
    row: _Found, properties: dict[str, Any], direction: Literal["out", "in"], known: Collection[str], name: str | None
) -> Neighbour:
    _, node_id, kind, corpus, _ = row
    place: Place = "here" if node_id in known else "nowhere"
    if corpus is not None and corpus != name:
        place = "elsewhere"
    return Neighbour(node_id, kind, direction, place, corpus, properties)


def degrees(
    connection: sqlite3.Connection,
    node_ids: Sequence[str],
    *,
    types: Collection[str] | None,
    direction: Direction,
    name: str | None,
) -> list[int]:
    """How many edges each node has."""
    wanted, chosen = direction_of(direction), [] if types is None else list(types)
    condition = "" if types is None else f" AND type IN ({_marks(chosen)})"
    out = f"SELECT count(*) FROM edges WHERE source = ?{condition}"
    into = f"SELECT count(*) FROM edges WHERE target = ?{condition} AND (corpus IS NULL OR corpus = ?)"
    counted = []
    for node_id in node_ids:
        count = 0
        if wanted != "in":
            count += connection.execute(out, (node_id, *chosen)).fetchone()[0]
        if wanted != "out":
            count += connection.execute(into, (node_id, *chosen, name)).fetchone()[0]
        counted.append(count)
    return counted


def _known(connection: sqlite3.Connection, ids: set[str]) -> set[str]:
    """Those of the ids that are a node's."""
    known = {found for (found,) in _asked(connection, "SELECT id FROM nodes WHERE id IN ({})", list(ids))}
    known |= _artifacts(connection, ids - known)
    return known | _records(connection, ids - known)


def _artifacts(connection: sqlite3.Connection, ids: Iterable[str]) -> set[str]:
    keys = {ledger_key(artifact_id): artifact_id for artifact_id in ids}
    return {keys[key] for (key,) in _asked(connection, "SELECT key FROM ledger WHERE key IN ({})", list(keys))}


def _records(connection: sqlite3.Connection, ids: Iterable[str]) -> set[str]:
    return {found for (found,) in _asked(connection, "SELECT id FROM records WHERE id IN ({})", list(ids))}


def _asked(connection: sqlite3.Connection, query: str, values: Sequence[str]) -> list[Any]:
    rows: list[Any] = []
    ordered = sorted(set(values))
    for start in range(0, len(ordered), _MOST):
        part = ordered[start : start + _MOST]
        rows += connection.execute(query.format(_marks(part)), part).fetchall()
    return rows


def _marks(values: Sequence[Any]) -> str:
    return ",".join("?" * len(values))


def _edge(row: Any) -> Edge:
    source, _, kind, target, corpus, properties = row
    return Edge(source, kind, target, corpus, parsed(properties) if properties else {})
