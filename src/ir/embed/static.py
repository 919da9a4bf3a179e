"""A table with one vector for each token; a text is the mean of its tokens. Quick, on one thread, without a network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ir.embed.models import unavailable
from ir.errors import EmbedderError
from ir.models.folder import ModelFolder
from ir.models.folders import find_folder
from ir.models.weights import as_float32, read_tensors
from ir.models.wordwise import WordwiseTokenizer

__all__ = ["StaticEmbedder", "load"]

Vectors = NDArray[np.float32]

STATIC = "static"
_VERSION = 1
_TABLES = ("embeddings", "embedding.weight")
_MAX_TOKENS = 8192


class StaticEmbedder:
    """A folder with ``tokenizer.json`` and a table in ``model.safetensors``, as wordllama and model2vec make them.

    Vectors have length one. model2vec leaves unknown tokens out, may weight tokens, and may let several share a row.
    """

    cacheable = False  # looking up a vector takes longer than computing it
    #: The weight of these vectors in a hybrid search. Measured: they are weaker than those of a network.
    blend_alpha = 0.3

    def __init__(self, folder: ModelFolder, name: str) -> None:
        if folder.weights is None:
            raise EmbedderError(f"The folder {folder.path} holds no table: model.safetensors is missing.")
        tensors = read_tensors(folder.weights)
        found = next((key for key in _TABLES if key in tensors), None)
        if found is None or tensors[found].ndim != 2:
            raise EmbedderError(
                f"{folder.weights} holds no table of token vectors.",
                remedy=f"One of the tensors {', '.join(_TABLES)} is needed, with one row for each token.",
            )
        self.id = name
        self.max_tokens = _MAX_TOKENS
        self._tokenizer = WordwiseTokenizer(folder.tokenizer, _MAX_TOKENS, lower=folder.lower)
        self._table = as_float32(tensors[found])
        self._rows = tensors["mapping"].astype(np.int64) if "mapping" in tensors else None
        self._weights = as_float32(tensors["weights"]) if "weights" in tensors else None
        # Only model2vec's config speaks of normalising; its tables were made without unknown tokens.
        self._left_out = self._tokenizer.unknown if "normalize" in folder.config else None
        self.dim = int(self._table.shape[1])
        self.fingerprint = f"{name}-{self.dim}-v{_VERSION}-{folder.digest()}"

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> Vectors:
        """One row for each text; a text without tokens gives zeros. ``input_type`` makes no difference."""
        out = np.zeros((len(texts), self.dim), np.float32)
        for place, text in enumerate(texts):
            ids = self._tokens(text)
            if len(ids):
                out[place] = self._sum(ids)
        lengths = np.sqrt(np.einsum("ij,ij->i", out, out))[:, None]  # norm() would copy every row
        np.divide(out, lengths, out=out, where=lengths > 0)
        return out

    def _tokens(self, text: str) -> NDArray[np.int32]:
        ids = self._tokenizer(text) if text and not text.isspace() else np.empty(0, np.int32)
        return ids if self._left_out is None else ids[ids != self._left_out]

    def _sum(self, ids: NDArray[np.int32]) -> Vectors:
        rows = ids if self._rows is None else self._rows.take(ids, mode="clip")
        vectors = self._table.take(rows, axis=0, mode="clip")
        if self._weights is not None:
            vectors *= self._weights.take(ids, mode="clip")[:, None]
        total: Vectors = vectors.sum(axis=0)
        return total


def load(name: str) -> StaticEmbedder | None:
    """The static table that was pulled, or one in a folder; ``None`` for a name of another kind."""
    path = find_folder(name)
    if path is None:
        if name == STATIC:
            raise unavailable(name)
        return None
    if name != STATIC and not is_static(path):
        return None
    return _opened(str(path), path.name if path == Path(name).expanduser() else name)


def is_static(path: Path) -> bool:
    """Whether a folder holds a table of token vectors rather than a network."""
    folder = ModelFolder.read(path)
    if folder.static:
        return True
    if folder.network is not None or folder.weights is None or folder.config.get("num_hidden_layers"):
        return False
    return any(key in read_tensors(folder.weights) for key in _TABLES)


@lru_cache(maxsize=2)
def _opened(path: str, name: str) -> StaticEmbedder:
    return StaticEmbedder(ModelFolder.read(Path(path)), name)
