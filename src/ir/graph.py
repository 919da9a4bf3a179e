"""What is linked to what? The edges that a build wrote between artifacts, in both directions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ir.base import Record, SearchHit
from ir.errors import InvalidInput
from ir.links import Direction, Neighbour
from ir.names import package_name, required_package
from ir.options import count

if TYPE_CHECKING:
    from ir.protocols import Snapshot
    from ir.retrieve.pool import Pool

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
    "dependency_evidence_boost",
    "spread",
]

NEXT = "NEXT"
PREV = "PREV"
PARENT = "PARENT"
CHILD = "CHILD"
REF = "REF"


@runtime_checkable
class GraphStore(Protocol):
    """What a walk needs of a graph: a node's payload by id, and the ids of its neighbours."""

    def __getitem__(self, node_id: Any) -> Any: ...

    def neighbors(self, node_id: Any, *, edge_type: str | None = None) -> Iterable[Any]: ...


class CorpusGraph:
    """The artifacts of one corpus as nodes, their links as edges.

    ``graph[artifact_id]`` is the artifact's records in plan order. A target is an artifact id of this corpus or a
    ``[source, artifact_id]`` pair of another; :func:`canonical_node_id` makes one form of both. ``source`` is the
    corpus's name, ``None`` for a bare store, and ``corpus`` what the graph was made of. ``REF`` edges name packages:
    one to ``foo-bar`` leads to the artifact ``Foo_Bar`` unless there is one that is called just so.

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
        #: By the content version: the artifacts by name, and the largest fan-in by type.
        self._named: tuple[str, dict[str, str]] | None = None
        self._most: tuple[str, dict[str | None, int]] | None = None

    def __getitem__(self, node_id: str) -> list[Record]:
        from ir.retrieve import records_for_artifact

        return records_for_artifact(self.store, node_id)

    def edges(
        self,
        node_id: str,
        *,
        edge_type: str | None = None,
        direction: Direction = "out",
        limit: int | None = None,
    ) -> list[Neighbour]:
        """The edges of a node with all that is known of them; ``place`` says where each leads.

        That is ``"here"``, ``"elsewhere"`` (an artifact of another corpus) or ``"nowhere"`` (a name without an
        artifact). ``limit`` holds for each direction.
        """
        with self._snapshot() as snapshot:
            if snapshot is None:
                return []
            types = None if edge_type is None else [edge_type]
            out = direction != "in"
            found = snapshot.neighbours([node_id], types=types, direction="out", limit=limit)[0] if out else []
            found = [self._settled(one, snapshot) for one in found]
            return found if direction == "out" else found + self._incoming(node_id, types, limit, snapshot)

    def neighbors(self, node_id: str, *, edge_type: str | None = None) -> list[Any]:
        """The targets of the edges out of a node, each once, as they are stored; a package is called as it is here."""
        unique: dict[Any, Any] = {}
        for one in self.edges(node_id, edge_type=edge_type):
            unique.setdefault((one.corpus, one.id), one.id if one.corpus is None else [one.corpus, one.id])
        return list(unique.values())

    def resolve(self, name: str) -> str:
        """The artifact that a ``REF`` edge to ``name`` leads to; the name itself if it leads out of this corpus."""
        with self._snapshot() as snapshot:
            if snapshot is None or snapshot.nodes([name]):
                return name
            return self._by_package_name(snapshot).get(package_name(name), name)

    def edge_types(self, node_id: str) -> list[str]:
        """The types of the edges out of a node."""
        with self._snapshot() as snapshot:
            found = [] if snapshot is None else snapshot.neighbours([node_id])[0]
        return list(dict.fromkeys(one.type for one in found))

    def reverse_neighbors(self, node_id: str, *, edge_type: str | None = None) -> list[str]:
        """The artifacts with an edge to a node, each once.

        ``REF`` edges name packages, and ``node_id`` may be any spelling of such a name. They are found if they were
        written with the normal name, as :func:`default_edge_extractor` does, with an artifact's id, or with this name.
        """
        return list(dict.fromkeys(one.id for one in self.edges(node_id, edge_type=edge_type, direction="in")))

    def fan_in(self, node_id: str, *, edge_type: str | None = None) -> int:
        """How many artifacts have an edge to a node."""
        return len(self.reverse_neighbors(node_id, edge_type=edge_type))

    def max_fan_in(self, *, edge_type: str | None = None) -> int:
        """The largest number of artifacts that have an edge to one node; every edge is read for it, once a version."""
        with self._snapshot() as snapshot:
            if snapshot is None:
                return 0
            if self._most is None or self._most[0] != snapshot.content_version:
                self._most = (snapshot.content_version, {})
            most = self._most[1]
            if edge_type not in most:
                most[edge_type] = max(self._fan_ins(edge_type, snapshot).values(), default=0)
            return most[edge_type]

    def in_degrees(
        self, node_ids: Sequence[str], *, edge_type: str | None = None, snapshot: Snapshot | None = None
    ) -> list[int]:
        """How many edges lead to each of the nodes, asked together, in a ``snapshot`` of this corpus if one is held."""
        with self._snapshot(snapshot) as held:
            if held is None:
                return [0] * len(node_ids)
            counts = held.degrees(node_ids, types=None if edge_type is None else [edge_type], direction="in")
            if edge_type in (None, REF):
                others = [(place, name) for place, node in enumerate(node_ids) for name in self._aliases(node, held)]
                degrees = held.degrees([name for _, name in others], types=[REF], direction="in")
                for (place, _), degree in zip(others, degrees, strict=True):
                    counts[place] += degree
            return counts

    @contextmanager
    def _snapshot(self, held: Snapshot | None = None) -> Iterator[Snapshot | None]:
        """The version of the corpus that is held, or the latest; ``None`` for what has none and so no edges."""
        take = getattr(self.store, "snapshot", None)
        if held is not None or take is None:
            yield held
        else:
            with take() as snapshot:
                yield snapshot

    def _settled(self, one: Neighbour, snapshot: Snapshot) -> Neighbour:
        """A neighbour with the artifact that its name stands for, if it names a package."""
        if one.type != REF or one.place != "nowhere" or one.corpus is not None:
            return one
        artifact = self._by_package_name(snapshot).get(package_name(one.id))
        return one if artifact is None else one._replace(id=artifact, place="here")

    def _incoming(
        self, node_id: str, types: Collection[str] | None, limit: int | None, snapshot: Snapshot
    ) -> list[Neighbour]:
        found = snapshot.neighbours([node_id], types=types, direction="in", limit=limit)[0]
        aliases = self._aliases(node_id, snapshot) if types is None or REF in types else []
        if aliases:
            for more in snapshot.neighbours(aliases, types=[REF], direction="in", limit=limit):
                found += more
            found.sort(key=lambda one: (one.type, one.id))
        return found[:limit]

    def _aliases(self, node_id: str, snapshot: Snapshot) -> list[str]:
        """The other names under which a ``REF`` edge may lead to a node: its artifact's and the normal one."""
        normal = package_name(node_id)
        if normal == node_id and snapshot.nodes([node_id]):
            return []
        named = self._by_package_name(snapshot)
        artifact = _reference(node_id, named)
        names = [artifact, normal] if _reference(normal, named) == artifact else [artifact]
        return [name for name in dict.fromkeys(names) if name != node_id]

    def _fan_ins(self, edge_type: str | None, snapshot: Snapshot) -> Counter[str]:
        """How many artifacts have an edge to each node of this corpus, whatever it is called."""
        named = self._by_package_name(snapshot)
        counts: Counter[str] = Counter()
        for batch in self.store.iter_edges():
            for _, edges in batch:
                counts.update(
                    {
                        _reference(edge.target, named) if edge.type == REF else edge.target
                        for edge in edges
                        if edge_type in (None, edge.type) and edge.corpus in (None, self.source)
                    }
                )
        return counts

    def _by_package_name(self, snapshot: Snapshot) -> dict[str, str]:
        """The artifacts by their id and by its normal form as a package's name; of several, the first by name."""
        from ir.index.scan import ledger_rows

        if self._named is None or self._named[0] != snapshot.content_version:
            ids = sorted(str(row[0]) for row in ledger_rows(self.store, "artifact_id"))
            named = dict(zip(ids, ids, strict=True))
            for artifact_id in ids:
                named.setdefault(package_name(artifact_id), artifact_id)
            self._named = (snapshot.content_version, named)
        return self._named[1]


