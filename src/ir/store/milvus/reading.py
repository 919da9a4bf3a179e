"""What one version holds, for those who read it whole or by its ids."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ir.base import Record
from ir.links import Edge, Node
from ir.store.milvus.connection import Connection
from ir.store.milvus.edges import Edges
from ir.store.milvus.entries import NODE, Entries, body_of
from ir.store.milvus.rows import ROW_FIELDS, decode_record, decode_vector, mark_of, marked
from ir.store.milvus.schema import Collections, visible
from ir.store.milvus.state import State

if TYPE_CHECKING:
    from ir.base import Vector

__all__ = ["Reading"]


class Reading:
    """The records, vectors, nodes and edges of the version that a state tells of."""

    def __init__(self, connection: Connection, collections: Collections, state: State) -> None:
        self.state = state
        self._connection = connection
        self._records = collections.records
        self._entries = Entries(connection, collections.entries)
        self._edges = Edges(connection, collections)
        self._visible = visible(state.version)
        self._kinds = state.kind_names()

    # -- records -----------------------------------------------------------------------------------------------

    def ids(self) -> dict[int, str]:
        """The ids of all records by their refs, in the order in which they were written."""
        if not self.state.records:
            return {}
        windows = self._connection.windows(self._records, self._visible, ["id"], self.state.next_ref)
        return {int(row["ref"]): row["id"] for rows in windows for row in rows}

    def rows(self, record_ids: Sequence[str], fields: Sequence[str]) -> Iterator[list[dict[str, Any]]]:
        """The rows of those records that are there, some at a time."""
        if self.state.records:
            for expr in marked([mark_of(record_id) for record_id in dict.fromkeys(record_ids)]):
                yield self._connection.query(self._records, f"{expr} and {self._visible}", ["ref", *fields])

    def records(self, record_ids: Sequence[str]) -> list[Record]:
        """Those of the records that are there, with their vectors in the default space."""
        return [record for rows in self.rows(record_ids, ROW_FIELDS) for record in self._decoded(rows)]

    def pages(self, batch: int) -> Iterator[list[Record]]:
        """Every record, some at a time, in the order in which they were written."""
        if self.state.records:
            for rows in self._connection.windows(self._records, self._visible, ROW_FIELDS, self.state.next_ref, batch):
                yield self._decoded(rows)

    def _decoded(self, rows: Sequence[dict[str, Any]]) -> list[Record]:
        vectors = self.vectors_at(self.state.default_space, [int(row["ref"]) for row in rows])
        return [
            decode_record(
                row,
                self._kinds,
                body_of(row, self._entries, self.state.version),
                vectors.get(int(row["ref"])),
            )
            for row in rows
        ]

    # -- vectors -----------------------------------------------------------------------------------------------

    def vectors_at(self, space: str, refs: Sequence[int]) -> dict[int, Vector]:
        """The vectors that some records have in a space, by the records' refs."""
        held = self.state.space(space)
        if not held["count"]:
            return {}
        rows = self._connection.by_ref(held["table"], refs, ["scale", "dense"], self._visible)
        return {int(row["ref"]): decode_vector(row, held["dim"]) for row in rows}

    def vectors(self, space: str, record_ids: Sequence[str]) -> dict[str, Vector]:
        """The same by the records' ids."""
        held = self.state.space(space)
        if not held["count"]:
            return {}
        names, found = {mark_of(record_id): record_id for record_id in record_ids}, {}
        for expr in marked(list(names)):
            fields = ["mark", "scale", "dense"]
            for row in self._connection.query(held["table"], f"{expr} and {self._visible}", fields):
                found[names[row["mark"]]] = decode_vector(row, held["dim"])
        return found

    def without_vector(self, space: str) -> list[str]:
        """The ids of the records that have no vector in a space, sorted."""
        held = self.state.space(space)
        if held["count"] == self.state.records:
            return []
        ids = self.ids()
        if held["count"]:
            for rows in self._connection.windows(held["table"], self._visible, [], self.state.next_ref):
                for row in rows:
                    ids.pop(int(row["ref"]), None)
        return sorted(ids.values())

    # -- nodes and edges ---------------------------------------------------------------------------------------

    def nodes(self, node_ids: Sequence[str]) -> dict[str, Node]:
        """Those of the nodes that were declared."""
        told = self._entries.read_some(NODE, list(dict.fromkeys(node_ids)), self.state.version)
        return {node_id: Node(node_id, *told[node_id]) for node_id in node_ids if node_id in told}

    def node_ids(self) -> list[str]:
        """The declared nodes, by id."""
        return sorted(self._entries.keys(NODE, self.state.version, self.state.next_entry))

    def edges(self, sources: Sequence[str]) -> dict[str, list[Edge]]:
        """The edges out of each of the nodes that have any."""
        return self._edges.out(sources, self.state.version) if self.state.edges else {}

    def sources(self) -> list[str]:
        """The nodes that edges lead out of, by id."""
        return self._edges.sources(self.state)
