"""Taking a corpus off the disk, whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from contextlib import suppress
from pathlib import Path

from ir.errors import StoreUnwritable
from ir.store.local.database import DATABASE

__all__ = ["move_folder", "remove_folder"]


def remove_folder(folder: Path) -> None:
    """Remove a corpus's folder in one step: out of sight by a rename first, so that no half of it is ever met.

    If it cannot be removed, it is where it was. What is derived from its database is made again where that is missing.
    """
    doomed = folder.with_name(f".{folder.name}.removed")
    try:
        _check_writable(folder)
        shutil.rmtree(doomed, ignore_errors=True)
        folder.rename(doomed)
        shutil.rmtree(doomed)
    except OSError as error:
        if (doomed / DATABASE).is_file():
            with suppress(OSError):
                doomed.rename(folder)
        raise StoreUnwritable(
            f"The corpus in {folder} cannot be removed: {error.strerror or error}.",
            remedy="Check who may write to that folder and to those in it.",
        ) from error


def move_folder(folder: Path, new: Path) -> None:
    """Give a corpus's folder another name, in one step."""
    try:
        _check_writable(folder)
        if new.exists() and not (new / DATABASE).is_file():
            shutil.rmtree(new)
        folder.rename(new)
    except OSError as error:
        raise StoreUnwritable(
            f"The corpus in {folder} cannot be moved to {new}: {error.strerror or error}.",
            remedy="Check who may write to that folder and to those in it.",
        ) from error


def _check_writable(folder: Path) -> None:
    """The folder itself can be renamed by whom it does not let remove a thing."""
    for place, _, _ in os.walk(folder):
        if not os.access(place, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, f"{os.strerror(errno.EACCES)}: {place}")
