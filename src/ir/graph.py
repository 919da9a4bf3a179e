"""What is linked to what? The edges that a build wrote between artifacts, in both directions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

from ir.base import Record, SearchHit
from ir.errors import InvalidInput

__all__ = [
    "CHILD",
    "NEXT",
    "PARENT",
    "PREV",
    "REF",
    "CorpusGraph",
    "GraphStore",
    "canonical_node_id",
    "default_edge_extractor",
    "dep_boost",
]

NEXT = "NEXT"
PREV = "PREV"
PARENT = "PARENT"
CHILD = "CHILD"
REF = "REF"

#: Where a requirement's name ends: at its extras, version, marker or address.
_NAME_END = re.compile(r"[\s\[(<>=!~;@,]")


@runtime_checkable
class GraphStore(Protocol):
    """What a walk needs of a graph: a node's payload by id, and the ids of its neighbours."""

    def __getitem__(self, node_id: Any) -> Any: ...

    def neighbors(self, node_id: Any, *, edge_type: str | None = None) -> Iterable[Any]: ...


class CorpusGraph:
    """The artifacts of one corpus as nodes, their links as edges.

    ``graph[artifact_id]`` is the artifact's records in plan order. A target is an artifact id of this corpus or a
    ``[source, artifact_id]`` pair of another; :func:`canonical_node_id` makes one form of both. ``source`` is the
    corpus's name, ``None`` for a bare store, and ``corpus`` what the graph was made of.

    >>> from ir.store import CorpusStore
    >>> store = CorpusStore.memory()
    >>> store.set_links("app", {REF: ["lib", ["tools", "make"]]})
    >>> graph = CorpusGraph(store)
    >>> graph.neighbors("app"), graph.reverse_neighbors("lib"), graph.fan_in("lib")
    (['lib', ['tools', 'make']], ['app'], 1)
    """

    def __init__(self, store_or_corpus: Any) -> None:
        from ir.retrieve.siblings import store_of

        self.corpus = store_or_corpus
        self.store = store_of(store_or_corpus)
        self.source: str | None = (
            store_or_corpus if isinstance(store_or_corpus, str) else getattr(store_or_corpus, "name", None)
        )
        self._reverse: tuple[Any, dict[str, dict[str, list[str]]]] | None = None

    def __getitem__(self, node_id: str) -> list[Record]:
        from ir.retrieve import records_for_artifact

        return records_for_artifact(self.store, node_id)

    def neighbors(self, node_id: str, *, edge_type: str | None = None) -> list[Any]:
        """The targets of the edges out of a node, each once, as they are stored."""
        edges = self._edges(node_id)
        kept = edges.values() if edge_type is None else [edges.get(edge_type, [])]
        unique: dict[Any, Any] = {}
        for target in (target for targets in kept for target in targets):
            unique.setdefault(tuple(target) if isinstance(target, list) else target, target)
        return list(unique.values())

    def edge_types(self, node_id: str) -> list[str]:
        """The types of the edges out of a node."""
        return list(self._edges(node_id))

    def reverse_neighbors(self, node_id: str, *, edge_type: str | None = None) -> list[str]:
        """The artifacts with an edge to a node, each once. Names in ``REF`` edges agree whatever their case."""
        incoming = self._incoming()
        found: dict[str, None] = {}
        for key in dict.fromkeys((node_id, node_id.lower())):
            for kind, sources in incoming.get(key, {}).items():
                if (edge_type is None or kind == edge_type) and (key == node_id or kind == REF):
                    found.update(dict.fromkeys(sources))
        return list(found)

    def fan_in(self, node_id: str, *, edge_type: str | None = None) -> int:
        """How many artifacts have an edge to a node."""
        return len(self.reverse_neighbors(node_id, edge_type=edge_type))

    def max_fan_in(self, *, edge_type: str | None = None) -> int:
        """The largest number of artifacts that have an edge to one node."""
        return max((self.fan_in(node, edge_type=edge_type) for node in self._incoming()), default=0)

    def _edges(self, node_id: str) -> dict[str, list[Any]]:
        get_links = getattr(self.store, "get_links", None)
        return dict(get_links(node_id)) if get_links is not None else {}

    def _incoming(self) -> dict[str, dict[str, list[str]]]:
        """Edges by target, of targets in this corpus; made again when the store says that it changed."""
        version = getattr(self.store, "version", None)
        if self._reverse is not None and version is not None and self._reverse[0] == version:
            return self._reverse[1]
        incoming: dict[str, dict[str, list[str]]] = {}
        link_items = getattr(self.store, "link_items", lambda: ())
        for origin, edges in link_items():
            for kind, targets in edges.items():
                for target in targets:
                    source, artifact_id = canonical_node_id(target, source=self.source)
                    if source == self.source:
                        incoming.setdefault(artifact_id, {}).setdefault(kind, []).append(origin)
        self._reverse = (version, incoming)
        return incoming


