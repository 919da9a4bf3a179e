"""What every store does alike, whatever it keeps a corpus in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from ir.base import Record, embedding_text, json_clean, storable
from ir.errors import InvalidInput
from ir.links import Edge, Node, clean_edges, clean_node, edges_of_links, links_of_edges
from ir.store.checks import (
    MAIN_SPACE,
    clean_records,
    clean_settings,
    clean_vectors,
    common_dimension,
    mixed_dimensions,
    mode_key,
    space_name,
    unknown_space,
)
from ir.store.vectors import stacked, unit_rows

if TYPE_CHECKING:
    from typing import Self

    import numpy as np
    from numpy.typing import NDArray

    from ir.base import Vector
    from ir.protocols import Snapshot

    Matrix = tuple[list[str], NDArray[np.float32], list[dict[str, Any]]]

__all__ = ["DFLT_BATCH", "BaseStore", "View"]

#: The views of a corpus that hold JSON values by key.
View = Literal["ledger", "symbols", "config", "calibration"]
SETTINGS = "config"
DFLT_BATCH = 1000


class BaseStore(ABC):
    """Everything that is kept of one corpus: records with their vectors, nodes and edges, ledger, settings, floors.

    A subclass says where things are kept: it defines the methods of the last section, with :meth:`transaction` and
    :meth:`snapshot`. The rest is written in terms of those, and checks what it is given before it is written.
    """

    _matrix: tuple[str, Matrix] | None = None
    #: Asked before writes can be seen, with how many records the corpus would then hold and how many bytes it would
    #: take up; an error undoes them. A store that nobody else can see does not ask.
    before_commit: Callable[[int, int], None] | None = None

    def exists(self) -> bool:
        """Whether anything was ever written here."""
        return len(self) > 0 or bool(self.get_config())

    # -- opening and closing ---------------------------------------------------------------------------------

    def close(self) -> None:  # noqa: B027 - many stores have nothing to let go of
        """Let go of files and connections, if there are any."""

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

    def put_record(self, record: Record, *, space: str | None = None) -> None:
        """Keep a record; one with the same id is replaced."""
        self.put_records([record], space=space)

    def put_records(self, records: Sequence[Record], *, space: str | None = None) -> None:
        """Keep all of the records or, if one is not fit to be kept, none.

        Their vectors belong to ``space``, the default one if none is named; one of length 0 is none. The vectors that
        a replaced record had in other spaces go with it: they were made of another text.
        """
        if not records:
            return
        cleaned = clean_records(records)
        with self._write_scope():
            named = self._space(space)
            self._check_dimension(cleaned, named)
            self._write_records(cleaned, named)

    def get_record(self, record_id: str) -> Record:
        """The record of that id; ``KeyError`` if there is none. It is the caller's to change.

        Its vector is that of the default space, and of length 0 if it has none there.
        """
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

    def matrix(self) -> Matrix:
        """``(record_ids, matrix, metas)``: all vectors, as rows of length one, with what is known of each record.

        The matrix is ``(0, 0)`` for an empty corpus, read-only, and the same object until the next write.
        """
        version = self.version
        held = self._matrix
        if held is None or held[0] != version:
            records = [record for record in self._all_records() if len(record.vector)]
            rows = unit_rows(stacked([record.vector for record in records]))
            rows.flags.writeable = False
            held = (version, ([record.id for record in records], rows, [meta_of(record) for record in records]))
            self._matrix = held
        ids, rows, metas = held[1]
        return list(ids), rows, list(metas)

    def _check_dimension(self, records: Sequence[Record], space: str) -> None:
        embedded = [record for record in records if len(record.vector)]
        if not embedded:
            return
        dimension = common_dimension(embedded)
        held = self._dimension(space)
        if held is None or held == dimension or set(self.record_ids()) <= {record.id for record in records}:
            return
        raise mixed_dimensions(embedded[0].id, dimension, held, "the records of this store")

    # -- spaces of vectors -------------------------------------------------------------------------------------

    def spaces(self) -> dict[str, int | None]:
        """The named spaces of vectors with their dimensions; that of a space without vectors is ``None``."""
        return {name: self._dimension(name) for name in self._space_names()}

    @property
    def default_space(self) -> str:
        """The space that searches read and records are written to unless another is named."""
        return self._default_space()

    def add_space(self, name: str) -> None:
        """Make a space for the vectors of another model; every record is without a vector in it."""
        name = space_name(name)
        with self._write_scope():
            if name in self._space_names():
                raise InvalidInput(
                    f"There is a space {name!r} in this corpus already.",
                    remedy="Choose another name, or drop that space first.",
                )
            self._write_space(name)

    def drop_space(self, name: str) -> None:
        """Remove a space and its vectors. The default one cannot be dropped."""
        with self._write_scope():
            name = self._space(name)
            if name == self._default_space():
                raise InvalidInput(
                    f"The space {name!r} is the default one of this corpus.",
                    remedy="Make another space the default first.",
                )
            self._erase_space(name)

    def set_default_space(self, name: str) -> None:
        """Let searches read another space from now on."""
        with self._write_scope():
            self._switch_space(self._space(name))

    def put_vectors(self, space: str, vectors: Mapping[str, Vector]) -> None:
        """Keep the vectors that some records have in a space; those of unknown records are refused, all of them."""
        if not vectors:
            return
        cleaned = clean_vectors(vectors)
        with self._write_scope():
            name = self._space(space)
            held, (first, vector) = self._dimension(name), next(iter(cleaned.items()))
            if held is not None and held != len(vector):
                raise mixed_dimensions(first, len(vector), held, f"the space {name!r}")
            unknown = cleaned.keys() - self._known_records(list(cleaned))
            if unknown:
                raise InvalidInput(f"A vector was given for the record {min(unknown)!r}, which is not in this store.")
            self._write_vectors(name, cleaned)

    def put_vectors_of(self, space: str, vectors: Mapping[str, Vector], texts: Mapping[str, str]) -> int:
        """:meth:`put_vectors` for vectors that took their time: what each was made of is in ``texts``.

        Those of records that are gone by now, or that have another text, are left out; how many were kept.
        """
        with self._write_scope():
            now = {one.id: embedding_text(one.text, one.metadata) for one in self.get_records(list(vectors))}
            fit = {record_id: row for record_id, row in vectors.items() if now.get(record_id) == texts[record_id]}
            self.put_vectors(space, fit)
        return len(fit)

    def get_vectors(self, record_ids: Sequence[str], *, space: str | None = None) -> dict[str, Vector]:
        """The vectors that some records have in a space; those that have none are left out."""
        return self._read_vectors(self._space(space), [storable(record_id) for record_id in record_ids])

    def unembedded(self, *, space: str | None = None, limit: int | None = None) -> list[str]:
        """The ids of records without a vector in a space, in an order that depends on the ids alone."""
        return self._without_vector(self._space(space), limit)

    def _space(self, name: str | None) -> str:
        """The space of that name, the default one for ``None``; an error that names the others if there is none."""
        if name is None:
            return self._default_space()
        if name not in self._space_names():
            raise unknown_space(name, self._space_names())
        return name

    # -- nodes and edges ---------------------------------------------------------------------------------------

    def put_nodes(self, nodes: Iterable[Node]) -> None:
        """Declare nodes: give them a type and properties. One that was declared before is replaced."""
        cleaned = [clean_node(node) for node in nodes]
        if cleaned:
            with self._write_scope():
                self._write_nodes(cleaned)

    def get_nodes(self, node_ids: Sequence[str]) -> dict[str, Node]:
        """Those of the nodes that were declared."""
        return self._read_nodes([storable(node_id) for node_id in node_ids])

    def delete_nodes(self, node_ids: Sequence[str]) -> None:
        """Take declarations back; missing ones are tolerated. The edges out of the nodes stay."""
        if node_ids:
            with self._write_scope():
                self._erase_nodes([storable(node_id) for node_id in node_ids])

    def set_edges(self, edges: Mapping[str, Sequence[Edge]]) -> None:
        """Replace the edges out of each of the given nodes; no edges remove those that there are."""
        cleaned = {storable(source): clean_edges(source, given) for source, given in edges.items()}
        if cleaned:
            with self._write_scope():
                self._write_edges(cleaned)

    def get_edges(self, node_ids: Sequence[str]) -> dict[str, list[Edge]]:
        """The edges out of each of the nodes that have any, in the order in which they were given."""
        return self._read_edges([storable(node_id) for node_id in node_ids])

    def get_links(self, artifact_id: str) -> dict[str, list[Any]]:
        """The edges out of an artifact, by type; empty if it has none."""
        return links_of_edges(self.get_edges([artifact_id]).get(storable(artifact_id), []))

    def set_links(self, artifact_id: str, edges: Mapping[str, Any]) -> None:
        """Replace the edges out of an artifact. A target is an artifact id or a ``[source, artifact_id]`` pair.

        Edge types without targets are dropped, and an artifact without edges leaves no entry.
        """
        self.set_edges({artifact_id: edges_of_links(artifact_id, edges)})

    def delete_links(self, artifact_id: str) -> None:
        """Remove the edges out of an artifact; a missing entry is tolerated."""
        self.set_edges({artifact_id: ()})

    def link_items(self) -> Iterator[tuple[str, dict[str, list[Any]]]]:
        """``(artifact_id, edges)`` of every node that has edges, as of now; links may change meanwhile."""
        return iter([(source, links_of_edges(edges)) for page in self.iter_edges() for source, edges in page])

    # -- ledger, symbols, settings, calibrations ---------------------------------------------------------------

    def iter_entries(
        self, view: Literal["ledger", "symbols"], batch: int = DFLT_BATCH
    ) -> Iterator[list[tuple[str, Any]]]:
        """Every ``(key, value)`` of the ledger or of the symbols, as :meth:`iter_records` gives records."""
        entries = self._read_all(view)
        for start in range(0, len(entries), batch):
            yield entries[start : start + batch]

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

    def get_symbols(self, key: str) -> Any:
        """The names that an item defines and uses, as the build keeps them; ``None`` if it has none."""
        return self._read("symbols", storable(key))

    def set_symbols(self, key: str, symbols: Any) -> None:
        """Keep the names of an item; ``None`` forgets them."""
        if symbols is None:
            self._erase("symbols", storable(key))
        else:
            self._write("symbols", storable(key), json_clean(symbols))

    def get_config(self) -> dict[str, Any]:
        """The settings the corpus was built with; empty before the first build."""
        return self._read("config", SETTINGS) or {}

    def set_config(self, settings: Mapping[str, Any]) -> None:
        """Replace the settings."""
        self._write("config", SETTINGS, clean_settings(settings))

    def get_calibration(self, mode: str) -> dict[str, Any] | None:
        """The calibration for a search mode, if there is one."""
        record: dict[str, Any] | None = self._read("calibration", mode_key(mode))
        return record

    def set_calibration(self, mode: str, record: Mapping[str, Any]) -> None:
        """Keep the calibration for a search mode. ``mode`` may not be empty nor hold a path separator."""
        self._write("calibration", mode_key(mode), json_clean(record))

    def delete_calibration(self, mode: str) -> None:
        """Remove the calibration for a search mode; a missing one is tolerated."""
        self._erase("calibration", mode_key(mode))

    def calibration_modes(self) -> list[str]:
        """The modes that have a calibration, sorted."""
        return sorted(mode for mode, _ in self._read_all("calibration"))

    # -- many writes as one, one version for many reads --------------------------------------------------------

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Make all writes inside one: an exception that leaves the block undoes them. Inner blocks join the outer."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """The corpus as it is now, and stays in the block whatever is written meanwhile."""

    def taken_up(self) -> int:
        """How many bytes the corpus takes up where it is kept, with what an open transaction wrote; 0 where that is
        nowhere."""
        return 0

    def _ask_before_commit(self) -> None:
        if self.before_commit is not None:
            self.before_commit(len(self), self.taken_up())

    # -- where things are kept ---------------------------------------------------------------------------------

    def _write_scope(self) -> AbstractContextManager[None]:
        """Around a write that stands by itself unless a transaction is open."""
        return self.transaction()

    @property
    @abstractmethod
    def version(self) -> str:
        """Names the present state of the corpus; another after every write."""

    @property
    @abstractmethod
    def content_version(self) -> str:
        """Names what the corpus holds: the same for the same content (see :class:`ir.content.Content`)."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def record_ids(self) -> list[str]:
        """The ids of all records, in no particular order."""

    @abstractmethod
    def iter_nodes(self, batch: int = DFLT_BATCH) -> Iterator[list[Node]]:
        """Every declared node, by id, as :meth:`iter_records` gives records."""

    @abstractmethod
    def iter_edges(self, batch: int = DFLT_BATCH) -> Iterator[list[tuple[str, list[Edge]]]]:
        """``(node_id, edges)`` of every node that edges lead out of, by id, in the same way."""

    @abstractmethod
    def _known_records(self, record_ids: Sequence[str]) -> set[str]:
        """Those of the ids that are a record's."""

    @abstractmethod
    def _read_record(self, record_id: str) -> Record | None: ...

    @abstractmethod
    def _all_records(self) -> Iterator[Record]:
        """Every record, for reading only; in an order that depends on the records alone."""

    @abstractmethod
    def _write_records(self, records: Sequence[Record], space: str) -> None:
        """Keep clean records of one dimension; called inside a transaction, as every other ``_write``."""

    @abstractmethod
    def _erase_records(self, record_ids: Sequence[str]) -> None:
        """Forget those records that are there, with their vectors in every space."""

    @abstractmethod
    def _default_space(self) -> str: ...

    @abstractmethod
    def _space_names(self) -> list[str]:
        """Every space, :data:`MAIN_SPACE` among them unless it was dropped."""

    @abstractmethod
    def _write_space(self, name: str) -> None: ...

    @abstractmethod
    def _erase_space(self, name: str) -> None: ...

    @abstractmethod
    def _switch_space(self, name: str) -> None: ...

    @abstractmethod
    def _dimension(self, space: str) -> int | None:
        """Of the vectors in a space; ``None`` if it is empty."""

    @abstractmethod
    def _write_vectors(self, space: str, vectors: Mapping[str, Vector]) -> None: ...

    @abstractmethod
    def _read_vectors(self, space: str, record_ids: Sequence[str]) -> dict[str, Vector]: ...

    @abstractmethod
    def _without_vector(self, space: str, limit: int | None) -> list[str]: ...

    @abstractmethod
    def _write_nodes(self, nodes: Sequence[Node]) -> None: ...

    @abstractmethod
    def _erase_nodes(self, node_ids: Sequence[str]) -> None: ...

    @abstractmethod
    def _read_nodes(self, node_ids: Sequence[str]) -> dict[str, Node]: ...

    @abstractmethod
    def _write_edges(self, edges: Mapping[str, Sequence[Edge]]) -> None: ...

    @abstractmethod
    def _read_edges(self, node_ids: Sequence[str]) -> dict[str, list[Edge]]: ...

    @abstractmethod
    def _read(self, view: View, key: str) -> Any:
        """A value of its own for the caller, ``None`` if there is none."""

    @abstractmethod
    def _read_all(self, view: View) -> list[tuple[str, Any]]: ...

    @abstractmethod
    def _write(self, view: View, key: str, value: Any) -> None:
        """Keep a JSON-clean value that nobody else holds."""

    @abstractmethod
    def _erase(self, view: View, key: str) -> None:
        """Forget a value; a missing one is tolerated."""


def meta_of(record: Record) -> dict[str, Any]:
    """Everything of a record but its id and its vector."""
    return {
        "artifact_id": record.artifact_id,
        "surface_kind": record.surface_kind,
        "surface_index": record.surface_index,
        "text": record.text,
        "metadata": json_clean(record.metadata),
    }


__all__ += ["MAIN_SPACE", "SETTINGS", "meta_of"]
