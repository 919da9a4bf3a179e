"""Corpora that stay open from one call to the next, and are what they are on disk."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

from ir.config.workspace import current_workspace
from ir.errors import CorpusError

if TYPE_CHECKING:
    from ir.index import Corpus

__all__ = ["Lease", "Pool", "opened"]

#: A corpus by its workspace and name.
Key = tuple[str, str]
#: Settings of a corpus that an open one was made with.
_MADE_WITH = ("name", "embedder", "embedder_id", "fingerprint", "dim")


def opened(name: str, embedder: Any = None) -> Corpus:
    """The built corpus ``name``."""
    from ir.index import open_corpus

    return open_corpus(name, embedder=embedder)


@dataclass
class _Held:
    """An open corpus, how many calls use it now, and what it was opened as."""

    corpus: Corpus
    version: str
    made_with: tuple[Any, ...]
    registry: Any
    address: str | None
    used: float = field(default_factory=monotonic)
    leases: int = 0
    #: What was found out about this version.
    known: dict[Hashable, Any] = field(default_factory=dict)
    #: Whether another one took its place, so that it goes when its last call ends.
    replaced: bool = False


class Lease:
    """The use of an open corpus by one call."""

    def __init__(self, pool: Pool, held: _Held) -> None:
        self._pool = pool
        self._held: _Held | None = held
        self.corpus = held.corpus
        self.known = held.known

    def release(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            self._pool.give_back(held)


class Pool:
    """Up to ``size`` open corpora. The least recently used goes first, one that nobody asked for ``idle_s`` goes too,
    and none while a call uses it. Threads may share a pool."""

    def __init__(self, size: int = 8, idle_s: float = 600.0) -> None:
        self.size = size
        self.idle_s = idle_s
        self._held: dict[Key, _Held] = {}
        self._lock = threading.Lock()
        self._opening: dict[Key, threading.Lock] = {}

    def __len__(self) -> int:
        return len(self._held)

    def names(self) -> list[Key]:
        """Workspace and name of each open corpus."""
        with self._lock:
            return list(self._held)

    def holds(self, name: str) -> bool:
        """Whether a corpus of the current workspace is open."""
        return (current_workspace(), name) in self._held

    def lease(self, name: str) -> Lease:
        """The corpus, opened if need be, as it is on disk now."""
        key = (current_workspace(), name)
        held = self._take(key)
        if held is not None:
            if self._is_current(held, name):
                return Lease(self, held)
            self._replace(key, held)
            self.give_back(held)
        with self._opening_of(key):
            held = self._take(key)  # another thread may have opened it meanwhile
            if held is None:
                held = _open(name)
                held.leases = 1
                with self._lock:
                    self._held[key] = held
        self.sweep()
        return Lease(self, held)

    def give_back(self, held: _Held) -> None:
        with self._lock:
            held.leases -= 1
            held.used = monotonic()
            over = held.replaced and held.leases == 0
        if over:
            held.corpus.store.close()

    def sweep(self) -> None:
        """Close what is idle for long, and the least recently used while there are too many."""
        now = monotonic()
        with self._lock:
            free = sorted((one for one in self._held.items() if one[1].leases == 0), key=lambda one: one[1].used)
            surplus = len(self._held) - self.size
            gone = [
                (key, held)
                for number, (key, held) in enumerate(free)
                if number < surplus or now - held.used > self.idle_s
            ]
            for key, _ in gone:
                del self._held[key]
        for _, held in gone:
            held.corpus.store.close()

    def close(self) -> None:
        """Close all; what a call still uses is closed when that ends."""
        with self._lock:
            held = list(self._held.values())
            self._held.clear()
            for one in held:
                one.replaced = True
        for one in held:
            if one.leases == 0:
                one.corpus.store.close()

    def _take(self, key: Key) -> _Held | None:
        with self._lock:
            held = self._held.get(key)
            if held is not None:
                held.leases += 1
                held.used = monotonic()
            return held

    def _opening_of(self, key: Key) -> threading.Lock:
        with self._lock:
            return self._opening.setdefault(key, threading.Lock())

    def _replace(self, key: Key, held: _Held) -> None:
        with self._lock:
            held.replaced = True
            if self._held.get(key) is held:
                del self._held[key]

    def _is_current(self, held: _Held, name: str) -> bool:
        """Whether an open corpus is still what its name stands for. Its store sees for itself what was written to it;
        what was read when it was opened, its embedder and where it is kept, has to be looked at here."""
        registry = _registry_state()
        if registry != held.registry:
            if _address(name) != held.address:
                return False
            held.registry = registry
        try:
            version = held.corpus.store.version
            if version == held.version:
                return True
            current = _made_with(held.corpus.store.get_config()) == held.made_with
        except (CorpusError, OSError):  # removed, or moved away
            return False
        held.version, held.known = version, {}
        return current


def _open(name: str) -> _Held:
    registry, address = _registry_state(), _address(name)
    corpus = opened(name)
    store = corpus.store
    return _Held(corpus, store.version, _made_with(store.get_config()), registry, address)


def _made_with(config: Any) -> tuple[Any, ...]:
    return tuple(config.get(name) for name in _MADE_WITH)


def _address(name: str) -> str | None:
    from ir.registry import store_of

    return store_of(name)


def _registry_state() -> Any:
    """What changes when the registry is written."""
    from ir.registry import state

    return state()
