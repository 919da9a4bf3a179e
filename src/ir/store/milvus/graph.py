"""The nodes and edges of one version, as snapshots show them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ir.base import json_clean, ledger_key
from ir.links import ARTIFACT, RECORD, Direction, Edge, Neighbour, Node, Place, direction_of
from ir.store.milvus.edges import Edges
from ir.store.milvus.entries import NODE
from ir.store.milvus.rows import mark_of, marked

if TYPE_CHECKING:
    from ir.store.milvus.view import View

__all__ = ["Graph"]


class Graph:
    """Asked in batches: a handful of requests for any number of nodes up to a thousand."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._edges = Edges(view.connection, view.collections)
        name = view.config.get("name")
        self._name = name if isinstance(name, str) else None

    def nodes(self, node_ids: Sequence[str]) -> dict[str, Node]:
        """Those of the nodes that are here, as declared, else as the artifact or the record that they are."""
        ids = list(dict.fromkeys(node_ids))
        declared = self._view.entries.read_some(NODE, ids, self._view.state.version)
        types = self._undeclared([node_id for node_id in ids if node_id not in declared])
        found = {node_id: Node(node_id, *told) for node_id, told in declared.items()}
        found.update({node_id: Node(node_id, node_type) for node_id, node_type in types.items()})
        return {node_id: found[node_id] for node_id in ids if node_id in found}

    def neighbours(
        self,
        node_ids: Sequence[str],
        *,
        types: Collection[str] | None,
        direction: Direction,
        limit: int | None,
    ) -> list[list[Neighbour]]:
        """For each node the other ends of its edges; see :meth:`ir.protocols.Snapshot.neighbours`."""
        wanted = direction_of(direction)
        if not self._view.state.edges or (types is not None and not types) or (limit is not None and limit < 1):
            return [[] for _ in node_ids]
        version = self._view.state.version
        out: Mapping[str, list[Edge]] = {}
        into: Mapping[str, list[Edge]] = {}
        if wanted != "in":
            out = self._edges.out(node_ids, version, types=types, limit=limit)
        if wanted != "out":
            into = self._edges.into(node_ids, version, self._name, types=types, limit=limit)
        named = [edge.target for edges in out.values() for edge in edges if not self._elsewhere(edge)]
        here = self._here([*named, *(edge.source for edges in into.values() for edge in edges)])
        return [
            [self._target(edge, here) for edge in out.get(node_id, ())]
            + [_origin(edge, here) for edge in into.get(node_id, ())]
            for node_id in node_ids
        ]

    def degrees(self, node_ids: Sequence[str], *, types: Collection[str] | None, direction: Direction) -> list[int]:
        """How many edges each node has."""
        wanted = direction_of(direction)
        counts = [0] * len(node_ids)
        if not self._view.state.edges or (types is not None and not types):
            return counts
        version = self._view.state.version
        if wanted != "in":
            out = self._edges.out_degrees(node_ids, version, types)
            counts = [count + out[node_id] for count, node_id in zip(counts, node_ids, strict=True)]
        if wanted != "out":
            into = self._edges.in_degrees(node_ids, version, self._name, types)
            counts = [count + into[node_id] for count, node_id in zip(counts, node_ids, strict=True)]
        return counts

    # -- what a name stands for --------------------------------------------------------------------------------

    def _here(self, node_ids: Iterable[str]) -> set[str]:
        """Those of the names that stand for something in this version."""
        ids = list(dict.fromkeys(node_ids))
        declared = self._view.entries.known(NODE, ids, self._view.state.version)
        return declared | self._undeclared([node_id for node_id in ids if node_id not in declared]).keys()

    def _undeclared(self, node_ids: Sequence[str]) -> dict[str, str]:
        """What those of the names are that stand for an artifact of the ledger or for a record."""
        view = self._view
        keys = {ledger_key(node_id): node_id for node_id in node_ids}
        artifacts = {keys[key] for key in view.entries.known("ledger", list(keys), view.state.version)}
        found = dict.fromkeys(artifacts, ARTIFACT)
        for expr in marked([mark_of(node_id) for node_id in node_ids if node_id not in artifacts]):
            rows = view.connection.query(view.collections.records, f"{expr} and {view.visible}", ["id"])
            found.update({row["id"]: RECORD for row in rows})
        return found

    def _elsewhere(self, edge: Edge) -> bool:
        return edge.corpus is not None and edge.corpus != self._name

    def _target(self, edge: Edge, here: Collection[str]) -> Neighbour:
        place: Place = "elsewhere" if self._elsewhere(edge) else "here" if edge.target in here else "nowhere"
        return Neighbour(edge.target, edge.type, "out", place, edge.corpus, json_clean(edge.properties))


def _origin(edge: Edge, here: Collection[str]) -> Neighbour:
    place: Place = "here" if edge.source in here else "nowhere"
    return Neighbour(edge.source, edge.type, "in", place, None, json_clean(edge.properties))
