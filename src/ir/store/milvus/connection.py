"""One client for each server or file, shared by the stores of a process; its errors in terms of a corpus."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ir.errors import CorpusBusy, CorpusError, InvalidInput, IrError, MissingExtra
from ir.store.milvus.address import Address
from ir.store.milvus.file_guard import FileGuard

__all__ = ["CollectionGone", "Connection", "translated"]

#: How many rows one request carries; Milvus limits a request by its bytes.
_BATCH = 2000
_BYTES = 24_000_000
#: An answer of so many rows may have been cut off: Milvus then gives no more, and does not say so.
_CUT = (16_383, 16_384)
#: How many primary keys one request names.
_KEYS = 4000
#: How long to wait for a file that another process has open; the server of one that was killed takes a moment to leave.
_LEAVING_SECONDS = 3.0
_clients: dict[tuple[str, str], tuple[Any, int]] = {}
_guards: dict[str, FileGuard] = {}
_opening = threading.Lock()


class CollectionGone(CorpusError):
    """A collection that was there is not any more."""


class Connection:
    """Milvus as this project uses it: rows as dicts, strong consistency, nothing kept waiting beyond the timeout."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._client: Any = None
        self._known: set[str] = set()

    @property
    def client(self) -> Any:
        if self._client is None:
            with translated(self.address), _opening:
                self._client = _acquire(self.address)
        return self._client

    def close(self) -> None:
        """Let go of the client; a later call connects again."""
        client, self._client = self._client, None
        self._known.clear()
        if client is not None:
            with _opening:
                _release(self.address)

    # -- collections -------------------------------------------------------------------------------------------

    def has(self, collection: str) -> bool:
        if collection in self._known:
            return True
        with translated(self.address):
            found = bool(self.client.has_collection(collection, timeout=self.address.timeout))
            if found:
                self.client.load_collection(collection, timeout=self.address.timeout)
                self._known.add(collection)
        return found

    def create(self, collection: str, schema: Any, indexes: Sequence[Any]) -> None:
        """Make a collection and make it ready for searches, unless it is there."""
        if self.has(collection):
            return
        with translated(self.address):
            timeout = self.address.timeout
            self.client.create_collection(collection, schema=schema, consistency_level="Strong", timeout=timeout)
            for index in indexes:
                # An empty collection's index is ready at once: waiting for it only costs the client's polling time.
                self.client.create_index(collection, index, sync=False, timeout=timeout)
            self.client.load_collection(collection, timeout=timeout)
            self._known.add(collection)

    def names(self) -> list[str]:
        """The collections of the database, of every corpus."""
        with translated(self.address):
            return list(self.client.list_collections(timeout=self.address.timeout))

    def drop(self, collection: str) -> None:
        self._known.discard(collection)
        with translated(self.address):
            self.client.drop_collection(collection, timeout=self.address.timeout)

    # -- rows --------------------------------------------------------------------------------------------------

    def query(self, collection: str, expr: str, fields: Sequence[str]) -> list[dict[str, Any]]:
        """The rows that pass; none if there is no such collection."""
        if not self.has(collection):
            return []
        found: list[dict[str, Any]] = []
        pieces = [expr]
        while pieces:
            piece = pieces.pop()
            rows = self._query(collection, piece, fields)
            if len(rows) in _CUT:
                refs = sorted(int(row["ref"]) for row in rows)
                split = refs[len(refs) * 3 // 4]
                pieces += [f"ref >= {split} and ({piece})", f"ref < {split} and ({piece})"]
            else:
                found += rows
        return found

    def _query(self, collection: str, expr: str, fields: Sequence[str]) -> list[dict[str, Any]]:
        with translated(self.address):
            rows = self.client.query(
                collection,
                filter=expr,
                output_fields=list(fields),
                consistency_level="Strong",
                timeout=self.address.timeout,
            )
            return [dict(row) for row in rows]

    def by_ref(
        self, collection: str, refs: Sequence[int], fields: Sequence[str], within: str = ""
    ) -> list[dict[str, Any]]:
        """The rows with those primary keys (and for which ``within`` holds), in no particular order."""
        also = f" and {within}" if within else ""
        rows: list[dict[str, Any]] = []
        for start in range(0, len(refs), _KEYS):
            part = [int(ref) for ref in refs[start : start + _KEYS]]
            rows += self.query(collection, f"ref in {part}{also}", ["ref", *fields])
        return rows

    def windows(
        self, collection: str, expr: str, fields: Sequence[str], end: int, size: int = 4096
    ) -> Iterator[list[dict[str, Any]]]:
        """Every row that passes, some thousand at a time, in the order of refs below ``end``."""
        for start in range(0, end, size):
            rows = self.query(collection, f"ref >= {start} and ref < {start + size} and {expr}", ["ref", *fields])
            if rows:
                yield sorted(rows, key=lambda row: int(row["ref"]))

    def upsert(self, collection: str, rows: Iterable[dict[str, Any]], *, new: bool = False) -> None:
        """Write rows, in the place of those with the same key; ``new`` if there are none."""
        with translated(self.address):
            write = self.client.insert if new else self.client.upsert
            for part in _parts(rows):
                write(collection, part, timeout=self.address.timeout)

    def delete(self, collection: str, expr: str) -> None:
        if self.has(collection):
            with translated(self.address):
                self.client.delete(collection, filter=expr, timeout=self.address.timeout)

    def delete_refs(self, collection: str, refs: Sequence[int]) -> None:
        """Remove the rows with those primary keys."""
        for start in range(0, len(refs), _KEYS):
            self.delete(collection, f"ref in {list(refs[start : start + _KEYS])}")

    def search(
        self, collection: str, field: str, vector: Any, limit: int, expr: str, fields: Sequence[str], **params: Any
    ) -> list[Any]:
        with translated(self.address):
            (hits,) = self.client.search(
                collection,
                data=[vector],
                anns_field=field,
                limit=limit,
                filter=expr,
                output_fields=list(fields),
                search_params=params,
                consistency_level="Strong",
                timeout=self.address.timeout,
            )
            return list(hits)


@contextmanager
def translated(address: Address) -> Iterator[None]:
    """Turn the client's errors into ones that say what to do next."""
    from pymilvus.exceptions import MilvusException

    try:
        yield
    except IrError:
        raise
    except MilvusException as error:
        raise _known(address, _said(error)) from error
    except Exception as error:
        if not type(error).__module__.startswith("grpc"):
            raise
        raise _known(address, _said(error)) from error


def _said(error: BaseException) -> str:
    """What the client says, and what the server said to it: a refused login reads like a server that is away."""
    said = str(getattr(error, "message", "") or error)
    cause = error.__cause__
    details = getattr(cause, "details", None)
    return f"{said} ({details()})" if callable(details) else said


def _known(address: Address, message: str) -> CorpusError:
    said = " ".join(message.split())[:300]
    low = said.lower()
    if "local milvus failed" in low:
        return CorpusBusy(
            f"The file {address.uri} cannot be opened: another process has it open, or it is not a Milvus file.",
            remedy="One process at a time uses such a file; use a Milvus server to share a corpus.",
        )
    if any(word in low for word in ("unauthenticated", "auth check", "authentication", "permission")):
        return CorpusError(
            f"The Milvus server of {address.label} did not let us in.",
            remedy="Put its token, or user:password, into MILVUS_TOKEN or a file that MILVUS_TOKEN_FILE names.",
        )
    if any(word in low for word in ("fail connecting", "unavailable", "failed to connect", "deadline", "timeout")):
        return CorpusError(
            f"The Milvus server of {address.label} did not answer within {address.timeout:g} seconds.",
            remedy="Check that it runs, its host and port; allow more time with ?timeout=SECONDS in the address.",
        )
    if "collection not found" in low:
        return CollectionGone(
            f"A collection of the corpus at {address.label} is not there any more: {said}",
            remedy="Open the corpus again, and build it again if somebody dropped it.",
        )
    if "database not found" in low:
        return CorpusError(
            f"The Milvus server of {address.label} has no database {address.database!r}.",
            remedy="Create it there, or correct the address.",
        )
    return CorpusError(f"Milvus could not do what {address.label} needed: {said}")


def _parts(rows: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    part: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        weight = sum(4 * len(value) if hasattr(value, "__len__") else 8 for value in row.values())
        if part and (len(part) >= _BATCH or size + weight > _BYTES):
            yield part
            part, size = [], 0
        part.append(row)
        size += weight
    if part:
        yield part


def _acquire(address: Address) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what the client imports, which no user can change
            from pymilvus import MilvusClient

            if address.is_file:
                # Its server would leave a log in the temporary folder each time it is started.
                os.environ.setdefault("GLOG_minloglevel", "3")
                import milvus_lite as _milvus_lite

                del _milvus_lite
    except ImportError as error:
        package = "milvus-lite" if address.is_file else "pymilvus"
        raise MissingExtra(package, "milvus", "A corpus in Milvus") from error
    # The client logs every error it raises, with a traceback; ours say the same in one line.
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
    key = (address.uri, address.database)
    client, users = _clients.get(key, (None, 0))
    if client is None:
        if address.ca and not Path(address.ca).is_file():
            raise InvalidInput(f"There is no file {address.ca} with the certificate that the Milvus address names.")
        options = {
            "token": address.token(),
            "db_name": address.database,
            "timeout": address.timeout,
            "server_pem_path": address.ca,
        }
        options = {name: value for name, value in options.items() if value}
        client = _open_file(MilvusClient, address, options) if address.is_file else MilvusClient(address.uri, **options)
    _clients[key] = (client, users + 1)
    return client


def _open_file(client: Callable[..., Any], address: Address, options: Mapping[str, Any]) -> Any:
    guard = FileGuard(Path(address.uri), min(_LEAVING_SECONDS, address.lock_timeout))
    try:
        opened = client(address.uri, **options)
    except BaseException:
        guard.release()
        raise
    _guards[address.uri] = guard
    return opened


def _release(address: Address) -> None:
    key = (address.uri, address.database)
    client, users = _clients.pop(key, (None, 0))
    if client is None:
        return
    if users > 1:
        _clients[key] = (client, users - 1)
        return
    with suppress(Exception):
        client.close()
    if address.is_file:
        from milvus_lite.server_manager import server_manager_instance

        server_manager_instance.release_server(address.uri)
        _guards.pop(address.uri).release()
