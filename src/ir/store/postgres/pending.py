"""Nodes and edges that were given and not sent yet: written by the thousand, and only where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ir.content import edge_sum, node_sum
from ir.links import Edge, Node
from ir.store.postgres.connections import Connection
from ir.store.postgres.edges import (
    erase_edges,
    erase_nodes,
    has_long_type,
    insert_edges,
    insert_nodes,
    read_edges,
    read_nodes,
)
from ir.store.postgres.state import State

__all__ = ["PendingGraph"]

#: So many nodes or edges are held back at most.
_HELD = 20_000


class PendingGraph:
    """What a transaction writes to the graph; the state is kept in step with what was sent."""

    def __init__(self, connection: Connection, state: State) -> None:
        self._connection = connection
        self._state = state
        self._content = state.content
        self._nodes: dict[str, Node | None] = {}
        self._edges: dict[str, Sequence[Edge]] = {}
        self._weight = 0
        #: How many nodes and edges of the corpus were touched.
        self.changed = 0

    def put_nodes(self, nodes: Mapping[str, Node | None]) -> None:
        """Declare nodes; ``None`` takes a declaration back."""
        self._nodes.update(nodes)
        self._add(len(nodes))

    def put_edges(self, edges: Mapping[str, Sequence[Edge]]) -> None:
        """Replace the edges out of nodes."""
        self._edges.update(edges)
        self._add(sum(map(len, edges.values())) + len(edges))

    def _add(self, weight: int) -> None:
        self._weight += weight
        if self._weight >= _HELD:
            self.flush()

    def nodes(self, node_ids: Sequence[str]) -> dict[str, Node]:
        """Those of the nodes that are declared, whether that was sent or not."""
        found = {} if not self._content.nodes else read_nodes(self._connection, self._unheld(node_ids, self._nodes))
        held = {node_id: self._nodes.get(node_id) for node_id in node_ids}
        return {**found, **{node_id: node for node_id, node in held.items() if node is not None}}

    def edges(self, node_ids: Sequence[str]) -> dict[str, list[Edge]]:
        """The edges out of each of the nodes that have any, in the same way."""
        found = {} if not self._content.edges else read_edges(self._connection, self._unheld(node_ids, self._edges))
        held = {node_id: list(self._edges.get(node_id, ())) for node_id in node_ids}
        return {**found, **{node_id: edges for node_id, edges in held.items() if edges}}

    @staticmethod
    def _unheld(node_ids: Sequence[str], held: Mapping[str, object]) -> list[str]:
        return [node_id for node_id in dict.fromkeys(node_ids) if node_id not in held]

    def flush(self) -> None:
        """Send what is held back."""
        self.changed += self._flush_nodes() + self._flush_edges()
        self._weight = 0

    def _flush_nodes(self) -> int:
        given, self._nodes = self._nodes, {}
        # A sum of nothing is 0: a corpus without nodes need not be asked for them.
        before = read_nodes(self._connection, list(given)) if given and self._content.nodes else {}
        different = {node_id: node for node_id, node in given.items() if before.get(node_id) != node}
        gone = [before[node_id] for node_id in different if node_id in before]
        new = [node for node in different.values() if node is not None]
        if gone:
            erase_nodes(self._connection, [node.id for node in gone])
        if new:
            insert_nodes(self._connection, new)
        self._content.change("nodes", node_sum(new) - node_sum(gone))
        return len(gone) + len(new)

    def _flush_edges(self) -> int:
        given, self._edges = self._edges, {}
        before = read_edges(self._connection, list(given)) if given and self._content.edges else {}
        different = {source: edges for source, edges in given.items() if before.get(source, []) != list(edges)}
        gone = {source: before[source] for source in different if source in before}
        if gone:
            erase_edges(self._connection, list(gone))
        insert_edges(self._connection, different)
        touched = 0
        for edges, sign in [*((new, 1) for new in different.values()), *((old, -1) for old in gone.values())]:
            self._content.change("edges", sign * edge_sum(edges))
            self._state.long_types = self._state.long_types or has_long_type(edges)
            touched += len(edges)
        return touched
