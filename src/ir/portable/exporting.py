"""A corpus to one portable file."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from ir.config.files import permissions_for
from ir.errors import CorpusBusy, StoreUnwritable
from ir.index.builder import version_of
from ir.index.progress import Listener, Ticker
from ir.portable.manifest import FORMAT, MANIFEST, Member, Transfer
from ir.protocols import Store

__all__ = ["export_corpus"]

_ATTEMPTS = 3


class _Changed(Exception):
    """The corpus was written to while it was read."""


def export_corpus(store: Store, path: str | os.PathLike[str], *, progress: Listener | None = None) -> Transfer:
    """Write everything a store holds to ``path``; a file that is there is replaced when the new one is whole.

    Vectors are kept as they are, so nothing is embedded on import. A corpus that is built meanwhile is read again.
    """
    target = Path(path).expanduser()
    if target.exists() and not target.is_file():  # a folder, or a device that a file in its place would end
        raise StoreUnwritable(f"{target} is not a file.", remedy="Choose another place.")
    for _ in range(_ATTEMPTS):
        try:
            with _aside(target) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
                return _write(store, _Archive(archive), progress)
        except _Changed:
            continue
        except OSError as error:
            raise StoreUnwritable(
                f"Cannot write {target}: {error.strerror or error}.", remedy="Choose another place, or make room."
            ) from error
    raise CorpusBusy(
        f"The corpus was changed {_ATTEMPTS} times while it was exported.", remedy="Export it when no build is running."
    )


class _Archive:
    """A zip file that remembers size and checksum of each member."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.members: dict[str, Member] = {}

    @contextmanager
    def member(self, name: str) -> Iterator[Callable[[bytes], None]]:
        digest, size = hashlib.sha256(), 0
        with self._archive.open(name, "w", force_zip64=True) as file:

            def write(block: bytes) -> None:
                nonlocal size
                digest.update(block)
                size += len(block)
                file.write(block)

            yield write
        self.members[name] = Member(size, digest.hexdigest())

    def lines(self, name: str, values: Iterator[Any]) -> int:
        count = 0
        with self.member(name) as write:
            for value in values:
                write(json.dumps(value).encode("ascii") + b"\n")
                count += 1
        return count

    def whole(self, name: str, value: Any) -> None:
        with self.member(name) as write:
            write(json.dumps(value, indent=1).encode("ascii"))


def _write(store: Store, archive: _Archive, progress: Listener | None) -> Transfer:
    version = version_of(store)
    config = store.get_config()
    record_ids = store.record_ids()  # in this order, which decides between equal scores, they are written again
    archive.whole("config.json", config)
    archive.whole("calibration.json", {mode: store.get_calibration(mode) for mode in store.calibration_modes()})
    with tempfile.TemporaryFile() as vectors:
        ticker = Ticker(progress, "export", len(record_ids))
        records = archive.lines("records.jsonl", _records(store, record_ids, vectors, ticker))
        dim = vectors.tell() // (4 * records) if records else int(config.get("dim") or 0)
        _write_vectors(archive, vectors, (records, dim))
        ticker.end()
    ledger = ([key, entry] for key, entry in sorted(store.ledger_items()))
    artifacts = archive.lines("ledger.jsonl", ledger)
    links = archive.lines("links.jsonl", ([artifact_id, edges] for artifact_id, edges in sorted(store.link_items())))
    if version_of(store) != version:
        raise _Changed
    counts = Transfer(str(config.get("name", "")), records, artifacts, links)
    members = {name: member._asdict() for name, member in archive.members.items()}
    manifest = {"format": FORMAT, "name": counts.name, "counts": counts._asdict(), "members": members}
    archive.whole(MANIFEST, manifest)
    return counts


def _records(store: Store, record_ids: list[str], vectors: IO[bytes], ticker: Ticker) -> Iterator[dict[str, Any]]:
    for record_id in record_ids:
        try:
            record = store.get_record(record_id)
        except KeyError as error:
            raise _Changed from error
        vectors.write(np.ascontiguousarray(record.vector, dtype="<f4").tobytes())
        ticker.tick()
        yield {
            "id": record.id,
            "artifact_id": record.artifact_id,
            "surface_kind": record.surface_kind,
            "surface_index": record.surface_index,
            "text": record.text,
            "metadata": record.metadata,
        }


def _write_vectors(archive: _Archive, vectors: IO[bytes], shape: tuple[int, int]) -> None:
    """The rows as a file that ``numpy.load`` reads; an archive writes one part at a time, so they were set aside."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": shape})
    vectors.seek(0)
    with archive.member("vectors.npy") as write:
        write(header.getvalue())
        while block := vectors.read(1024 * 1024):
            write(block)


@contextmanager
def _aside(target: Path) -> Iterator[IO[bytes]]:
    """A file beside ``target`` that takes its place if the block ends well, and is gone if not."""
    target = target.resolve()  # a link to a file stays one
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(permissions_for(target))
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
