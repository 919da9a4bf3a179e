"""Every file below a folder that is not ignored, hidden or outside of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from ir.config.paths import corpora_dir
from ir.errors import SourceError
from ir.sources.ignore import IgnoreRules
from ir.sources.skipped import Skip
from ir.surrogates import storable

__all__ = ["Found", "displayable", "walk"]

_NEVER = """
    .git .hg .svn .bzr .jj node_modules __pycache__ .venv .tox .nox .mypy_cache .pytest_cache .ruff_cache
    .hypothesis .ipynb_checkpoints .eggs .idea .vs .gradle .terraform .DS_Store
"""
#: Folders that hold nothing a person wrote, whatever the ignore files say.
NEVER = frozenset(_NEVER.split())


class Found(NamedTuple):
    """A regular file: its id (relative, POSIX), its path, and what a cheap change test needs."""

    id: str
    path: str
    size: int
    mtime_ns: int


def displayable(name: str) -> str:
    """A file name as text that can be stored: bytes that are not UTF-8 are written as ``\\xNN``."""
    if name.isascii():
        return name
    try:
        return os.fsencode(name).decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # half a character, which is no name of a file but may be asked for
        return storable(name)


def walk(root: Path, *, hidden: bool, enter: Callable[[str], bool] | None, skip: Skip) -> Iterator[Found]:
    """The files below ``root`` in order of their names, folder by folder; ``skip(id, reason)`` hears what is wrong.

    Links are followed to files inside the root only. A link to a folder is never followed: inside the root that
    folder is walked under its own name.
    """
    real_root = os.path.realpath(root)
    corpora = os.path.realpath(corpora_dir()).removeprefix(f"{real_root}/") + "/"
    pending: list[tuple[str, str, IgnoreRules]] = [(os.fspath(root), "", IgnoreRules.above_root(Path(real_root)))]
    while pending:
        folder, prefix, rules = pending.pop()
        if prefix == corpora:  # an index that indexed itself would change with every build
            continue
        entries = _entries(folder, prefix, skip)
        if any(entry.name == "pyvenv.cfg" for entry in entries):
            continue
        rules = rules.inside(Path(folder), prefix, (entry.name for entry in entries))
        below = []
        for entry in entries:
            name = entry.name
            if name in NEVER or (not hidden and name.startswith(".")):
                continue
            path = prefix + name
            if _is_folder(entry):
                if not rules.ignores(path, folder=True) and (enter is None or enter(path)):
                    below.append((entry.path, f"{path}/", rules))
            elif not rules.ignores(path, folder=False):
                found = _file(entry, path, real_root, skip)
                if found is not None:
                    yield found
        pending.extend(reversed(below))


def _entries(folder: str, prefix: str, skip: Skip) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as listing:
            return sorted(listing, key=lambda entry: entry.name)
    except FileNotFoundError as error:
        if prefix:
            return []
        raise SourceError(f"There is no folder {folder!r}.", remedy="Check the path.") from error
    except OSError as error:
        if prefix:
            skip(displayable(prefix), f"folder cannot be read: {error.strerror}", displayable(prefix))
            return []
        raise SourceError(
            f"The folder {folder!r} cannot be read: {error.strerror}.", remedy="Check its permissions."
        ) from error


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _file(entry: os.DirEntry[str], path: str, real_root: str, skip: Skip) -> Found | None:
    name = displayable(path)
    try:
        info = entry.stat()
        if entry.is_symlink():
            folder = stat.S_ISDIR(info.st_mode)
            outside = os.path.commonpath([os.path.realpath(entry.path), real_root]) != real_root
            if outside:
                skip(f"{name}/" if folder else name, "link leads out of the folder")
            if outside or folder:
                return None
    except FileNotFoundError:
        if entry.is_symlink():
            skip(name, "link leads nowhere")
        return None
    except OSError as error:
        # Its type is unknown. It may be a folder, so what was indexed from it stays.
        skip(name, f"cannot be read: {error.strerror}", f"{name}/")
        return None
    if not stat.S_ISREG(info.st_mode):
        skip(name, "not a regular file")
        return None
    return Found(name, entry.path, info.st_size, info.st_mtime_ns)
