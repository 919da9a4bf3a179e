"""Edges as rows with versions, found by the marks of either end."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ir.errors import InvalidInput
from ir.links import Edge
from ir.store.milvus.connection import Connection
from ir.store.milvus.entries import EDGE_BODY, Entries, body_of
from ir.store.milvus.rows import mark_of, marked, pages_of
from ir.store.milvus.schema import ALIVE, LONGEST, Collections, visible
from ir.store.milvus.state import State
from ir.store.milvus.versions import EDGE_FIELDS, end_rows

__all__ = ["Edges"]

_READ_FIELDS = ("ref", "source", "type", "target", "place", "body", "pages")


class Edges:
    """The edges of a corpus: a row for each, with its place among those out of its source."""

    def __init__(self, connection: Connection, collections: Collections) -> None:
        self._connection = connection
        self._collections = collections
        self._collection = collections.edges
        self._entries = Entries(connection, collections.entries)

    # -- reading -----------------------------------------------------------------------------------------------

    def sources(self, state: State) -> list[str]:
        """The nodes that edges lead out of, by id."""
        if not state.edges:
            return []
        expr = f"place == 0 and {visible(state.version)}"
        windows = self._connection.windows(self._collection, expr, ["source"], state.next_edge)
        return sorted(row["source"] for rows in windows for row in rows)

    def out(
        self,
        sources: Sequence[str],
        version: int,
        *,
        types: Collection[str] | None = None,
        limit: int | None = None,
    ) -> dict[str, list[Edge]]:
        """The edges out of each node that has any, in the order in which they were given."""
        within = _within(version, types)
        if limit is not None and types is None:
            within += f" and place < {limit}"
        rows = self._ending("mark", sources, within, _READ_FIELDS)
        rows.sort(key=lambda row: int(row["place"]))
        found: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            found.setdefault(row["source"], []).append(row)
        return {source: [self._edge(row, version) for row in held[:limit]] for source, held in found.items()}

    def into(
        self,
        targets: Sequence[str],
        version: int,
        corpus: str | None,
        *,
        types: Collection[str] | None = None,
        limit: int | None = None,
    ) -> dict[str, list[Edge]]:
        """The edges into each node that has any, by type and source; ``corpus`` is what this corpus is called."""
        within = f"{_within(version, types)} and {_meant(corpus)}"
        # What an edge says besides its ends is fetched for those that are asked for: a node may have very many.
        ends = ("ref", "source", "type", "target", "place")
        rows = self._ending("into", targets, within, _READ_FIELDS if limit is None else ends)
        rows.sort(key=lambda row: (row["type"], row["source"], int(row["place"])))
        found: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            found.setdefault(row["target"], []).append(row)
        chosen = {target: held[:limit] for target, held in found.items()}
        if limit is not None:
            bodies = self._bodies([int(row["ref"]) for held in chosen.values() for row in held])
            chosen = {
                target: [{**row, **bodies[row["ref"]]} for row in held if row["ref"] in bodies]
                for target, held in chosen.items()
            }
        return {target: [self._edge(row, version) for row in held] for target, held in chosen.items()}

    def out_degrees(self, sources: Sequence[str], version: int, types: Collection[str] | None) -> Counter[str]:
        """How many edges lead out of each node."""
        rows = self._ending("mark", sources, _within(version, types), ["mark"])
        counts = Counter(row["mark"] for row in rows)
        return Counter({source: counts[mark_of(source)] for source in sources})

    def in_degrees(
        self, targets: Sequence[str], version: int, corpus: str | None, types: Collection[str] | None
    ) -> Counter[str]:
        """How many edges lead into each node."""
        rows = self._ending("into", targets, f"{_within(version, types)} and {_meant(corpus)}", ["into"])
        counts = Counter(row["into"] for row in rows)
        return Counter({target: counts[mark_of(target)] for target in targets})

    def _ending(self, end: str, node_ids: Sequence[str], within: str, fields: Sequence[str]) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for expr in marked([mark_of(node_id) for node_id in dict.fromkeys(node_ids)], end):
            rows += self._connection.query(self._collection, f"{expr} and {within}", fields)
        return rows

    def _bodies(self, refs: Sequence[int]) -> dict[int, dict[str, Any]]:
        rows = self._connection.by_ref(self._collection, refs, ["body", "pages"])
        return {row["ref"]: row for row in rows}

    def _edge(self, row: Mapping[str, Any], version: int) -> Edge:
        corpus, properties = json.loads(body_of(row, self._entries, version, EDGE_BODY))
        return Edge(row["source"], row["type"], row["target"], corpus, properties)

    # -- writing -----------------------------------------------------------------------------------------------

    def write(self, edges: Mapping[str, Sequence[Edge]], state: State) -> tuple[list[Edge], list[Edge]]:
        """Replace the edges out of the given nodes; those that went and those that came.

        An edge that stays in its place is not written again.
        """
        dying: list[dict[str, Any]] = []
        coming: list[tuple[int, Edge]] = []
        held = self._held(list(edges), state)
        for source, out in edges.items():
            there = held.get(source, {})
            for place, edge in enumerate(out):
                row = there.get(place)
                if row is not None and self._says(row, state.version) == (edge.type, edge.target, _body(edge)):
                    del there[place]
                else:
                    coming.append((place, edge))
            dying += there.values()
        gone = [self._edge(row, state.version) for row in dying]
        self._end(dying, state)
        if coming:
            self._collections.make_edges()
            self._connection.upsert(self._collection, (self._born(*pair, state) for pair in coming), new=True)
        state.edges += len(coming) - len(gone)
        return gone, [edge for _, edge in coming]

    def _held(self, sources: Sequence[str], state: State) -> dict[str, dict[int, dict[str, Any]]]:
        found: dict[str, dict[int, dict[str, Any]]] = {}
        if state.edges:
            for row in self._ending("mark", sources, visible(state.version), ["ref", *EDGE_FIELDS]):
                found.setdefault(row["source"], {})[int(row["place"])] = row
        return found

    def _says(self, row: Mapping[str, Any], version: int) -> tuple[str, str, str]:
        return row["type"], row["target"], body_of(row, self._entries, version, EDGE_BODY)

    def _end(self, rows: Sequence[dict[str, Any]], state: State) -> None:
        long: dict[str, Any] = {str(row["ref"]): None for row in rows if row["pages"] > 1}
        if long:
            self._entries.write(EDGE_BODY, long, state)
        end_rows(self._connection, self._collection, rows, state.version)

    def _born(self, place: int, edge: Edge, state: State) -> dict[str, Any]:
        for name in (edge.source, edge.type, edge.target):
            if len(name.encode()) > LONGEST:
                raise InvalidInput(
                    f"An edge out of {edge.source[:60]!r} has an end or a type longer than the {LONGEST} bytes allowed."
                )
        first, *more = pages_of(_body(edge))
        ref, state.next_edge = state.next_edge, state.next_edge + 1
        if more:
            self._entries.write(EDGE_BODY, {str(ref): "".join(more)}, state)
        return {
            "ref": ref,
            "mark": mark_of(edge.source),
            "born": state.version,
            "died": ALIVE,
            "into": mark_of(edge.target),
            "kind": mark_of(edge.type),
            "elsewhere": "" if edge.corpus is None else mark_of(edge.corpus),
            "place": place,
            "pages": 1 + len(more),
            "source": edge.source,
            "type": edge.type,
            "target": edge.target,
            "body": first,
            "none": [0.0, 0.0],
        }


def _body(edge: Edge) -> str:
    return json.dumps([edge.corpus, edge.properties], ensure_ascii=False, separators=(",", ":"))


def _within(version: int, types: Collection[str] | None) -> str:
    if types is None:
        return visible(version)
    marks = ", ".join(f'"{mark_of(one)}"' for one in types)
    return f"kind in [{marks}] and {visible(version)}"


def _meant(corpus: str | None) -> str:
    """Edges that say of their target that it is in another corpus lead to none of this one."""
    names = '""' if corpus is None else f'"", "{mark_of(corpus)}"'
    return f"elsewhere in [{names}]"
