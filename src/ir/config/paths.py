"""The folders and files that belong to ``ir``, and where git has a user's."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ir.config.workspace import workspace_folder
from ir.system import this_user

__all__ = [
    "cache_dir",
    "cases_dir",
    "config_dir",
    "corpora_dir",
    "corpus_dir",
    "data_dir",
    "embeddings_cache_dir",
    "git_config_dir",
    "jobs_dir",
    "moved_folders",
    "registry_path",
    "runs_dir",
    "runtime_dir",
    "safe_name",
    "vocabularies_dir",
]

#: The variables that move our folders.
_MOVING = (
    *("IR_CONFIG_DIR", "IR_DATA_DIR", "IR_CACHE_DIR", "IR_RUNTIME_DIR"),
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"),
)
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


def moved_folders() -> dict[str, str]:
    """The variables that move our folders here, for whoever starts ``ir`` without a shell's settings."""
    moved = {name: os.environ[name] for name in _MOVING if os.environ.get(name)}
    return {name: str(Path(value).expanduser().absolute()) for name, value in moved.items()}


def runtime_dir() -> Path:
    """Where running processes of this user meet: ``IR_RUNTIME_DIR``, else ``$XDG_RUNTIME_DIR/ir``, else below
    the folder for temporary files. Short, because the address of a socket has to be."""
    chosen, own = os.environ.get("IR_RUNTIME_DIR"), os.environ.get("XDG_RUNTIME_DIR")
    if chosen:
        return Path(chosen).expanduser()
    return Path(own) / "ir" if own else Path(os.environ.get("TMPDIR") or "/tmp") / f"ir-{this_user()}"


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
    """The folder of all corpora of the workspace that are kept on this machine."""
    return workspace_folder(data_dir()) / "corpora"


def corpus_dir(name: str) -> Path:
    """The folder of a named corpus."""
    return corpora_dir() / safe_name(name)


def vocabularies_dir() -> Path:
    """The folder of all vocabularies of the workspace."""
    return workspace_folder(data_dir()) / "vocabularies"


def cases_dir() -> Path:
    """The folder of the sets of cases that were judged in the workspace."""
    return workspace_folder(data_dir()) / "cases"


def runs_dir() -> Path:
    """The folder of the evaluation runs that were kept in the workspace."""
    return workspace_folder(data_dir()) / "runs"


def jobs_dir(name: str) -> Path:
    """Where it is kept how far work on a corpus is that a server keeps; one on this machine has its own folder."""
    return workspace_folder(data_dir()) / "jobs" / safe_name(name)


def registry_path() -> Path:
    """The file that names the registered corpora of the workspace."""
    return workspace_folder(config_dir()) / "registry.json"


def embeddings_cache_dir(model_id: str) -> Path:
    """The folder of one model's cached vectors in the workspace."""
    return workspace_folder(cache_dir()) / "embeddings" / safe_name(model_id)
