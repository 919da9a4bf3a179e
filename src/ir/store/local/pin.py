"""Which generations are being read: whoever opens one holds its folder, across processes, until it lets go of it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ir.system import open_folder, try_lock

__all__ = ["GENERATION", "Pin", "is_read", "unread"]

#: How the folder of a generation is called.
GENERATION = re.compile(r"\d{8,}-[0-9a-f]{8}")


class Pin:
    """A shared lock on a folder, for as long as this object lives; the system lets go of it when the process ends.

    ``FileNotFoundError`` if the folder is gone, or going. A file system that knows no locks gives none.
    """

    def __init__(self, folder: Path) -> None:
        self._descriptor = open_folder(folder)
        if self._descriptor is not None and not _locked(self._descriptor, shared=True):
            raise FileNotFoundError(folder)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:  # at the very end, modules are empty
        descriptor = getattr(self, "_descriptor", None)
        if descriptor is not None:
            close(descriptor)


@contextmanager
def unread(folder: Path) -> Iterator[bool]:
    """Whether nobody reads a folder; if so, nobody begins to in the block, in which it may be removed."""
    try:
        descriptor = open_folder(folder)
    except OSError:
        descriptor = None
    if descriptor is None:
        yield True
        return
    try:
        yield _locked(descriptor, shared=False)
    finally:
        os.close(descriptor)


def _locked(descriptor: int, *, shared: bool) -> bool:
    try:
        return try_lock(descriptor, shared=shared)
    except OSError:  # a file system that knows no locks
        return True


def is_read(folder: Path) -> bool:
    """Whether somebody has it open."""
    with unread(folder) as free:
        return not free
