"""From what a user writes to an embedder."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

from ir.embed.cache import VectorCache
from ir.embed.cached import CachedEmbedder
from ir.embed.custom import CallableEmbedder
from ir.embed.light import LightEmbedder
from ir.embed.models import LIGHT, canonical_name, load_model
from ir.errors import EmbedderError
from ir.protocols import Embedder

__all__ = ["make_embedder", "window_of"]


def make_embedder(spec: Any = "default", *, cache: bool = True) -> tuple[Embedder, str]:
    """The embedder that ``spec`` stands for, and its id.

    ``spec`` is ``"box"``, ``"light"`` (or ``"hashing"``), ``"default"`` (or ``"local"``, ``"minilm"``), the name or id
    of another model, an embedder, or any callable ``texts -> array``. With ``cache`` the vectors of documents are kept
    on disk and computed once; embedders that are quicker than a look-up, and callables without an ``_ir_id``, are not
    cached.

    >>> embedder, embedder_id = make_embedder("box")
    >>> embedder_id, embedder(["one", "two"]).shape
    ('box', (2, 256))
    """
    embedder = _embedder(spec)
    if cache and getattr(embedder, "cacheable", True) and not isinstance(embedder, CachedEmbedder):
        embedder = CachedEmbedder(embedder, VectorCache.for_model(embedder.id))
    return embedder, embedder.id


def window_of(name: str) -> int | None:
    """How many tokens a model reads, without loading it where its folder says so; ``None`` for one that reads all."""
    from ir.embed.static import is_static
    from ir.models.folder import ModelFolder
    from ir.models.folders import base_and_form, find_folder

    path = find_folder(base_and_form(canonical_name(name))[0])
    if path is not None:
        return None if is_static(path) else ModelFolder.read(path).max_tokens
    return getattr(load_model(name), "max_tokens", None)


def _embedder(spec: Any) -> Embedder:
    if spec is None:
        spec = "default"
    if isinstance(spec, str):
        if not spec.strip():
            raise EmbedderError("The name of the embedder is empty.", remedy='Use "box", "default" or a model name.')
        name = canonical_name(spec)
        return _light() if name in (LIGHT, LightEmbedder.id) else load_model(name)
    if callable(spec):
        if isinstance(getattr(spec, "id", None), str) and hasattr(spec, "fingerprint"):
            return cast(Embedder, spec)
        return CallableEmbedder(spec)
    raise EmbedderError(
        f"An embedder cannot be made from {spec!r}.",
        remedy='Use "box", "default", a model name, or a callable that turns a list of texts into an array.',
    )


@lru_cache(maxsize=1)
def _light() -> LightEmbedder:
    """One for the whole process, so that what it has learnt about words serves every corpus."""
    return LightEmbedder()
