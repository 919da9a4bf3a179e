"""Which embedding models are known, whether they are on this machine, and who loads them.

A *loader* is a function ``name -> embedder``; it returns ``None`` for a name that it does not know and raises
:class:`~ir.errors.EmbedderUnavailable` for a model that it knows but cannot find. Loaders are named as
``"module:function"`` and imported on use, so that no model's library is loaded before it is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from ir.errors import EmbedderUnavailable
from ir.models import places
from ir.protocols import Embedder

__all__ = [
    "Loader",
    "best_available",
    "canonical_name",
    "is_installed",
    "load_model",
    "model_dir",
    "register_loader",
]

Loader = Callable[[str], "Embedder | None"]

DEFAULT_MODEL = "minilm"
LIGHT = "light"
STATIC = "static"
_ALIASES = {
    "default": DEFAULT_MODEL,
    "local": DEFAULT_MODEL,
    "all-minilm-l6-v2": DEFAULT_MODEL,
    "sentence-transformers/all-minilm-l6-v2": DEFAULT_MODEL,
    "hashing": LIGHT,
    "wordllama": STATIC,
}
_OPENVINO = f"{DEFAULT_MODEL}-openvino"
_KNOWN = (LIGHT, DEFAULT_MODEL, f"{DEFAULT_MODEL}-int8", _OPENVINO, STATIC)
#: What must be installed for a model to run.
_PACKAGES = {
    DEFAULT_MODEL: ("onnxruntime", "tokenizers"),
    _OPENVINO: ("openvino", "tokenizers"),
    STATIC: ("tokenizers",),
}
_REMOTE = "ir.embed.remote:load"
_loaders: list[str | Loader] = [_REMOTE, "ir.embed.static:load", "ir.embed.onnx:load"]


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


def model_dir(name: str) -> Path:
    """The folder for the files of a model; its other forms are made of the same files."""
    return places.model_dir(canonical_name(name))


def is_installed(name: str) -> bool:
    """Whether the folder of a model holds weights and a tokenizer."""
    return places.is_complete(model_dir(places.base_and_form(canonical_name(name))[0]))


def best_available() -> str:
    """The best embedder that works here and now without fetching anything: ``minilm``, ``static`` or ``light``.

    ``minilm-openvino`` stands in for ``minilm`` where OpenVINO is installed and onnxruntime is not.
    """
    for name, packages in _PACKAGES.items():
        if is_installed(name) and all(find_spec(package) for package in packages):
            return name
    return LIGHT


def load_model(name: str) -> Embedder:
    """The embedder of a model that is on this machine."""
    model = canonical_name(name)
    for loader in _loaders:
        if loader == _REMOTE and ":" not in model:
            continue  # what speaks HTTP takes longer to import than a table takes to load
        embedder = _resolved(loader)(model)
        if embedder is not None:
            return embedder
    raise unavailable(model)


def unavailable(name: str) -> EmbedderUnavailable:
    """The error for a model that cannot be loaded, with the command that helps."""
    always = 'embedder="light" always works.'
    if name in _KNOWN:
        message = f"The embedding model {name!r} is not on this machine."
        return EmbedderUnavailable(
            message, remedy=f"Get it with: ir models pull {name}. Or use what is there: {always}"
        )
    if "/" in name:
        return EmbedderUnavailable(
            f"There is no model {name!r} on this machine.",
            remedy=f"Get it from the hub with: ir models pull {name}. If it is a folder, check its path.",
        )
    from difflib import get_close_matches  # for those who err

    near = get_close_matches(name.lower(), [*_KNOWN, *_ALIASES], n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return EmbedderUnavailable(
        f"No embedding model {name!r} is known on this machine.",
        remedy=f"{hint}Get the default model with: ir models pull {DEFAULT_MODEL}. Or use what is there: {always}",
    )


def _resolved(loader: str | Loader) -> Loader:
    if not isinstance(loader, str):
        return loader
    module, _, function = loader.partition(":")
    return cast(Loader, getattr(import_module(module), function))
