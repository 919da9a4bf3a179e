"""Words kept in a store of ours on a server: its BM25 answers, and a mirror writes to it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ir.base import Record
from ir.config.workspace import current_workspace
from ir.errors import InvalidInput
from ir.keyword.embedded import EmbeddedKeywords
from ir.keyword.faults import answered_within, told_as_fault, unknown_collection
from ir.keywords import KeywordRequest, KeywordResult
from ir.protocols import Snapshot, Store
from ir.store.opening import for_corpus, open_store

__all__ = ["StoredKeywords", "words_of"]

#: The setting of a store of words that names its mirror.
_MARK = "mirror"
_NO_VECTOR = np.empty(0, dtype=np.float32)


def words_of(collection: str) -> str:
    """What the corpus is called that keeps the words of a collection on a server."""
    return f"{collection}.words"


class StoredKeywords:
    """BM25 over records without vectors in PostgreSQL or Milvus. ``url`` names the server, not a corpus on it."""

    def __init__(self, url: str, *, name: str) -> None:
        if for_corpus(url, "x") == url:
            raise InvalidInput(
                "The address for the words of corpora names one corpus.",
                remedy="Leave its name out: the words of each corpus are kept under a name of their own.",
            )
        self.name = name
        self._url = url
        self._stores: dict[tuple[str, str], Store] = {}
        self._lock = threading.Lock()
        self._words = EmbeddedKeywords(self._mirrored, name=name)

    def search(self, request: KeywordRequest, *, timeout_s: float | None = None) -> list[KeywordResult]:
        if not request.top_k:
            return []
        return answered_within(timeout_s, self.name, lambda: self._words.search(request))

    def close(self) -> None:
        """Let go of connections; it can be used again."""
        with self._lock:
            stores, self._stores = list(self._stores.values()), {}
        for store in stores:
            store.close()

    # -- as the target of a mirror -----------------------------------------------------------------------------

    def mark(self, collection: str) -> str | None:
        with told_as_fault(self.name):
            found = self._store(collection).get_config().get(_MARK)
            return None if found is None else str(found)

    def ids(self, collection: str) -> Iterator[str]:
        with told_as_fault(self.name):
            yield from self._store(collection).record_ids()

    def apply(
        self,
        collection: str,
        records: Sequence[Record],
        gone: Sequence[str],
        *,
        mark: str,
        settings: Mapping[str, Any],
    ) -> None:
        """Write and remove records, in one transaction."""
        told = {**settings, _MARK: mark}
        with told_as_fault(self.name):
            store = self._store(collection)
            with store.transaction():
                held = store.get_config()
                if {key: held.get(key) for key in told} != told:
                    store.set_config({**held, **told})
                store.delete_records(gone)
                store.put_records([replace(record, vector=_NO_VECTOR) for record in records])

    def _store(self, collection: str) -> Store:
        key = (current_workspace(), collection)
        with self._lock:
            if key not in self._stores:
                self._stores[key] = self._opened(collection)
            return self._stores[key]

    def _opened(self, collection: str) -> Store:
        return open_store(for_corpus(self._url, words_of(collection)))

    @contextmanager
    def _mirrored(self, collection: str) -> Iterator[Snapshot]:
        with self._store(collection).snapshot() as snapshot:
            if _MARK not in snapshot.config():
                raise unknown_collection(self.name, collection, f"Send it there with: ir keyword sync {collection}")
            yield snapshot
