"""Letting tantivy read a folder that it cannot lock."""

from __future__ import annotations

import os
import weakref
from pathlib import Path

from ir.store.local.scratch import scratch

__all__ = ["ReadableFolder", "readable_copy"]


class ReadableFolder:
    """A folder to read from; a temporary one is gone with this object."""

    def __init__(self, path: Path, *, temporary: bool = False) -> None:
        self.path = path
        if temporary:
            import shutil

            weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)


def readable_copy(folder: Path) -> ReadableFolder:
    """The folder itself or, where no lock file can be made in it, a folder of links to its files.

    tantivy takes a lock to open an index even for reading.
    """
    if os.access(folder, os.W_OK):
        return ReadableFolder(folder)
    with scratch() as links:
        for entry in folder.iterdir():
            if not entry.name.endswith(".lock"):
                (links / entry.name).symlink_to(entry.absolute())
    return ReadableFolder(links, temporary=True)
