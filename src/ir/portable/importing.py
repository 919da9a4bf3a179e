"""A portable file to a corpus: checked whole, then written in one transaction."""

from __future__ import annotations

import json
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import numpy as np

from ir.base import Record
from ir.errors import InvalidInput, IrError
from ir.index.progress import Listener, Progress, Ticker
from ir.links import Edge, Node, edges_of_links
from ir.portable.manifest import LONGEST_LINE, Manifest, Transfer, corrupt, read_manifest, vectors_name, verify
from ir.protocols import Store
from ir.transfer import empty_graph, match_spaces

if TYPE_CHECKING:
    from ir.base import Vector

__all__ = ["import_corpus", "peek"]

_Item = TypeVar("_Item")

_BATCH = 1000


def import_corpus(
    path: str | os.PathLike[str],
    store: Store,
    *,
    replace: bool = False,
    name: str | None = None,
    progress: Listener | None = None,
) -> Transfer:
    """Fill ``store`` with the corpus in the file at ``path``, under its own name or ``name``.

    A file that is damaged, cut short or of another format is refused before the store is touched. A store that holds
    something already is refused too, unless ``replace``.
    """
    source = Path(path).expanduser()
    with _opened(source) as archive:
        with _readable(source):
            manifest = read_manifest(archive, source)
            verify(archive, manifest.members, source)
        return _fill(store, _Reader(archive, source, manifest), manifest, replace, name, progress)


def peek(path: str | os.PathLike[str]) -> Transfer:
    """The name and size of the corpus in a portable file, by its manifest alone."""
    source = Path(path).expanduser()
    with _opened(source) as archive, _readable(source):
        return read_manifest(archive, source).counts


def _opened(source: Path) -> zipfile.ZipFile:
    try:
        source.open("rb").close()
    except OSError as error:
        raise InvalidInput(f"Cannot read {source}: {error.strerror or error}.", remedy="Check the path.") from error
    with _readable(source):
        return zipfile.ZipFile(source)


@contextmanager
def _readable(source: Path) -> Iterator[None]:
    """What the zip library says of a damaged file, in our words; an offset out of the file is an ``OSError`` to it."""
    try:
        yield
    except IrError:
        raise
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError) as error:
        raise corrupt(source, str(error)) from error


class _Reader:
    """The parts of a verified file; what does not have the right form is an error all the same."""

    def __init__(self, archive: zipfile.ZipFile, path: Path, manifest: Manifest) -> None:
        self._archive = archive
        self._path = path
        self._manifest = manifest

    def whole(self, name: str) -> dict[str, Any]:
        try:
            value = json.loads(self._archive.read(name))
        except ValueError as error:
            raise corrupt(self._path, f"{name} is not JSON ({error})") from error
        if not isinstance(value, dict):
            raise corrupt(self._path, f"{name} is not a mapping")
        return value

    def pairs(self, name: str) -> Iterator[tuple[str, Any]]:
        for value in self._lines(name):
            if not (isinstance(value, list) and len(value) == 2):
                raise corrupt(self._path, f"a line of {name} is not a pair")
            yield str(value[0]), value[1]

    def nodes(self) -> Iterator[Node]:
        for value in self._lines("nodes.jsonl") if self._manifest.format > 1 else ():
            try:
                yield Node(*value)
            except TypeError as error:
                raise corrupt(self._path, f"a line of nodes.jsonl is not a node ({error})") from error

    def edges(self) -> Iterator[tuple[str, list[Edge]]]:
        """The edges out of each node; a file of format 1 has them by type."""
        if self._manifest.format == 1:
            for source, links in self.pairs("links.jsonl"):
                if not isinstance(links, dict):
                    raise corrupt(self._path, "a line of links.jsonl is not a pair")
                yield source, edges_of_links(source, links)
            return
        for source, ends in self.pairs("edges.jsonl"):
            try:
                yield source, [Edge(source, *end) for end in ends]
            except TypeError as error:
                raise corrupt(self._path, f"a line of edges.jsonl has what is not an edge ({error})") from error

    def records(self, count: int) -> Iterator[tuple[Record, dict[str, Vector]]]:
        """Each record with its vector in the default space, and those that it has in others."""
        spaces = self._manifest.spaces
        with ExitStack() as files:
            vectors = [_Rows(self, files.enter_context(self._archive.open(name)), name) for name in self._vector_names]
            read = 0
            for value in self._lines("records.jsonl"):
                read += 1
                try:
                    places = value.pop("in", [0])
                    held = {spaces[place]: vectors[place].next() for place in places}
                    first = held.pop(spaces[0], np.empty(0, dtype=np.float32))
                    yield Record(**value, vector=first), held
                except (TypeError, AttributeError, IndexError) as error:
                    raise corrupt(self._path, f"a line of records.jsonl is not a record ({error})") from error
            if read != count or not all(rows.ended for rows in vectors):
                raise corrupt(self._path, f"it does not have {count} records with their vectors")

    @property
    def _vector_names(self) -> list[str]:
        if self._manifest.format == 1:
            return ["vectors.npy"]
        return [vectors_name(place) for place in range(len(self._manifest.spaces))]

    def shape(self, vectors: IO[bytes], name: str) -> tuple[int, int]:
        try:
            np.lib.format.read_magic(vectors)
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(vectors)
            rows, dim = shape
        except ValueError as error:
            raise corrupt(self._path, f"{name} cannot be read ({error})") from error
        if fortran or dtype != np.dtype("<f4"):
            raise corrupt(self._path, f"{name} does not hold rows of 32-bit floats")
        return rows, dim

    def _lines(self, name: str) -> Iterator[Any]:
        with self._archive.open(name) as file:
            while line := file.readline(LONGEST_LINE):
                try:
                    yield json.loads(line)
                except ValueError as error:
                    raise corrupt(self._path, f"a line of {name} is not JSON ({error})") from error


