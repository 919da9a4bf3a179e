"""A corpus to one portable file."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ir.config.files import permissions_for
from ir.errors import CorpusBusy, StoreUnwritable
from ir.index.progress import Listener, Ticker
from ir.links import Edge
from ir.portable.manifest import FORMAT, MANIFEST, Member, Transfer, vectors_name
from ir.protocols import Store
from ir.system import replace, sync_file

if TYPE_CHECKING:
    from ir.base import Vector

__all__ = ["export_corpus"]

_ATTEMPTS = 3


class _Changed(Exception):
    """The corpus was written to while it was read."""


def export_corpus(store: Store, path: str | os.PathLike[str], *, progress: Listener | None = None) -> Transfer:
    """Write everything a store holds to ``path``; a file that is there is replaced when the new one is whole.

    Vectors are kept as they are, so nothing is embedded on import. A corpus that is built meanwhile is read again.
    """
    target = Path(path).expanduser()
    if target.exists() and not target.is_file():  # a folder, or a device, which must not be replaced by a file
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
    version, content_version = store.version, store.content_version
    config = store.get_config()
    spaces = sorted(store.spaces(), key=lambda name: (name != store.default_space, name))
    archive.whole("config.json", config)
    archive.whole("calibration.json", {mode: store.get_calibration(mode) for mode in store.calibration_modes()})
    with ExitStack() as files:
        vectors = [_Rows(files.enter_context(tempfile.TemporaryFile())) for _ in spaces]
        ticker = Ticker(progress, "export", len(store), unit="records")
        records = archive.lines("records.jsonl", _records(store, dict(zip(spaces, vectors, strict=True)), ticker))
        for place, rows in enumerate(vectors):
            rows.write_to(archive, vectors_name(place))
        ticker.end()
    artifacts = archive.lines("ledger.jsonl", _pairs(store.iter_entries("ledger")))
    archive.lines("symbols.jsonl", _pairs(store.iter_entries("symbols")))
    archive.lines(
        "nodes.jsonl", ([node.id, node.type, node.properties] for page in store.iter_nodes() for node in page)
    )
    links = archive.lines(
        "edges.jsonl", ([source, list(map(_ends, edges))] for page in store.iter_edges() for source, edges in page)
    )
    if store.version != version:
        raise _Changed
    counts = Transfer(str(config.get("name", "")), records, artifacts, links)
    members = {name: member._asdict() for name, member in archive.members.items()}
    manifest = {
        "format": FORMAT,
        "name": counts.name,
        "counts": counts._asdict(),
        "spaces": spaces,
        "content_version": content_version,
        "members": members,
    }
    archive.whole(MANIFEST, manifest)
    return counts


def _pairs(pages: Iterator[list[tuple[str, Any]]]) -> Iterator[list[Any]]:
    return ([key, value] for page in pages for key, value in page)


def _ends(edge: Edge) -> list[Any]:
    return [edge.type, edge.target, edge.corpus, edge.properties]


class _Rows:
    """Vectors set aside in a file: an archive writes one part at a time."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._count = self._dim = 0

    def add(self, vector: Vector) -> None:
        self._file.write(np.ascontiguousarray(vector, dtype="<f4").tobytes())
        self._count, self._dim = self._count + 1, len(vector)

    def write_to(self, archive: _Archive, name: str) -> None:
        """The rows as a file that ``numpy.load`` reads."""
        header = io.BytesIO()
        shape = (self._count, self._dim)
        np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": shape})
        self._file.seek(0)
        with archive.member(name) as write:
            write(header.getvalue())
            while block := self._file.read(1024 * 1024):
                write(block)


def _records(store: Store, vectors: Mapping[str, _Rows], ticker: Ticker) -> Iterator[dict[str, Any]]:
    """The records in the order of writing, which decides between equal scores. ``in`` says by place in which spaces
    a record has a vector; those of each space follow each other in the order of records."""
    for page in store.iter_records():
        held = [store.get_vectors([record.id for record in page], space=space) for space in vectors]
        for record in page:
            places = [place for place, known in enumerate(held) if record.id in known]
            for place, (rows, known) in enumerate(zip(vectors.values(), held, strict=True)):
                if place in places:
                    rows.add(known[record.id])
            ticker.tick()
            yield {
                "id": record.id,
                "artifact_id": record.artifact_id,
                "surface_kind": record.surface_kind,
                "surface_index": record.surface_index,
                "text": record.text,
                "metadata": record.metadata,
                "in": places,
            }


@contextmanager
def _aside(target: Path) -> Iterator[IO[bytes]]:
    """A file beside ``target`` that takes its place if the block ends well, and is gone if not."""
    target = target.resolve()  # write through a link, so that it stays a link
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
        sync_file(Path(name))
        Path(name).chmod(permissions_for(target))
        replace(Path(name), target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
