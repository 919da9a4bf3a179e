"""Which embedding models are known, whether they are on this machine, and who loads them.

A *loader* is a function ``name -> embedder``; it returns ``None`` for a name that it does not know and raises
:class:`~ir.errors.EmbedderUnavailable` for a model that it knows but cannot find. Loaders are named as
``"module:function"`` and imported on use, so that no model's library is loaded before it is needed.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from ir.errors import EmbedderUnavailable, InvalidInput
from ir.models import folders
from ir.protocols import Embedder

__all__ = [
    "ALWAYS_THERE",
    "BETTER",
    "FAST",
    "Loader",
    "best_available",
    "better_embedder",
    "canonical_name",
    "check_name",
    "forget_models",
    "has_own_loaders",
    "is_always_there",
    "is_installed",
    "known_names",
    "load_model",
    "model_dir",
    "register_loader",
]

Loader = Callable[[str], "Embedder | None"]

DEFAULT_MODEL = "minilm"
LIGHT = "light"
BOX = "box"
STATIC = "static"
#: The quick embedder that every installation has. It answers for a folder that was never built, until a better model
#: has read all of it.
FAST = BOX
#: The model that is worth waiting for: chosen by ``python -m bench.upgrade``.
BETTER = f"{DEFAULT_MODEL}-int8"
#: These need no file beside the package and nothing but numpy.
ALWAYS_THERE = (LIGHT, BOX)
_ALIASES = {
    "default": DEFAULT_MODEL,
    "local": DEFAULT_MODEL,
    "all-minilm-l6-v2": DEFAULT_MODEL,
    "sentence-transformers/all-minilm-l6-v2": DEFAULT_MODEL,
    "hashing": LIGHT,
    "wordllama": STATIC,
}
_OPENVINO = f"{DEFAULT_MODEL}-openvino"
_KNOWN = (BOX, LIGHT, DEFAULT_MODEL, f"{DEFAULT_MODEL}-int8", _OPENVINO, STATIC)
#: What must be installed for a model to run.
_PACKAGES = {
    DEFAULT_MODEL: ("onnxruntime", "tokenizers"),
    _OPENVINO: ("openvino", "tokenizers"),
    STATIC: ("tokenizers",),
}
_REMOTE = "ir.embed.remote:load"
_loaders: list[str | Loader] = [_REMOTE, "ir.embed.box:load", "ir.embed.static:load", "ir.embed.onnx:load"]
_OWN_LOADERS = frozenset(_loaders)
#: Who keeps the models that were opened last, with what they run on.
_KEEPING = ("ir.embed.static", "ir.embed.onnx", "ir.models.encoder")
_loading = threading.RLock()


def canonical_name(name: str) -> str:
    """The one name of a model that has several.

    >>> canonical_name("default"), canonical_name("Hashing"), canonical_name("org/Model")
    ('minilm', 'light', 'org/Model')
    """
    stripped = name.strip()
    lowered = stripped.lower()
    return _ALIASES.get(lowered, lowered if lowered in _KNOWN else stripped)


def register_loader(loader: str | Loader) -> None:
    """Ask ``loader`` for models too; the one registered last is asked first."""
    if loader not in _loaders:
        _loaders.insert(0, loader)


def has_own_loaders() -> bool:
    """Whether somebody registered a loader: it may know any name."""
    return bool(set(_loaders) - _OWN_LOADERS)


def model_dir(name: str) -> Path:
    """The folder for the files of a model; its other forms are made of the same files."""
    return folders.model_dir(canonical_name(name))


def is_installed(name: str) -> bool:
    """Whether the folder of a model holds weights and a tokenizer."""
    return folders.is_complete(model_dir(folders.base_and_form(canonical_name(name))[0]))


def is_always_there(name: str) -> bool:
    """Whether a name is of an embedder that every installation has.

    >>> is_always_there("box"), is_always_there("minilm")
    (True, False)
    """
    from ir.embed.light import LightEmbedder

    return canonical_name(name) in (*ALWAYS_THERE, LightEmbedder.id)


def known_names() -> list[str]:
    """The short names of models, and the names of all that were pulled to this machine."""
    from ir.models.install import installed

    return list(dict.fromkeys(("default", *_KNOWN, *(model.name for model in installed()))))


def best_available() -> str:
    """The best embedder that works here and now without fetching anything: ``minilm``, ``static`` or ``box``.

    ``minilm-openvino`` stands in for ``minilm`` where OpenVINO is installed and onnxruntime is not.
    """
    for name, packages in _PACKAGES.items():
        if is_installed(name) and all(find_spec(package) for package in packages):
            return name
    return FAST


def better_embedder() -> str | None:
    """The model that takes over from :data:`FAST` once it has read everything; ``None`` where none is here."""
    best = best_available()
    if best == DEFAULT_MODEL and is_installed(BETTER):
        return BETTER
    return None if best == FAST else best


def load_model(name: str) -> Embedder:
    """The embedder of a model that is on this machine; threads that ask at once load it once."""
    model = canonical_name(name)
    with _loading:
        for loader in _loaders:
            if loader == _REMOTE and ":" not in model:
                continue  # importing the HTTP client takes longer than loading a table
            embedder = _resolved(loader)(model)
            if embedder is not None:
                return embedder
    raise unavailable(model)


def forget_models() -> None:
    """Let go of the models that loaders keep for the next who asks; whoever holds one keeps it."""
    for module in _KEEPING:
        keeping = sys.modules.get(module)
        if keeping is not None:
            keeping._opened.cache_clear()


def unavailable(name: str) -> EmbedderUnavailable:
    """The error for a model that cannot be loaded, with the command that helps."""
    always = f'Or use what is there: embedder="{FAST}" always works.'
    if name in _KNOWN or folders.is_path(name):
        return EmbedderUnavailable(
            f"The embedding model {name!r} is not on this machine.", remedy=f"{folders.how_to_get(name)} {always}"
        )
    return EmbedderUnavailable(
        f"No embedding model {name!r} is known on this machine.",
        remedy=f"{_nearest(name)}Get the default model with: ir models pull {DEFAULT_MODEL}. {always}",
    )


def check_name(name: str) -> None:
    """Refuse a name that no embedder can have; models that are not here yet, folders and servers pass."""
    model = canonical_name(name)
    known = model in _KNOWN or is_always_there(model) or is_installed(model)
    if known or folders.is_path(model) or ":" in model or has_own_loaders():
        return
    raise InvalidInput(
        f"There is no embedder called {name!r}.",
        remedy=f"{_nearest(name)}Known are {', '.join(known_names())}; else a folder, openai:MODEL, ollama:MODEL or "
        "a model of the hub as org/model.",
    )


def _nearest(name: str) -> str:
    from difflib import get_close_matches  # only needed for the message

    near = get_close_matches(name.lower(), [*known_names(), *_ALIASES], n=1)
    return f"Did you mean {near[0]!r}? " if near else ""


def _resolved(loader: str | Loader) -> Loader:
    if not isinstance(loader, str):
        return loader
    module, _, function = loader.partition(":")
    return cast(Loader, getattr(import_module(module), function))
