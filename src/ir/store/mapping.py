"""A corpus kept in mappings: plain dicts, files behind a ``dol`` store, anything that maps keys to values."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ir.base import Record, json_clean, ledger_key, storable
from ir.store.checks import clean_edges, clean_records, clean_settings, common_dimension, mixed_dimensions, mode_key
from ir.store.journal import Journal
from ir.store.opening import open_store
from ir.store.vectors import stacked, unit_rows

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from ir.protocols import Snapshot
    from ir.store.memory_index import Lexicon, MemorySnapshot

    Matrix = tuple[list[str], NDArray[np.float32], list[dict[str, Any]]]

__all__ = ["CorpusStore"]

#: The views of a corpus that hold JSON values by key.
View = Literal["ledger", "links", "config", "calibration"]
_SETTINGS = "config"
DFLT_BATCH = 1000


class CorpusStore:
    """Everything that is kept of one corpus: records, ledger, links, settings, calibrations.

    The mappings are the truth and belong to the store while it is open: ``meta`` holds JSON-clean dicts,
    ``vectors`` numpy arrays, under the same record ids. Views left out are kept in memory.

    A subclass that keeps a corpus elsewhere overrides the methods of the last section, "where things are kept",
    together with :meth:`transaction` and :meth:`snapshot`; the rest is written in terms of those.

    >>> store = CorpusStore.memory()
    >>> store.set_links("a", {"ref": ["b"], "next": []})
    >>> store.get_links("a"), len(store), store.get_calibration("dense")
    ({'ref': ['b']}, 0, None)
    """

    _matrix: tuple[str, Matrix] | None = None

    def __init__(
        self,
        meta: MutableMapping[str, Any],
        vectors: MutableMapping[str, NDArray[np.float32]],
        ledger: MutableMapping[str, Any],
        config: MutableMapping[str, Any],
        calibration: MutableMapping[str, Any] | None = None,
        links: MutableMapping[str, Any] | None = None,
    ) -> None:
        self.meta = meta
        self.vectors = vectors
        self.ledger = ledger
        self.config = config
        self.calibration = {} if calibration is None else calibration
        self.links = {} if links is None else links
        self._lock = threading.RLock()
        self._journal: Journal | None = None
        self._name = os.urandom(4).hex()
        self._writes = 0
        self._latest: MemorySnapshot | None = None
        self._lexicon: Lexicon | None = None

    @classmethod
    def memory(cls) -> CorpusStore:
        """A store in memory, gone with the process."""
        return CorpusStore({}, {}, {}, {}, {}, {})

    @classmethod
    def local(cls, name: str) -> CorpusStore:
        """The embedded store of a named corpus, on disk below the data directory."""
        return cls.open(f"local:{name}")

    @classmethod
    def open(cls, address: str) -> CorpusStore:
        """The store at an address: a server's, ``local:NAME``, or a folder's path (see :mod:`ir.store.opening`)."""
        store: CorpusStore = open_store(address)
        return store

    def exists(self) -> bool:
        """Whether anything was ever written here."""
        return len(self) > 0 or bool(self.get_config())

    # -- opening and closing ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of files and connections; mappings have none."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __bool__(self) -> bool:
        # An empty store is still a store: ``store or default`` must not pass it over.
        return True

    # -- records -----------------------------------------------------------------------------------------------

    def put_record(self, record: Record) -> None:
        """Keep a record; one with the same id is replaced."""
        self.put_records([record])

    def put_records(self, records: Sequence[Record]) -> None:
        """Keep all of the records or, if one is not fit to be kept, none."""
        if not records:
            return
        cleaned = clean_records(records)
        with self._write_scope():
            self._check_dimension(cleaned)
            self._write_records(cleaned)

    def get_record(self, record_id: str) -> Record:
        """The record of that id; ``KeyError`` if there is none. It is the caller's to change."""
        record = self._read_record(storable(record_id))
        if record is None:
            raise KeyError(f"no record {record_id!r} in this store")
        return record

    def delete_record(self, record_id: str) -> None:
        """Forget a record; a missing one is tolerated."""
        self.delete_records([record_id])

    def delete_records(self, record_ids: Sequence[str]) -> None:
        """Forget records; missing ones are tolerated."""
        if record_ids:
            with self._write_scope():
                self._erase_records([storable(record_id) for record_id in record_ids])

    def get_records(self, record_ids: Sequence[str]) -> list[Record]:
        """Those of the records that are there, in no particular order."""
        found = (self._read_record(record_id) for record_id in dict.fromkeys(map(storable, record_ids)))
        return [record for record in found if record is not None]

    def iter_records(self, batch: int = DFLT_BATCH) -> Iterator[list[Record]]:
        """Every record, ``batch`` at a time; no more than those are in memory, if the store is not.

        What is written meanwhile may be among them or not: :attr:`version` tells whether anything was.
        """
        ids = self.record_ids()
        for start in range(0, len(ids), batch):
            yield self.get_records(ids[start : start + batch])

    def iter_entries(self, view: View, batch: int = DFLT_BATCH) -> Iterator[list[tuple[str, Any]]]:
        """Every ``(key, value)`` of the ledger or of the links, in the same way."""
        entries = self._read_all(view)
        for start in range(0, len(entries), batch):
            yield entries[start : start + batch]

    def matrix(self) -> Matrix:
        """``(record_ids, matrix, metas)``: all vectors, as rows of length one, with what is known of each record.

        The matrix is ``(0, 0)`` for an empty corpus, read-only, and the same object until the next write.
        """
        version = self.version
        held = self._matrix
        if held is None or held[0] != version:
            records = list(self._all_records())
            rows = unit_rows(stacked([record.vector for record in records]))
            rows.flags.writeable = False
            held = (version, ([record.id for record in records], rows, [_meta_of(record) for record in records]))
            self._matrix = held
        ids, rows, metas = held[1]
        return list(ids), rows, list(metas)

    def _check_dimension(self, records: Sequence[Record]) -> None:
        dimension = common_dimension(records)
        held = self._dimension()
        if held is None or held == dimension or set(self.record_ids()) <= {record.id for record in records}:
            return
        raise mixed_dimensions(records[0], held, "the records of this store")

    # -- ledger, links, settings, calibrations -----------------------------------------------------------------

    def get_ledger_entry(self, key: str) -> dict[str, Any] | None:
        """What the ledger says under a key (see :func:`ir.base.ledger_key`)."""
        entry: dict[str, Any] | None = self._read("ledger", storable(key))
        return entry

    def set_ledger_entry(self, key: str, entry: Mapping[str, Any]) -> None:
        """Write the ledger's entry for a key."""
        self._write("ledger", storable(key), json_clean(entry))

    def set_ledger_entries(self, entries: Mapping[str, Mapping[str, Any]]) -> None:
        """Write the ledger's entries for many keys at once."""
        with self._write_scope():
            for key, entry in entries.items():
                self.set_ledger_entry(key, entry)

    def delete_ledger_entry(self, key: str) -> None:
        """Strike an entry from the ledger; a missing one is tolerated."""
        self._erase("ledger", storable(key))

    def ledger_items(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The ledger's ``(key, entry)`` pairs as of now; the ledger may change meanwhile."""
        return iter(self._read_all("ledger"))

    def ledger_fields(self, *names: str) -> list[tuple[Any, ...]]:
        """The named fields of every ledger entry, without the rest of it."""
        return [tuple(entry.get(name) for name in names) for _, entry in self.ledger_items()]

    def get_links(self, artifact_id: str) -> dict[str, list[Any]]:
        """The edges out of an artifact, by type; empty if it has none."""
        return self._read("links", storable(artifact_id)) or {}

    def set_links(self, artifact_id: str, edges: Mapping[str, Any]) -> None:
        """Replace the edges out of an artifact. A target is an artifact id or a ``[source, artifact_id]`` pair.

        Edge types without targets are dropped, and an artifact without edges leaves no entry.
        """
        kept = clean_edges(edges)
        if kept:
            self._write("links", storable(artifact_id), kept)
        else:
            self._erase("links", storable(artifact_id))

    def delete_links(self, artifact_id: str) -> None:
        """Remove the edges out of an artifact; a missing entry is tolerated."""
        self._erase("links", storable(artifact_id))

    def link_items(self) -> Iterator[tuple[str, dict[str, list[Any]]]]:
        """``(artifact_id, edges)`` of every artifact that has edges, as of now; links may change meanwhile."""
        return iter(self._read_all("links"))

    def get_config(self) -> dict[str, Any]:
        """The settings the corpus was built with; empty before the first build."""
        return self._read("config", _SETTINGS) or {}

    def set_config(self, settings: Mapping[str, Any]) -> None:
        """Replace the settings."""
        self._write("config", _SETTINGS, clean_settings(settings))

    def get_calibration(self, mode: str) -> dict[str, Any] | None:
        """The calibration for a search mode, if there is one."""
        record: dict[str, Any] | None = self._read("calibration", mode_key(mode))
        return record

    def set_calibration(self, mode: str, record: Mapping[str, Any]) -> None:
        """Keep the calibration for a search mode. ``mode`` may not be empty nor hold a path separator."""
        self._write("calibration", mode_key(mode), json_clean(record))

    def calibration_modes(self) -> list[str]:
        """The modes that have a calibration, sorted."""
        return sorted(mode for mode, _ in self._read_all("calibration"))

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
                self._touched()
                raise
            finally:
                self._journal = None

    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """The corpus as it is now, and stays in the block whatever is written meanwhile."""
        return nullcontext(self._current())

    def _current(self) -> MemorySnapshot:
        from ir.analysis import analyzer_for
        from ir.store.memory_index import Lexicon, MemorySnapshot

        with self._lock:
            if self._latest is None:
                records = list(self._all_records())
                config = self.get_config()
                self._lexicon = Lexicon(records, analyzer_for(config.get("language", "english")), self._lexicon)
                self._latest = MemorySnapshot(self.version, records, self._lexicon, config)
            elif self._latest.version != self.version:
                self._latest = self._latest.renamed(self.version)
            return self._latest

    # -- where things are kept ---------------------------------------------------------------------------------

    def _write_scope(self) -> AbstractContextManager[None]:
        """Around a write that stands by itself unless a transaction is open."""
        return self.transaction()

    @property
    def version(self) -> str:
        """Names the present state of the corpus; another after every write."""
        return f"{self._name}-{self._writes}"

    def __len__(self) -> int:
        return len(self.meta)

    def record_ids(self) -> list[str]:
        """The ids of all records, in no particular order."""
        return list(self.meta)

    def _dimension(self) -> int | None:
        """Of the vectors in the store; ``None`` if it is empty."""
        return next((len(vector) for vector in self.vectors.values()), None)

    def _read_record(self, record_id: str) -> Record | None:
        if record_id not in self.meta:
            return None
        record = self._shared_record(record_id)
        metadata = json_clean(record.metadata)
        return Record(**{**vars(record), "vector": record.vector.copy(), "metadata": metadata})

    def _all_records(self) -> Iterator[Record]:
        """Every record, for reading only; in an order that depends on the records alone."""
        records = map(self._shared_record, self.record_ids())
        return iter(sorted(records, key=lambda record: (record.artifact_id, record.surface_index, record.id)))

    def _shared_record(self, record_id: str) -> Record:
        vector = np.asarray(self.vectors[record_id], dtype=np.float32)
        return Record(id=record_id, vector=vector, **self.meta[record_id])

    def _write_records(self, records: Sequence[Record]) -> None:
        """Keep clean records of one dimension; called inside a transaction."""
        journal = self._open_journal()
        for record in records:
            journal.write(self.meta, record.id, _meta_of(record))
            journal.write(self.vectors, record.id, record.vector)
        self._touched()

    def _erase_records(self, record_ids: Sequence[str]) -> None:
        """Forget those records that are there; called inside a transaction."""
        journal = self._open_journal()
        for record_id in record_ids:
            if journal.erase(self.meta, record_id):
                journal.erase(self.vectors, record_id)
                self._touched()

    def _read(self, view: View, key: str) -> Any:
        """A value of its own for the caller, ``None`` if there is none."""
        mapping = self._view(view)
        if view == "links" and ledger_key(key) in mapping:
            return _artifact_links(key, mapping[ledger_key(key)])[1]
        return json_clean(mapping[key]) if key in mapping else None

    def _read_all(self, view: View) -> list[tuple[str, Any]]:
        mapping = self._view(view)
        if view == "links":
            return [_artifact_links(key, mapping[key]) for key in list(mapping)]
        return [(key, json_clean(mapping[key])) for key in list(mapping)]

    def _write(self, view: View, key: str, value: Any) -> None:
        """Keep a JSON-clean value that nobody else holds."""
        with self.transaction():
            if view == "links":
                self._open_journal().erase(self.links, key)
                key, value = ledger_key(key), {"artifact_id": key, "edges": value}
            self._open_journal().write(self._view(view), key, value)
            self._touched(searchable=view == "config")

    def _erase(self, view: View, key: str) -> None:
        """Forget a value; a missing one is tolerated."""
        with self.transaction():
            keys = (key, ledger_key(key)) if view == "links" else (key,)
            erased = [self._open_journal().erase(self._view(view), name) for name in keys]
            if any(erased):
                self._touched(searchable=view == "config")

    def _view(self, view: View) -> MutableMapping[str, Any]:
        mapping: MutableMapping[str, Any] = getattr(self, view)
        return mapping

    def _open_journal(self) -> Journal:
        assert self._journal is not None, "writes happen inside a transaction"
        return self._journal

    def _touched(self, *, searchable: bool = True) -> None:
        self._writes += 1
        if searchable:
            self._latest = None


def _artifact_links(key: str, value: Any) -> tuple[str, Any]:
    """The artifact and its edges. An id may be no key of a mapping that keeps files, so it is hashed and stands inside;
    in mappings that were written before, it is the key and the value is just the edges."""
    if isinstance(value.get("artifact_id"), str):
        return value["artifact_id"], json_clean(value["edges"])
    return key, json_clean(value)


def _meta_of(record: Record) -> dict[str, Any]:
    return {
        "artifact_id": record.artifact_id,
        "surface_kind": record.surface_kind,
        "surface_index": record.surface_index,
        "text": record.text,
        "metadata": json_clean(record.metadata),
    }
