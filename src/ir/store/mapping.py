"""A corpus kept in mappings: plain dicts, files behind a ``dol`` store, anything that maps keys to values."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.analysis import analyzer_for
from ir.base import Record, json_clean, ledger_key
from ir.content import Content, edge_sum, node_sum, record_sum, vector_sum
from ir.links import Edge, Node, edges_of_links
from ir.store.base import DFLT_BATCH, MAIN_SPACE, BaseStore, View, meta_of
from ir.store.journal import Journal
from ir.store.opening import open_store

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.base import Vector
    from ir.protocols import Snapshot
    from ir.store.memory_graph import MemoryGraph
    from ir.store.memory_index import Lexicon, MemorySnapshot

    Vectors = MutableMapping[str, NDArray[np.float32]]

__all__ = ["CorpusStore"]

#: Where the mapping of settings says which spaces of vectors there are.
_SPACES = "spaces"


class CorpusStore(BaseStore):
    """Everything that is kept of one corpus: records, links, ledger, settings, calibrations.

    The mappings are the truth and belong to the store while it is open: ``meta`` holds JSON-clean dicts,
    ``vectors`` numpy arrays, under the same record ids. Views left out are kept in memory. ``spaces`` holds a mapping
    of vectors for each space beside the first.

    >>> store = CorpusStore.memory()
    >>> store.set_links("a", {"ref": ["b"], "next": []})
    >>> store.get_links("a"), len(store), store.get_calibration("dense")
    ({'ref': ['b']}, 0, None)
    """

    def __init__(
        self,
        meta: MutableMapping[str, Any],
        vectors: Vectors,
        ledger: MutableMapping[str, Any],
        config: MutableMapping[str, Any],
        calibration: MutableMapping[str, Any] | None = None,
        links: MutableMapping[str, Any] | None = None,
        *,
        symbols: MutableMapping[str, Any] | None = None,
        spaces: MutableMapping[str, Vectors] | None = None,
    ) -> None:
        self.meta = meta
        self.vectors = vectors
        self.ledger = ledger
        self.config = config
        self.calibration = {} if calibration is None else calibration
        self.links = {} if links is None else links
        self.symbols = {} if symbols is None else symbols
        self._others: MutableMapping[str, Vectors] = {} if spaces is None else spaces
        self._lock = threading.RLock()
        self._journal: Journal | None = None
        self._name = os.urandom(4).hex()
        self._writes = 0
        self._latest: MemorySnapshot | None = None
        self._relinked = False
        self._lexicon: Lexicon | None = None
        self._sums: Content | None = None

    @classmethod
    def __subclasshook__(cls, other: type) -> bool:
        # Every store is a corpus store to those who ask, wherever it keeps a corpus.
        return issubclass(other, BaseStore) if cls is CorpusStore else NotImplemented

    @classmethod
    def memory(cls) -> CorpusStore:
        """A store in memory, gone with the process."""
        return CorpusStore({}, {}, {}, {}, {}, {})

    @classmethod
    def local(cls, name: str) -> BaseStore:
        """The embedded store of a named corpus, on disk below the data directory."""
        return cls.open(f"local:{name}")

    @classmethod
    def open(cls, address: str) -> BaseStore:
        """The store at an address: a server's, ``local:NAME``, or a folder's path (see :mod:`ir.store.opening`)."""
        store: BaseStore = open_store(address)
        return store

    # -- many writes as one, one version for many reads --------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all writes inside one: an exception that leaves the block undoes them. Inner blocks join the outer.

        Other threads wait with writes and with new snapshots until the block is left.
        """
        with self._lock:
            if self._journal is not None:
                yield
                return
            self._journal = Journal()
            try:
                yield
            except BaseException:
                self._journal.undo()
                self._sums = None
                self._touched()
                raise
            finally:
                self._journal = None

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """The corpus as it is now, and stays in the block whatever is written meanwhile."""
        return nullcontext(self._current())

    def _current(self) -> MemorySnapshot:
        from ir.store.memory_index import Lexicon, MemorySnapshot, Spaces

        with self._lock:
            if self._latest is None:
                records = list(self._all_records())
                config = self.get_config()
                self._lexicon = Lexicon(records, analyzer_for(config.get("language", "english")), self._lexicon)
                places = {record.id: place for place, record in enumerate(records)}
                vectors = {
                    name: {places[record_id]: held[record_id] for record_id in held if record_id in places}
                    for name, held in self._all_vectors()
                }
                self._latest = MemorySnapshot(
                    self.version,
                    self.content_version,
                    records,
                    self._lexicon,
                    config,
                    self._graph(places.keys(), config.get("name")),
                    Spaces(self._default_space(), vectors),
                )
            elif self._latest.version != self.version:
                graph = self._graph(self.meta.keys(), self._latest.config().get("name")) if self._relinked else None
                self._latest = self._latest.renamed(self.version, self.content_version, graph)
            self._relinked = False
            return self._latest

    def _graph(self, records: Any, name: str | None) -> MemoryGraph:
        from ir.store.memory_graph import MemoryGraph

        entries = [_entry(key, self.links[key]) for key in list(self.links)]
        nodes = {node_id: node for node_id, node, _ in entries if node is not None}
        edges = {node_id: out for node_id, _, out in entries if out}
        artifacts = {str(entry.get("artifact_id")) for _, entry in self.ledger_items()}
        return MemoryGraph(nodes, edges, artifacts, frozenset(records), name)

    # -- where things are kept ---------------------------------------------------------------------------------

    @property
    def version(self) -> str:
        """Names the present state of the corpus; another after every write."""
        return f"{self._name}-{self._writes}"

    @property
    def content_version(self) -> str:
        config = self.get_config()
        analyzer = analyzer_for(config.get("language") or "english")
        with self._lock:
            return self._content().version(config, self._default_space(), analyzer.id)

    def _content(self) -> Content:
        """The sums of what is held: added up once, then kept up to date with every write."""
        if self._sums is None:
            sums = Content()
            sums.change("records", record_sum(self._all_records()))
            for key in list(self.links):
                _, node, edges = _entry(key, self.links[key])
                sums.change("nodes", node_sum([] if node is None else [node]))
                sums.change("edges", edge_sum(edges))
            for name, vectors in self._all_vectors():
                sums.change_vectors(name, vector_sum(vectors))
            self._sums = sums
        return self._sums

    def __len__(self) -> int:
        return len(self.meta)

    def record_ids(self) -> list[str]:
        """The ids of all records, in no particular order."""
        return list(self.meta)

    # -- records

    def _known_records(self, record_ids: Sequence[str]) -> set[str]:
        return {record_id for record_id in record_ids if record_id in self.meta}

    def _read_record(self, record_id: str) -> Record | None:
        if record_id not in self.meta:
            return None
        record = self._shared_record(record_id)
        metadata = json_clean(record.metadata)
        return Record(**{**vars(record), "vector": record.vector.copy(), "metadata": metadata})

    def _all_records(self) -> Iterator[Record]:
        records = map(self._shared_record, self.record_ids())
        return iter(sorted(records, key=lambda record: (record.artifact_id, record.surface_index, record.id)))

    def _shared_record(self, record_id: str) -> Record:
        vectors = self._vectors_of(self._default_space())
        vector = vectors[record_id] if record_id in vectors else np.empty(0)
        return Record(id=record_id, vector=np.asarray(vector, dtype=np.float32), **self.meta[record_id])

    def _write_records(self, records: Sequence[Record], space: str) -> None:
        self._erase_records([record.id for record in records])
        latest = {record.id: record for record in records}
        journal, sums = self._open_journal(), self._content()
        for record in latest.values():
            journal.write(self.meta, record.id, meta_of(record))
            if len(record.vector):
                journal.write(self._vectors_of(space), record.id, record.vector)
                sums.change_vectors(space, vector_sum([record.id]))
        sums.change("records", record_sum(latest.values()))
        self._touched()

    def _erase_records(self, record_ids: Sequence[str]) -> None:
        journal, sums = self._open_journal(), self._content()
        for record_id in dict.fromkeys(record_ids):
            if record_id not in self.meta:
                continue
            sums.change("records", -record_sum([self._shared_record(record_id)]))
            journal.erase(self.meta, record_id)
            for name, vectors in self._all_vectors():
                if journal.erase(vectors, record_id):
                    sums.change_vectors(name, -vector_sum([record_id]))
            self._touched()

    # -- spaces

    def _spaces(self) -> dict[str, Any]:
        found: dict[str, Any] = json_clean(self.config[_SPACES]) if _SPACES in self.config else {}
        return found or {"default": MAIN_SPACE, "names": [MAIN_SPACE]}

    def _default_space(self) -> str:
        return str(self._spaces()["default"])

    def _space_names(self) -> list[str]:
        return list(self._spaces()["names"])

    def _vectors_of(self, space: str) -> Vectors:
        return self.vectors if space == MAIN_SPACE else self._others.setdefault(space, {})

    def _all_vectors(self) -> list[tuple[str, Vectors]]:
        return [(name, self._vectors_of(name)) for name in self._space_names()]

    def _write_space(self, name: str) -> None:
        spaces = self._spaces()
        self._set_spaces(spaces["default"], [*spaces["names"], name])

    def _erase_space(self, name: str) -> None:
        journal, vectors = self._open_journal(), self._vectors_of(name)
        for record_id in list(vectors):
            journal.erase(vectors, record_id)
        self._content().vectors.pop(name, None)
        spaces = self._spaces()
        self._set_spaces(spaces["default"], [held for held in spaces["names"] if held != name])

    def _switch_space(self, name: str) -> None:
        self._set_spaces(name, self._spaces()["names"])

    def _set_spaces(self, default: str, names: Sequence[str]) -> None:
        self._open_journal().write(self.config, _SPACES, {"default": default, "names": list(names)})
        self._touched()

    def _dimension(self, space: str) -> int | None:
        return next((len(vector) for vector in self._vectors_of(space).values()), None)

    def _write_vectors(self, space: str, vectors: Mapping[str, Vector]) -> None:
        journal, sums, held = self._open_journal(), self._content(), self._vectors_of(space)
        for record_id, vector in vectors.items():
            if record_id not in held:
                sums.change_vectors(space, vector_sum([record_id]))
            journal.write(held, record_id, vector)
        self._touched()

    def _read_vectors(self, space: str, record_ids: Sequence[str]) -> dict[str, Vector]:
        held = self._vectors_of(space)
        return {name: np.array(held[name], dtype=np.float32) for name in record_ids if name in held}

    def _without_vector(self, space: str, limit: int | None) -> list[str]:
        held = self._vectors_of(space)
        return sorted(record_id for record_id in self.meta if record_id not in held)[:limit]

    # -- nodes and edges

    def iter_nodes(self, batch: int = DFLT_BATCH) -> Iterator[list[Node]]:
        entries = (_entry(key, self.links[key]) for key in list(self.links))
        nodes = sorted((node for _, node, _ in entries if node is not None), key=lambda node: node.id)
        return (nodes[start : start + batch] for start in range(0, len(nodes), batch))

    def iter_edges(self, batch: int = DFLT_BATCH) -> Iterator[list[tuple[str, list[Edge]]]]:
        entries = (_entry(key, self.links[key]) for key in list(self.links))
        edges = sorted((node_id, out) for node_id, _, out in entries if out)
        return (edges[start : start + batch] for start in range(0, len(edges), batch))

    def _write_nodes(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            held, edges = self._held(node.id)
            self._content().change("nodes", node_sum([node]) - node_sum([] if held is None else [held]))
            self._keep(node.id, node, edges)

    def _erase_nodes(self, node_ids: Sequence[str]) -> None:
        for node_id in node_ids:
            held, edges = self._held(node_id)
            if held is not None:
                self._content().change("nodes", -node_sum([held]))
                self._keep(node_id, None, edges)

    def _read_nodes(self, node_ids: Sequence[str]) -> dict[str, Node]:
        found = {node_id: self._held(node_id)[0] for node_id in node_ids}
        return {node_id: node for node_id, node in found.items() if node is not None}

    def _write_edges(self, edges: Mapping[str, Sequence[Edge]]) -> None:
        for node_id, out in edges.items():
            node, held = self._held(node_id)
            if list(out) != held:
                self._content().change("edges", edge_sum(out) - edge_sum(held))
                self._keep(node_id, node, out)

    def _read_edges(self, node_ids: Sequence[str]) -> dict[str, list[Edge]]:
        found = {node_id: self._held(node_id)[1] for node_id in node_ids}
        return {node_id: edges for node_id, edges in found.items() if edges}

    def _held(self, node_id: str) -> tuple[Node | None, list[Edge]]:
        """A node as it was declared and the edges out of it."""
        for key in (ledger_key(node_id), node_id):
            if key in self.links:
                found, node, edges = _entry(key, self.links[key])
                if found == node_id:
                    return node, edges
        return None, []

    def _keep(self, node_id: str, node: Node | None, edges: Sequence[Edge]) -> None:
        journal, key = self._open_journal(), ledger_key(node_id)
        journal.erase(self.links, node_id)  # where it was kept before
        if node is None and not edges:
            journal.erase(self.links, key)
        else:
            entry: dict[str, Any] = {"artifact_id": node_id, "edges": [_written(edge) for edge in edges]}
            if node is not None:
                entry["node"] = [node.type, json_clean(node.properties)]
            journal.write(self.links, key, entry)
        self._touched(searched=False, linked=True)

    # -- the other views

    def _read(self, view: View, key: str) -> Any:
        mapping = self._view(view)
        return json_clean(mapping[key]) if key in mapping else None

    def _read_all(self, view: View) -> list[tuple[str, Any]]:
        mapping = self._view(view)
        return [(key, json_clean(mapping[key])) for key in list(mapping)]

    def _write(self, view: View, key: str, value: Any) -> None:
        with self.transaction():
            self._open_journal().write(self._view(view), key, value)
            self._touched(searched=view == "config", linked=view == "ledger")

    def _erase(self, view: View, key: str) -> None:
        with self.transaction():
            if self._open_journal().erase(self._view(view), key):
                self._touched(searched=view == "config", linked=view == "ledger")

    def _view(self, view: View) -> MutableMapping[str, Any]:
        mapping: MutableMapping[str, Any] = getattr(self, view)
        return mapping

    def _open_journal(self) -> Journal:
        assert self._journal is not None, "writes happen inside a transaction"
        return self._journal

    def _touched(self, *, searched: bool = True, linked: bool = True) -> None:
        """Something was written: what searches read, or what is known of nodes and edges, or neither."""
        self._writes += 1
        self._relinked = self._relinked or linked
        if searched:
            self._latest = None


def _written(edge: Edge) -> list[Any]:
    target = edge.target if edge.corpus is None else [edge.corpus, edge.target]
    return [edge.type, target, json_clean(edge.properties)] if edge.properties else [edge.type, target]


def _entry(key: str, value: Any) -> tuple[str, Node | None, list[Edge]]:
    """A node's id, itself as far as it was declared, and the edges out of it.

    An id may be no key of a mapping that keeps files, so it is hashed and stands inside. In mappings that were written
    before, it is the key and the value is just the links, or it stands inside and the links are by type.
    """
    node_id = value.get("artifact_id")
    if not isinstance(node_id, str):
        return key, None, edges_of_links(key, value)
    edges = value["edges"]
    if isinstance(edges, Mapping):
        return node_id, None, edges_of_links(node_id, edges)
    declared = value.get("node")
    node = None if declared is None else Node(node_id, declared[0], json_clean(declared[1]))
    return node_id, node, [_edge(node_id, *fields) for fields in edges]


def _edge(source: str, edge_type: str, target: Any, properties: Mapping[str, Any] | None = None) -> Edge:
    corpus, name = (None, target) if isinstance(target, str) else target
    return Edge(source, edge_type, name, corpus, json_clean(properties or {}))
