"""An embedder that computes a vector once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.embed.cache import VectorCache
from ir.protocols import Embedder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

__all__ = ["CachedEmbedder"]

#: So many new texts are embedded between two writes: what a killed build loses at most.
_STEP = 1024
_MOST_QUERIES = 1024


class CachedEmbedder:
    """Documents are looked up on disk by their content, queries in a small memory; the rest goes to ``embedder``."""

    cacheable = True

    def __init__(self, embedder: Embedder, cache: VectorCache) -> None:
        self.embedder = embedder
        self.cache = cache
        self.id = embedder.id
        self._queries: OrderedDict[str, Vectors] = OrderedDict()
        self._lock = threading.Lock()
        self._space: str | None = None

    @property
    def fingerprint(self) -> str:
        return str(getattr(self.embedder, "fingerprint", self.id))

    def __getattr__(self, name: str) -> Any:
        # ``dim``, ``max_tokens`` and whatever else a model tells about itself.
        if name in ("embedder", "cache") or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.embedder, name)

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> Vectors:
        given = list(texts)
        if not given:
            return self.embedder(given, input_type=input_type)
        if input_type == "query":
            return self._embed_queries(given)
        return self._embed_documents(given)

    def _embed_queries(self, texts: list[str]) -> Vectors:
        with self._lock:
            known = {text: self._queries[text] for text in texts if text in self._queries}
        missing = [text for text in dict.fromkeys(texts) if text not in known]
        if missing:
            known.update(zip(missing, self.embedder(missing, input_type="query"), strict=True))
        with self._lock:
            for text in texts:
                self._queries[text] = known[text]
                self._queries.move_to_end(text)
            while len(self._queries) > _MOST_QUERIES:
                self._queries.popitem(last=False)
        return np.stack([known[text] for text in texts])

    def _embed_documents(self, texts: list[str]) -> Vectors:
        distinct = list(dict.fromkeys(texts))
        space = self._space = self._space or self._found_space()
        known = self.cache.get(space, distinct)
        missing = [text for text in distinct if text not in known]
        for start in range(0, len(missing), _STEP):
            step = missing[start : start + _STEP]
            made = dict(zip(step, self.embedder(step), strict=True))
            self._verify()
            self.cache.put(space, made)
            known.update(made)
        if len({vector.shape for vector in known.values()}) > 1:
            # The model changed under its name: what was kept cannot be used.
            return self._embed_anew(texts, distinct, space)
        return np.stack([known[text] for text in texts])

    def _found_space(self) -> str:
        """Under which fingerprint the vectors are kept: one of this model, where it is not the same every time."""
        matches = getattr(self.embedder, "matches", None)
        known = self.cache.spaces() if matches is not None else []
        return next((space for space in known if matches and matches(space)), self.fingerprint)

    def _verify(self) -> None:
        """Let a model that may change behind its name make sure that it did not, before its vectors are kept."""
        verify = getattr(self.embedder, "verify", None)
        if verify is not None:
            verify()

    def _embed_anew(self, texts: list[str], distinct: list[str], space: str) -> Vectors:
        self.cache.forget(space)
        made = dict(zip(distinct, self.embedder(distinct), strict=True))
        self._verify()
        self.cache.put(space, made)
        return np.stack([made[text] for text in texts])
