"""How does text become a vector?

:func:`make_embedder` is the door. An embedder is a callable ``(texts, *, input_type="document") -> float32 array`` with
one row for each text; it carries an ``id``, by which an index is pinned to it, and a ``fingerprint`` of its vectors.
"""

from ir.embed.cache import VectorCache
from ir.embed.cached import CachedEmbedder
from ir.embed.custom import CallableEmbedder
from ir.embed.light import LightEmbedder
from ir.embed.models import BETTER, FAST, best_available, better_embedder, is_installed, model_dir, register_loader
from ir.embed.resolve import make_embedder

__all__ = [
    "BETTER",
    "FAST",
    "CachedEmbedder",
    "CallableEmbedder",
    "LightEmbedder",
    "VectorCache",
    "best_available",
    "better_embedder",
    "is_installed",
    "make_embedder",
    "model_dir",
    "register_loader",
]