def _reference(name: str, named: Mapping[str, str]) -> str:
    """What all ways to name a package have in common: its artifact among those ``named``, else its normal name."""
    normal = package_name(name)
    return named.get(name) or named.get(normal, normal)


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
    """The edges in the usual filter fields: ``deps`` become ``REF`` edges by the normal name of the package
    (:func:`ir.names.package_name`), ``parent`` a ``PARENT`` edge. Blanks, repetitions and edges to the artifact itself
    are dropped.

    >>> default_edge_extractor("app", {"deps": ["Num_Py>=1.2", "app", "rich[all]; os_name == 'nt'"], "parent": "suite"})
    {'REF': ['num-py', 'rich'], 'PARENT': ['suite']}
    """
    edges: dict[str, list[Any]] = {}
    deps = filter_fields.get("deps") or ()
    names = [required_package(dep) for dep in ([deps] if isinstance(deps, str) else deps) if isinstance(dep, str)]
    refs = list(dict.fromkeys(name for name in names if name and name != package_name(artifact_id)))
    if refs:
        edges[REF] = refs
    parent = filter_fields.get("parent")
    if isinstance(parent, str) and parent.strip() and parent.strip().lower() != artifact_id.lower():
        edges[PARENT] = [parent.strip()]
    return edges


#: A build that knows which extractor made the links of an artifact need not read it again for them.
default_edge_extractor.__dict__["extractor_id"] = "deps-parent-1"


