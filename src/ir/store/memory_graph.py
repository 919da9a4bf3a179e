"""The nodes and edges of one version in memory, looked at from both ends."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice

from ir.base import json_clean
from ir.links import ARTIFACT, RECORD, Direction, Edge, Neighbour, Node, Place, direction_of

__all__ = ["MemoryGraph"]


class MemoryGraph:
    """What is declared and what leads where; ``name`` is that of the corpus, for edges that say it of their target."""

    def __init__(
        self,
        nodes: Mapping[str, Node],
        edges: Mapping[str, Sequence[Edge]],
        artifacts: Collection[str],
        records: Collection[str],
        name: str | None,
    ) -> None:
        self._declared = nodes
        self._edges = edges
        self._artifacts = artifacts
        self._records = records
        self._name = name

    def nodes(self, node_ids: Iterable[str]) -> dict[str, Node]:
        """Those of the nodes that are here, as declared, else as the artifact or the record that they are."""
        found = {}
        for node_id in node_ids:
            node = self._declared.get(node_id)
            if node is not None:
                found[node_id] = Node(node.id, node.type, json_clean(node.properties))
            elif node_id in self._artifacts:
                found[node_id] = Node(node_id, ARTIFACT)
            elif node_id in self._records:
                found[node_id] = Node(node_id, RECORD)
        return found

    def neighbours(
        self,
        node_ids: Sequence[str],
        *,
        types: Collection[str] | None = None,
        direction: Direction = "out",
        limit: int | None = None,
    ) -> list[list[Neighbour]]:
        """For each node the other ends of its edges; see :meth:`ir.protocols.Snapshot.neighbours`."""
        wanted = direction_of(direction)
        found = []
        for node_id in node_ids:
            one: list[Neighbour] = []
            if wanted != "in":
                one += islice((self._target(edge) for edge in self._out(node_id, types)), limit)
            if wanted != "out":
                one += islice((self._origin(edge) for edge in self._into(node_id, types)), limit)
            found.append(one)
        return found

    def degrees(
        self, node_ids: Sequence[str], *, types: Collection[str] | None = None, direction: Direction = "out"
    ) -> list[int]:
        """How many edges each node has."""
        wanted = direction_of(direction)
        return [
            (sum(1 for _ in self._out(node_id, types)) if wanted != "in" else 0)
            + (sum(1 for _ in self._into(node_id, types)) if wanted != "out" else 0)
            for node_id in node_ids
        ]

    def _out(self, node_id: str, types: Collection[str] | None) -> Iterable[Edge]:
        return (edge for edge in self._edges.get(node_id, ()) if types is None or edge.type in types)

    def _into(self, node_id: str, types: Collection[str] | None) -> Iterable[Edge]:
        return (edge for edge in self._incoming.get(node_id, ()) if types is None or edge.type in types)

    @cached_property
    def _incoming(self) -> dict[str, list[Edge]]:
        incoming: dict[str, list[Edge]] = {}
        for source in sorted(self._edges):
            for edge in self._edges[source]:
                if edge.corpus is None or edge.corpus == self._name:
                    incoming.setdefault(edge.target, []).append(edge)
        for edges in incoming.values():
            edges.sort(key=lambda edge: edge.type)  # stable: of one type they stay in the order of their sources
        return incoming

    def _target(self, edge: Edge) -> Neighbour:
        elsewhere = edge.corpus is not None and edge.corpus != self._name
        place: Place = "elsewhere" if elsewhere else self._place(edge.target)
        return Neighbour(edge.target, edge.type, "out", place, edge.corpus, json_clean(edge.properties))

    def _origin(self, edge: Edge) -> Neighbour:
        return Neighbour(edge.source, edge.type, "in", self._place(edge.source), None, json_clean(edge.properties))

    def _place(self, node_id: str) -> Place:
        known = node_id in self._declared or node_id in self._artifacts or node_id in self._records
        return "here" if known else "nowhere"
