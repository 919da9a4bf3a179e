"""Sentence encoders on onnxruntime or OpenVINO: MiniLM, and any folder in the layout of sentence-transformers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir.embed.models import DEFAULT_MODEL, unavailable
from ir.errors import EmbedderError
from ir.models.encoder import open_encoder
from ir.models.folder import read_json
from ir.models.folders import base_and_form, find_folder
from ir.models.origin import again
from ir.models.weights import as_float32, read_tensors

__all__ = ["OnnxEmbedder", "load"]

Vectors = NDArray[np.float32]

#: Part of every fingerprint, by form: changes when this code computes other vectors from the same files.
_VERSIONS = {"": 1, "int8": 2, "openvino": 1}
#: How many texts are tokenised at once; the tokens of a hundred thousand would take gigabytes.
_SLAB = 2048
_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {"Identity": lambda rows: rows, "Tanh": np.tanh}


class OnnxEmbedder:
    """A model's folder as an embedder. A blank text has a vector of zeros: it is near nothing."""

    cacheable = True

    def __init__(self, path: Path, name: str, *, form: str = "") -> None:
        self.id = name
        self.encoder = open_encoder(path, form=form)
        folder = self.folder = self.encoder.folder
        self.max_tokens = folder.max_tokens
        self._dense = [_Dense(path) for path in folder.dense]
        self.dim = int(self._rows(["size"], "document").shape[1])
        parts = (name, str(self.dim), f"v{_VERSIONS[form]}", self.encoder.precision, folder.digest())
        self.fingerprint = "-".join(filter(None, parts))

    def __call__(self, texts: Sequence[str], *, input_type: str = "document") -> Vectors:
        out = np.zeros((len(texts), self.dim), np.float32)
        for start in range(0, len(texts), _SLAB):
            slab = texts[start : start + _SLAB]
            out[start : start + len(slab)] = self._rows(slab, input_type)
        return out

    def _rows(self, texts: Sequence[str], input_type: str) -> Vectors:
        prompt = self.folder.prompts.get(input_type, "")
        full = [place for place, text in enumerate(texts) if text and not text.isspace()]
        tokens = [self.encoder.tokenizer(prompt + texts[place]) for place in full]
        pooled: list[Any] = [None] * len(full)

        def take(batch: list[int], states: Vectors) -> None:
            for place, row in zip(batch, self._pooled(states), strict=True):
                pooled[place] = row

        self.encoder.run(tokens, take)
        made = {place: row for place, row in zip(full, pooled, strict=True) if row is not None}
        size = len(next(iter(made.values()))) if made else self.dim
        out = np.zeros((len(texts), size), np.float32)
        for place, row in made.items():
            out[place] = row
        return out

    def _pooled(self, states: Vectors) -> Vectors:
        if states.ndim == 3:
            pooling = self.folder.pooling
            if pooling == "mean":
                states = states.mean(axis=1)
            elif pooling == "max":
                states = states.max(axis=1)
            else:
                states = states[:, 0 if pooling == "cls" else -1]
        for layer in self._dense:
            states = layer(states)
        if not np.isfinite(states).all():
            raise EmbedderError(f"The model {self.id!r} computed numbers that are not finite.")
        if self.folder.normalise:
            lengths = np.linalg.norm(states, axis=1, keepdims=True)
            states = np.divide(states, lengths, out=np.zeros_like(states), where=lengths > 0)
        return states


class _Dense:
    """A linear layer after pooling."""

    def __init__(self, path: Path) -> None:
        for file in ("config.json", "model.safetensors"):
            if not (path / file).is_file():
                raise EmbedderError(f"The dense layer in {path} is incomplete: {file} is missing.", remedy=again(path))
        config = read_json(path / "config.json")
        name = str(config.get("activation_function", "Identity")).rpartition(".")[2]
        if name not in _ACTIVATIONS:
            raise EmbedderError(f"{path} uses the activation {name!r}, which is not supported.")
        tensors = read_tensors(path / "model.safetensors")
        if "linear.weight" not in tensors:
            raise EmbedderError(f"The dense layer in {path} holds no tensor linear.weight.", remedy=again(path))
        self._activation = _ACTIVATIONS[name]
        self._weight = as_float32(tensors["linear.weight"]).T
        self._bias = as_float32(tensors["linear.bias"]) if "linear.bias" in tensors else np.float32(0)

    def __call__(self, rows: Vectors) -> Vectors:
        out: Vectors = self._activation(rows @ self._weight + self._bias)
        return out


def load(name: str) -> OnnxEmbedder | None:
    """The embedder of a model that was pulled, or of a folder; ``None`` for a name of another kind."""
    base, form = base_and_form(name)
    path = find_folder(base)
    if path is None:
        if base == DEFAULT_MODEL or "/" in base:
            raise unavailable(name)
        return None
    return _opened(str(path), _identity(base, path), form)


def _identity(base: str, path: Path) -> str:
    """A pulled model is known by its name, any other folder by its own name: it may be moved."""
    return path.name if path == Path(base).expanduser() else base


@lru_cache(maxsize=2)
def _opened(path: str, name: str, form: str) -> OnnxEmbedder:
    """One for the whole process: a model takes a long time to load, and a lot of memory."""
    return OnnxEmbedder(Path(path), f"{name}-{form}" if form else name, form=form)