def dep_boost(
    graph: CorpusGraph | Any, *, weight: float = 0.05, edge_type: str | None = REF
) -> Callable[[SearchHit], float]:
    """What others depend on is likelier meant: a boost for ``search(graph_boost=…)``, from 0 to ``weight``.

    It grows with the logarithm of how many edges lead to a hit's artifact, and is ``weight`` where they are as many as
    the largest fan-in. ``graph`` may also be a corpus, a store or a corpus name. Choose ``weight`` on the scale of the
    scores it is added to.
    """
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight < math.inf:
        raise InvalidInput(f"weight must be a number of at least 0, not {weight!r}.")
    return _DependencyBoost(graph if isinstance(graph, CorpusGraph) else CorpusGraph(graph), weight, edge_type)


class _DependencyBoost:
    """The boost of one hit, or of all candidates of a pool at once."""

    def __init__(self, graph: CorpusGraph, weight: float, edge_type: str | None) -> None:
        self.graph = graph
        self.weight = weight
        self.edge_type = edge_type

    def __call__(self, hit: SearchHit) -> float:
        return self._boosts([hit.artifact_id], None)[0]

    def of_pool(self, pool: Pool) -> list[float]:
        own = getattr(pool.corpus, "store", None) is self.graph.store
        return self._boosts(pool.artifact_ids, pool.snapshot if own else None)

    def _boosts(self, artifact_ids: Sequence[str], snapshot: Snapshot | None) -> list[float]:
        most = math.log1p(self.graph.max_fan_in(edge_type=self.edge_type))
        if not most:
            return [0.0] * len(artifact_ids)
        degrees = self.graph.in_degrees(artifact_ids, edge_type=self.edge_type, snapshot=snapshot)
        return [self.weight * min(math.log1p(degree) / most, 1.0) for degree in degrees]


def dependency_evidence_boost(
    relevant_libs: Iterable[str], *, weight: float, saturate: int = 1, deps_field: str = "deps"
) -> Callable[[SearchHit], float]:
    """What uses the right libraries is likelier meant: a boost for ``search(dep_boost=…)``, from 0 to ``weight``.

    It counts the libraries that a hit's ``deps_field`` names; ``saturate`` of them earn all of ``weight``. Names are
    compared as packages are: capitals, versions, and ``-``, ``_`` or ``.`` make no difference.

    >>> boost = dependency_evidence_boost({"scikit_learn"}, weight=0.1)
    >>> [boost(SearchHit("a", "description", 0.4, "", {"deps": deps})) for deps in (["Scikit-Learn>=1.4"], ["rich"])]
    [0.1, 0.0]
    """
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not math.isfinite(weight):
        raise InvalidInput(f"weight must be a finite number, not {weight!r}.")
    saturate = count("saturate", saturate)
    if isinstance(relevant_libs, str):
        raise InvalidInput(f"relevant_libs must be a collection of names, not the text {relevant_libs!r}.")
    wanted = frozenset(map(required_package, relevant_libs))

    def boost(hit: SearchHit) -> float:
        deps = hit.metadata.get(deps_field) or ()
        named = [deps] if isinstance(deps, str) else deps
        found = wanted.intersection(required_package(dep) for dep in named if isinstance(dep, str))
        return weight * min(len(found), saturate) / saturate

    return boost


def spread(
    snapshot: Snapshot,
    seeds: Mapping[str, float] | Iterable[str],
    *,
    types: Collection[str] | None = None,
    direction: Direction = "out",
    depth: int = 2,
    decay: float = 0.5,
    limit: int | None = 100,
) -> dict[str, float]:
    """How near each node is to the seeds: those have their weight (else 1), and each step leaves ``decay`` of it.

    Edges are followed breadth-first, up to ``depth`` steps and ``limit`` of each node; where several ways lead to a
    node, the strongest counts. Names that stand for nothing here and nodes of other corpora are not reached.

    >>> from ir.links import Node
    >>> from ir.store import CorpusStore
    >>> store = CorpusStore.memory()
    >>> store.put_nodes([Node("a"), Node("b"), Node("c")])
    >>> store.set_links("a", {"calls": ["b", "unknown"]})
    >>> store.set_links("b", {"calls": ["c"]})
    >>> with store.snapshot() as snapshot:
    ...     spread(snapshot, ["a"], types=["calls"])
    {'a': 1.0, 'b': 0.5, 'c': 0.25}
    """
    depth = count("depth", depth, least=0)
    if isinstance(decay, bool) or not isinstance(decay, (int, float)) or not 0 <= decay <= 1:
        raise InvalidInput(f"decay must be a number from 0 to 1, not {decay!r}.")
    weights = seeds.items() if isinstance(seeds, Mapping) else [(seed, 1.0) for seed in seeds]
    reached = {node: float(weight) for node, weight in weights}
    frontier = dict(reached)
    for _ in range(depth):
        stronger: dict[str, float] = {}
        neighbours = snapshot.neighbours(list(frontier), types=types, direction=direction, limit=limit)
        for strength, others in zip(frontier.values(), neighbours, strict=True):
            handed = strength * decay
            for other in others:
                if other.place == "here" and handed > max(reached.get(other.id, 0.0), stronger.get(other.id, 0.0)):
                    stronger[other.id] = handed
        if not stronger:
            break
        reached.update(stronger)
        frontier = stronger
    return reached
