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

#: How many new texts are embedded between two writes: the most that a killed build can lose.
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

    def lasting_queries(self, texts: Sequence[str]) -> Vectors:
        """The vectors of queries that every corpus is asked. They are looked up on disk, like documents."""
        return self._kept(list(texts), "query")

    def kept(self, texts: Sequence[str]) -> set[str]:
        """Those documents whose vectors need not be computed."""
        space = self._space = self._space or self._found_space()
        return self.cache.holds(space, texts)

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
        return self._kept(texts, "document")

    def _kept(self, texts: list[str], input_type: str) -> Vectors:
        distinct = list(dict.fromkeys(texts))
        space = self._space = self._space or self._found_space()
        names = {text: _name(text, input_type) for text in distinct}
        held = self.cache.get(space, list(names.values()))
        known = {text: held[name] for text, name in names.items() if name in held}
        missing = [text for text in distinct if text not in known]
        for start in range(0, len(missing), _STEP):
            step = missing[start : start + _STEP]
            known.update(self._made(step, input_type, space))
        if len({vector.shape for vector in known.values()}) > 1:
            # Another model now answers to this name, so the vectors we kept are of no use.
            self.cache.forget(space)
            known = self._made(distinct, input_type, space)
        return np.stack([known[text] for text in texts])

    def _made(self, texts: list[str], input_type: str, space: str) -> dict[str, Any]:
        made = dict(zip(texts, self.embedder(texts, input_type=input_type), strict=True))
        self._verify()
        self.cache.put(space, {_name(text, input_type): vector for text, vector in made.items()})
        return made

    def _found_space(self) -> str:
        """The fingerprint that vectors are kept under: one there that matches the model, else its own."""
        matches = getattr(self.embedder, "matches", None)
        known = self.cache.spaces() if matches is not None else []
        return next((space for space in known if matches and matches(space)), self.fingerprint)

    def _verify(self) -> None:
        """Before vectors are kept, let a model that can change behind its name check that it has not."""
        verify = getattr(self.embedder, "verify", None)
        if verify is not None:
            verify()


def _name(text: str, input_type: str) -> str:
    """The key of a vector: a model may embed a query differently from a document with the same text."""
    return text if input_type == "document" else f"{input_type}\x00{text}"
