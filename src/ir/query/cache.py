"""Answers that are kept for as long as what they were made from stays as it is."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Generic, NamedTuple, TypeVar

from ir.options import count

__all__ = ["DFLT_ENTRIES", "QueryKey", "VersionedCache"]

DFLT_ENTRIES = 1000

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class QueryKey(NamedTuple):
    """What an answer belongs to, beside the version that it was made from."""

    workspace: str
    corpus: str
    branch: str
    query_hash: str
    parameter_hash: str


class VersionedCache(Generic[Key, Value]):
    """The ``entries`` that were asked for most recently, each with the version it was made from.

    A key whose version is another one is missing. Threads may share a cache.

    >>> cache: VersionedCache[str, int] = VersionedCache(entries=2)
    >>> cache.set("a", "v1", 1)
    >>> cache.get("a", "v1"), cache.get("a", "v2")
    (1, None)
    """

    def __init__(self, entries: int = DFLT_ENTRIES) -> None:
        self.entries = count("entries", entries)
        self._held: OrderedDict[Key, tuple[str, Value]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: Key, version: str) -> Value | None:
        """What was kept under the key for this very version."""
        with self._lock:
            held = self._held.get(key)
            if held is None or held[0] != version:
                return None
            self._held.move_to_end(key)
            return held[1]

    def set(self, key: Key, version: str, value: Value) -> None:
        with self._lock:
            self._held[key] = (version, value)
            self._held.move_to_end(key)
            while len(self._held) > self.entries:
                self._held.popitem(last=False)

    def invalidate_stale(self, version: str, *, among: Callable[[Any], bool] | None = None) -> int:
        """Drop the entries of other versions, of those keys that ``among`` holds for; how many they were."""
        with self._lock:
            stale = [key for key, (held, _) in self._held.items() if held != version and (among is None or among(key))]
            for key in stale:
                del self._held[key]
            return len(stale)

    def clear(self) -> None:
        with self._lock:
            self._held.clear()
