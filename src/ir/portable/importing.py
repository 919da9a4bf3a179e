"""A portable file to a corpus: checked whole, then written in one transaction."""

from __future__ import annotations

import json
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from ir.base import Record
from ir.errors import InvalidInput, IrError
from ir.index.progress import Listener, Ticker
from ir.portable.manifest import LONGEST_LINE, Transfer, corrupt, read_manifest, verify
from ir.protocols import Store

__all__ = ["import_corpus", "peek"]

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
        return _fill(store, _Reader(archive, source), manifest.counts, replace, name, progress)


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

    def __init__(self, archive: zipfile.ZipFile, path: Path) -> None:
        self._archive = archive
        self._path = path

    def whole(self, name: str) -> dict[str, Any]:
        try:
            value = json.loads(self._archive.read(name))
        except ValueError as error:
            raise corrupt(self._path, f"{name} is not JSON ({error})") from error
        if not isinstance(value, dict):
            raise corrupt(self._path, f"{name} is not a mapping")
        return value

    def pairs(self, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
        for value in self._lines(name):
            if not (isinstance(value, list) and len(value) == 2 and isinstance(value[1], dict)):
                raise corrupt(self._path, f"a line of {name} is not a pair")
            yield str(value[0]), value[1]

    def records(self, count: int) -> Iterator[Record]:
        with self._archive.open("vectors.npy") as vectors:
            rows, dim = self._shape(vectors)
            read = 0
            for value in self._lines("records.jsonl"):
                block = vectors.read(4 * dim)
                if len(block) != 4 * dim:
                    break
                read += 1
                try:
                    yield Record(**value, vector=np.frombuffer(block, dtype="<f4").astype(np.float32))
                except TypeError as error:
                    raise corrupt(self._path, f"a line of records.jsonl is not a record ({error})") from error
            if not read == rows == count or vectors.read(1):
                raise corrupt(self._path, f"it does not have {count} records with one vector each")

    def _shape(self, vectors: IO[bytes]) -> tuple[int, int]:
        try:
            np.lib.format.read_magic(vectors)
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(vectors)
            rows, dim = shape
        except ValueError as error:
            raise corrupt(self._path, f"vectors.npy cannot be read ({error})") from error
        if fortran or dtype != np.dtype("<f4"):
            raise corrupt(self._path, "vectors.npy does not hold rows of 32-bit floats")
        return rows, dim

    def _lines(self, name: str) -> Iterator[Any]:
        with self._archive.open(name) as file:
            while line := file.readline(LONGEST_LINE):
                try:
                    yield json.loads(line)
                except ValueError as error:
                    raise corrupt(self._path, f"a line of {name} is not JSON ({error})") from error


def _fill(
    store: Store, reader: _Reader, counts: Transfer, replace: bool, name: str | None, progress: Listener | None
) -> Transfer:
    config = reader.whole("config.json")
    if name is not None:
        config["name"] = name
    with store.transaction():
        _make_room(store, replace=replace)
        store.set_config(config)  # first: the language in it decides how text is analysed
        ticker = Ticker(progress, "import", counts.records)
        records = 0
        for batch in _batches(reader.records(counts.records)):
            store.put_records(batch)
            records += len(batch)
            ticker.tick(len(batch))
        artifacts = links = 0
        for key, entry in reader.pairs("ledger.jsonl"):
            store.set_ledger_entry(key, entry)
            artifacts += 1
        for artifact_id, edges in reader.pairs("links.jsonl"):
            store.set_links(artifact_id, edges)
            links += 1
        calibrations = reader.whole("calibration.json")
        for mode in store.calibration_modes():
            store.delete_calibration(mode)
        for mode, record in calibrations.items():
            store.set_calibration(mode, record)
        ticker.end()
    return Transfer(str(config.get("name", "")), records, artifacts, links)


def _batches(records: Iterator[Record]) -> Iterator[list[Record]]:
    batch: list[Record] = []
    for record in records:
        batch.append(record)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
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
    for artifact_id, _ in list(store.link_items()):
        store.delete_links(artifact_id)