def canonical_node_id(target: Any, *, source: str | None) -> tuple[str | None, str]:
    """The ``(source, artifact_id)`` of a neighbour as stored, for a graph of corpus ``source``.

    >>> canonical_node_id("dol", source="packages")
    ('packages', 'dol')
    >>> canonical_node_id(["skills", "deploy"], source="packages")
    ('skills', 'deploy')
    """
    if isinstance(target, str):
        return (source, target)
    if isinstance(target, (list, tuple)) and len(target) == 2:
        home, artifact_id = target
        if isinstance(artifact_id, str) and (home is None or isinstance(home, str)):
            return (home, artifact_id)
    raise InvalidInput(f"A link's target must be an artifact id or a [source, artifact_id] pair, not {target!r}.")


def default_edge_extractor(artifact_id: str, filter_fields: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The edges in the usual filter fields: ``deps`` become ``REF`` edges by bare lower-case name, ``parent`` a
    ``PARENT`` edge. Blanks, repetitions and edges to the artifact itself are dropped.

    >>> default_edge_extractor("app", {"deps": ["Numpy>=1.2", "app", "rich[all]; os_name == 'nt'"], "parent": "suite"})
    {'REF': ['numpy', 'rich'], 'PARENT': ['suite']}
    """
    edges: dict[str, list[Any]] = {}
    deps = filter_fields.get("deps") or ()
    names = [_dependency_name(dep) for dep in ([deps] if isinstance(deps, str) else deps) if isinstance(dep, str)]
    refs = list(dict.fromkeys(name for name in names if name and name != artifact_id.lower()))
    if refs:
        edges[REF] = refs
    parent = filter_fields.get("parent")
    if isinstance(parent, str) and parent.strip() and parent.strip().lower() != artifact_id.lower():
        edges[PARENT] = [parent.strip()]
    return edges


def _dependency_name(requirement: str) -> str:
    return _NAME_END.split(requirement.strip(), maxsplit=1)[0].lower()


def dep_boost(
    graph: CorpusGraph | Any, *, weight: float = 0.05, edge_type: str | None = REF
) -> Callable[[SearchHit], float]:
    """What others depend on is likelier meant: a boost for ``search(graph_boost=…)``, from 0 to ``weight``.

    It grows with the logarithm of a hit's fan-in and is ``weight`` for the artifact with the largest. ``graph`` may
    also be a corpus, a store or a corpus name. Choose ``weight`` on the scale of the scores it is added to.
    """
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight < math.inf:
        raise InvalidInput(f"weight must be a number of at least 0, not {weight!r}.")
    links = graph if isinstance(graph, CorpusGraph) else CorpusGraph(graph)
    most = math.log1p(links.max_fan_in(edge_type=edge_type))

    def boost(hit: SearchHit) -> float:
        if not most:
            return 0.0
        return weight * min(math.log1p(links.fan_in(hit.artifact_id, edge_type=edge_type)) / most, 1.0)

    return boost
