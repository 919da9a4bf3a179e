"""The folders and files that belong to ``ir``, and where git has a user's."""

from __future__ import annotations

import os
import re
from pathlib import Path

__all__ = [
    "cache_dir",
    "config_dir",
    "corpora_dir",
    "corpus_dir",
    "data_dir",
    "embeddings_cache_dir",
    "git_config_dir",
    "registry_path",
    "safe_name",
]

_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")


def _directory(variable: str, xdg: str, fallback: str) -> Path:
    chosen = os.environ.get(variable)
    if chosen:
        return Path(chosen).expanduser()
    return _base(xdg, fallback) / "ir"


def _base(xdg: str, fallback: str) -> Path:
    base = os.environ.get(xdg)
    return Path(base) if base else Path.home() / fallback


def config_dir() -> Path:
    """Settings and the registry: ``IR_CONFIG_DIR``, else ``$XDG_CONFIG_HOME/ir``."""
    return _directory("IR_CONFIG_DIR", "XDG_CONFIG_HOME", ".config")


def git_config_dir() -> Path:
    """What a user has set for git: ``$XDG_CONFIG_HOME/git``."""
    return _base("XDG_CONFIG_HOME", ".config") / "git"


def data_dir() -> Path:
    """Corpora: ``IR_DATA_DIR``, else ``$XDG_DATA_HOME/ir``."""
    return _directory("IR_DATA_DIR", "XDG_DATA_HOME", ".local/share")


def cache_dir() -> Path:
    """What can be made again, such as embeddings: ``IR_CACHE_DIR``, else ``$XDG_CACHE_HOME/ir``."""
    return _directory("IR_CACHE_DIR", "XDG_CACHE_HOME", ".cache")


def safe_name(name: str) -> str:
    """``name`` as one file name; two names that would collide stay apart by a short hash.

    >>> safe_name("notes"), safe_name("a/b") != safe_name("a_b"), "/" in safe_name("../x")
    ('notes', True, False)
    """
    safe = _UNSAFE.sub("_", name).strip(".")
    if safe == name and safe and len(safe) <= 120:
        return safe
    import hashlib  # loads a library that few names need

    return f"{safe[:100]}-{hashlib.blake2b(name.encode('utf-8', 'surrogatepass'), digest_size=4).hexdigest()}"


def corpora_dir() -> Path:
    """The folder of all corpora that are kept on this machine."""
    return data_dir() / "corpora"


def corpus_dir(name: str) -> Path:
    """The folder of a named corpus."""
    return corpora_dir() / safe_name(name)


def registry_path() -> Path:
    """The file that names the registered corpora."""
    return config_dir() / "registry.json"


def embeddings_cache_dir(model_id: str) -> Path:
    """The folder of one model's cached vectors."""
    return cache_dir() / "embeddings" / safe_name(model_id)
