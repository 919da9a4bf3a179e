"""One writer at a time: the document of a corpus's state also says who writes."""

from __future__ import annotations

import os
import random
import secrets
import socket
import threading
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ir.errors import CorpusBusy, CorpusError
from ir.store.mongo.connection import Connection, driver, translated
from ir.store.mongo.state import NAME, State
from ir.system import is_running

__all__ = ["LEASE_SECONDS", "Lease"]

_POLL_SECONDS = 0.05
#: A writer that has not said that it is alive for so long is taken for dead.
LEASE_SECONDS = 60.0
#: How many unfinished attempts are remembered: their writers may come back to life and write a last row.
_REMEMBERED = 64
#: How many past commits a corpus remembers, to know when their rows may go.
_COMMITS = 50


class Lease:
    """The right to write a corpus. Every step that it allows names the holder, so nobody else's is ever taken.

    A server changes one document in one step. That is all that is needed: to become the writer, to draw a number, and
    to commit are each a change of the same document, on the condition that it still says what it said before.
    """

    def __init__(self, connection: Connection, collection: str, seconds: float = LEASE_SECONDS) -> None:
        self._connection = connection
        self._name = collection
        self._seconds = seconds
        self._threads = threading.Lock()
        self._holder = ""
        self._done = threading.Event()

    @property
    def _collection(self) -> Any:
        return self._connection.database[self._name]

    def state(self) -> State:
        """The present state."""
        with translated(self._connection.address):
            found = self._collection.find_one({"_id": NAME})
        return State.of(found, self._connection.address.label)

    # -- holding it ------------------------------------------------------------------------------------------------

    def acquire(self, timeout: float) -> State:
        """Become the writer; the state then."""
        deadline = time.monotonic() + timeout
        if not self._threads.acquire(timeout=timeout):
            raise _busy(self._connection.address.label, "this process")
        try:
            with translated(self._connection.address):
                found = self._alone(deadline)
            state = State.of(found, self._connection.address.label)
        except BaseException:
            self._threads.release()
            raise
        self._done = threading.Event()
        threading.Thread(target=self._renew, args=(self._holder, self._done), daemon=True).start()
        return state

    def release(self) -> None:
        """Let others write. If the server cannot be told, they find out when the lease has ended."""
        self._done.set()
        try:
            with suppress(CorpusError), translated(self._connection.address):
                self._collection.update_one(self._ours(), {"$set": {"writer": None}})
        finally:
            self._threads.release()

    def _alone(self, deadline: float) -> dict[str, Any]:
        self._holder = secrets.token_hex(8)
        while True:
            found = self._collection.find_one({"_id": NAME})
            if found is None:
                self._first()
                continue
            State.of(found, self._connection.address.label)  # nothing is written to a corpus of another format
            writer = found["writer"]
            if writer is None or _is_dead(writer):
                unchanged = None if writer is None else writer["name"]
                field = "writer" if writer is None else "writer.name"
                query = {"_id": NAME, field: unchanged}
                change = {"$set": {"writer": self._told()}}
                taken = self._collection.find_one_and_update(query, change, return_document=True)
                if taken is not None:
                    held: dict[str, Any] = taken
                    return held
            elif time.monotonic() >= deadline:
                holder = f"process {writer['pid']} on {writer['host']}"
                raise _busy(self._connection.address.label, holder)
            time.sleep(_POLL_SECONDS * (0.5 + random.random()))

    def _first(self) -> None:
        """Put up the document of a new corpus, unless somebody else has by now."""
        with suppress(driver().errors.DuplicateKeyError):
            self._collection.insert_one({"_id": NAME, **State(made=secrets.token_hex(4)).told(), "writer": None})

    def _told(self) -> dict[str, Any]:
        until = time.time() + self._seconds
        return {"name": self._holder, "host": socket.gethostname(), "pid": os.getpid(), "until": until}

    def _ours(self, **also: Any) -> dict[str, Any]:
        return {"_id": NAME, "writer.name": self._holder, **also}

    def _renew(self, holder: str, done: threading.Event) -> None:
        while not done.wait(self._seconds / 4):
            try:
                later = {"$set": {"writer.until": time.time() + self._seconds}}
                self._collection.update_one({"_id": NAME, "writer.name": holder}, later)
            except Exception:
                continue  # the server may be back before the lease ends; if not, the commit says so

    # -- what the writer does with it ------------------------------------------------------------------------------

    def draw(self, state: State) -> State:
        """Draw a number for an attempt to commit. It counts as unfinished until the commit."""
        number = state.next
        query = self._ours(version=state.version, next=number)
        kept = [*state.open, number][-_REMEMBERED:]
        self._change(query, {"$set": {"next": number + 1, "open": kept}})
        return replace(state, next=number + 1, open=tuple(kept))

    def commit(self, former: State, state: State) -> State:
        """Make ``state`` the present one, if nothing came between: this one change is the commit."""
        kept = tuple(number for number in former.open if number != state.version)
        commits = (*former.commits, (state.version, time.time()))[-_COMMITS:]
        state = replace(state, next=former.next, open=kept, commits=commits, swept=former.swept)
        self._change(self._ours(version=former.version), {"$set": state.told()})
        return state

    def sweep(self, state: State, horizon: int) -> State:
        """Say that versions before ``horizon`` are no longer whole."""
        self._change(self._ours(version=state.version), {"$set": {"swept": horizon}})
        return replace(state, swept=horizon)

    def _change(self, query: dict[str, Any], change: dict[str, Any]) -> None:
        with translated(self._connection.address):
            if not self._collection.update_one(query, change).matched_count:
                raise _busy(self._connection.address.label, "another writer, which took this one for dead")


def _is_dead(writer: dict[str, Any]) -> bool:
    if writer["until"] < time.time():
        return True
    return writer["host"] == socket.gethostname() and not is_running(int(writer["pid"]))


def _busy(label: str, holder: str) -> CorpusBusy:
    return CorpusBusy(
        f"The corpus at {label} is being written by {holder}.", remedy="Wait for it to finish, then try again."
    )