class _Rows:
    """The vectors of one space, one after the other."""

    def __init__(self, reader: _Reader, file: IO[bytes], name: str) -> None:
        self._file = file
        self._left, self._dim = reader.shape(file, name)

    def next(self) -> Vector:
        block = self._file.read(4 * self._dim)
        self._left -= 1
        if len(block) != 4 * self._dim:
            raise IndexError("its vector is missing")
        return np.frombuffer(block, dtype="<f4").astype(np.float32)

    @property
    def ended(self) -> bool:
        return self._left == 0 and not self._file.read(1)


def _fill(
    store: Store, reader: _Reader, manifest: Manifest, replace: bool, name: str | None, progress: Listener | None
) -> Transfer:
    config, counts = reader.whole("config.json"), manifest.counts
    if name is not None:
        config["name"] = name
    with store.transaction():
        _make_room(store, replace=replace)
        match_spaces(store, manifest.spaces, manifest.spaces[0])
        store.set_config(config)  # written first, because the language in it decides how text is analysed
        ticker = Ticker(progress, "import", counts.records, unit="records")
        records = 0
        for batch in _batches(reader.records(counts.records)):
            store.put_records([record for record, _ in batch])
            for space in manifest.spaces[1:]:
                store.put_vectors(space, {record.id: held[space] for record, held in batch if space in held})
            records += len(batch)
            ticker.tick(len(batch))
        artifacts = links = 0
        for key, entry in reader.pairs("ledger.jsonl"):
            store.set_ledger_entry(key, entry)
            artifacts += 1
        for key, symbols in reader.pairs("symbols.jsonl") if manifest.format > 1 else ():
            store.set_symbols(key, symbols)
        for nodes in _batches(reader.nodes()):
            store.put_nodes(nodes)
        for edges in _batches(reader.edges()):
            store.set_edges(dict(edges))
            links += len(edges)
        calibrations = reader.whole("calibration.json")
        for mode in store.calibration_modes():
            store.delete_calibration(mode)
        for mode, record in calibrations.items():
            store.set_calibration(mode, record)
        if manifest.content_version not in (None, store.content_version):
            raise InvalidInput(
                "What was read is not what the file says it holds.", remedy="Nothing was imported; export it again."
            )
        ticker.end()
        if progress is not None:
            progress(Progress("write", 0, None))  # what searches need is made when the transaction ends
    if progress is not None:
        progress(Progress("write", 1, 1))
    return Transfer(str(config.get("name", "")), records, artifacts, links)


def _batches(items: Iterator[_Item]) -> Iterator[list[_Item]]:
    while batch := list(islice(items, _BATCH)):
        yield batch


def _make_room(store: Store, *, replace: bool) -> None:
    held = len(store)
    if not held and not store.get_config() and next(iter(store.ledger_items()), None) is None:
        return
    if not replace:
        name = store.get_config().get("name", "the target")
        raise InvalidInput(
            f"The corpus {name!r} already holds {held} records; nothing was imported.",
            remedy="Import under another name, or replace it (--replace).",
        )
    store.delete_records(store.record_ids())
    for key, _ in list(store.ledger_items()):
        store.delete_ledger_entry(key)
    empty_graph(store)
