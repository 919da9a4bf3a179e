"""Folders for what one process alone needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ir.errors import StoreUnwritable
from ir.store.local.faults import FULL
from ir.store.local.pin import GENERATION, is_read
from ir.system import is_own

__all__ = ["abandoned", "scratch"]

_PREFIX = "ir-"
#: What was made within so many seconds may be about to be used.
_YOUNG = 86_400


@contextmanager
def scratch() -> Iterator[Path]:
    """A new temporary folder, which stays if the block ends well. That its disk is full is not said of the corpus."""
    import shutil
    import tempfile

    home = None
    try:
        home = Path(tempfile.mkdtemp(prefix=_PREFIX))
        yield home
    except BaseException as error:
        if home is not None:
            shutil.rmtree(home, ignore_errors=True)
        if isinstance(error, OSError) and (home is None or error.errno in FULL):
            raise _unusable(tempfile.tempdir) from error
        raise


def abandoned() -> list[Path]:
    """Such folders of processes that ended without removing them: a day old, of this user, and read by nobody."""
    import tempfile
    import time

    found = []
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            status = folder.lstat()
            inside = [path for path in folder.iterdir() if GENERATION.fullmatch(path.name.removeprefix("."))]
            old = status.st_mtime < time.time() - _YOUNG and is_own(status)
            if old and inside and not folder.is_symlink() and not any(is_read(path) for path in inside):
                found.append(folder)
    return found


def _unusable(folder: object) -> StoreUnwritable:
    return StoreUnwritable(
        f"The folder for temporary files ({folder or 'none was found'}) is full or cannot be written, and what is "
        "searched has to be prepared there; nothing was changed.",
        remedy="Free some space there (or point TMPDIR elsewhere) and run it again.",
    )
