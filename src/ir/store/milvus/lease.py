"""One writer at a time, with a database that knows no locks."""

from __future__ import annotations

import json
import os
import random
import secrets
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ir.errors import CorpusBusy
from ir.store.milvus.connection import Connection
from ir.system import is_running

__all__ = ["FileLock", "Lease", "writer_lock"]

_POLL_SECONDS = 0.05
#: A writer that has not said that it is alive for so long is taken for dead.
LEASE_SECONDS = 60.0


class _Shared:
    """What the stores of a process have in common that write to one corpus in a file."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.unfinished = False


_held: dict[str, _Shared] = {}
_naming = threading.Lock()


class FileLock:
    """For a Milvus file, which only one process can have open: a lock among this process's threads.

    A writer sets ``unfinished`` while it undoes what it wrote; the next one does it if it still stands then.
    """

    def __init__(self, connection: Connection) -> None:
        self._label = connection.address.label
        with _naming:
            key = f"{Path(connection.address.uri).resolve()}?{connection.address.corpus}"
            self._shared = _held.setdefault(key, _Shared())
        self._fresh = True
        self.unfinished = False

    def acquire(self, timeout: float) -> bool:
        """Take the lock; whether an earlier writer may have left something behind."""
        if not self._shared.lock.acquire(timeout=timeout):
            raise _busy(self._label, "this process")
        left, self._fresh = self._fresh or self._shared.unfinished, False
        self.unfinished = left
        return left

    def held(self) -> bool:
        """A lock in memory is not lost."""
        return True

    def check(self) -> None:
        """The same, for those who must have it."""

    def release(self) -> None:
        self._shared.unfinished = self.unfinished
        self._shared.lock.release()


class Lease:
    """For a server: a row that says who writes.

    Whoever wants to write first puts up a row, then looks for others. Reads are strongly consistent, so of two that
    come together at least one sees the other, and steps back. The row is renewed while the writer lives; one that
    was not renewed, or whose process on this machine is gone, is cleared away by the next writer. One that is
    ``unfinished``, because it could not undo what it wrote, leaves its row, so that the next writer takes it for dead.
    """

    def __init__(self, connection: Connection, collection: str, seconds: float = LEASE_SECONDS) -> None:
        self._connection = connection
        self._collection = collection
        self._seconds = seconds
        self._threads = threading.Lock()
        self._name = ""
        self._done = threading.Event()
        self.unfinished = False

    def acquire(self, timeout: float) -> bool:
        """Put up the lease; whether an earlier writer died and may have left something behind."""
        deadline = time.monotonic() + timeout
        if not self._threads.acquire(timeout=timeout):
            raise _busy(self._connection.address.label, "this process")
        try:
            found_dead = self._alone(deadline)
        except BaseException:
            self._threads.release()
            raise
        self.unfinished = found_dead
        self._done = threading.Event()
        threading.Thread(target=self._renew, args=(self._name, self._done), daemon=True).start()
        return found_dead

    def held(self) -> bool:
        """Whether the lease is still ours: a writer that was asleep for long may have been taken for dead."""
        return any(name == self._name for name, _ in self._rows())

    def check(self) -> None:
        """Raise unless it is."""
        if not self.held():
            raise _busy(self._connection.address.label, "another writer, which took this one for dead")

    def release(self) -> None:
        self._done.set()
        try:
            if not self.unfinished:
                self._connection.delete(self._collection, f'name == "{self._name}"')
        finally:
            self._threads.release()

    def _alone(self, deadline: float) -> bool:
        found_dead = False
        while True:
            self._name = f"lease:{secrets.token_hex(8)}"
            self._put_up(self._name)
            others = [(name, holder) for name, holder in self._rows() if name != self._name]
            dead = [name for name, holder in others if _is_dead(holder)]
            if len(dead) == len(others):
                for name in dead:
                    self._connection.delete(self._collection, f'name == "{name}"')
                return found_dead or bool(dead)
            self._connection.delete(self._collection, f'name == "{self._name}"')
            if time.monotonic() >= deadline:
                _, holder = next(pair for pair in others if pair[0] not in dead)
                raise _busy(self._connection.address.label, f"process {holder['pid']} on {holder['host']}")
            # At different times, so that two do not step back for each other for ever.
            time.sleep(_POLL_SECONDS * (0.5 + random.random()))

    def _put_up(self, name: str) -> None:
        holder = {"host": socket.gethostname(), "pid": os.getpid(), "until": time.time() + self._seconds}
        row = {"name": name, "value": json.dumps(holder), "none": [0.0, 0.0]}
        self._connection.upsert(self._collection, [row])

    def _rows(self) -> list[tuple[str, dict[str, Any]]]:
        rows = self._connection.query(self._collection, 'name like "lease:%"', ["name", "value"])
        return [(row["name"], json.loads(row["value"])) for row in rows]

    def _renew(self, name: str, done: threading.Event) -> None:
        while not done.wait(self._seconds / 4):
            try:
                if any(held == name for held, _ in self._rows()) and not done.is_set():
                    self._put_up(name)
            except Exception:
                continue  # the server may be back before the lease ends; if not, the commit's check says so


def writer_lock(connection: Connection, collection: str, prepare: Callable[[], None]) -> FileLock | Lease:
    """The lock of a corpus; ``prepare`` makes the collection that a lease is kept in."""
    if connection.address.is_file:
        return FileLock(connection)
    prepare()
    return Lease(connection, collection)


def _is_dead(holder: dict[str, Any]) -> bool:
    if holder["until"] < time.time():
        return True
    if holder["host"] != socket.gethostname():
        return False
    return not is_running(int(holder["pid"]))


def _busy(label: str, holder: str) -> CorpusBusy:
    return CorpusBusy(
        f"The corpus at {label} is being written by {holder}.", remedy="Wait for it to finish, then try again."
    )
