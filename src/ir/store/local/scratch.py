"""Folders for what one process alone needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ir.errors import StoreUnwritable
from ir.store.local.faults import FULL

__all__ = ["scratch"]


@contextmanager
def scratch() -> Iterator[Path]:
    """A new temporary folder, which stays if the block ends well. That its disk is full is not said of the corpus."""
    import shutil
    import tempfile

    home = None
    try:
        home = Path(tempfile.mkdtemp(prefix="ir-"))
        yield home
    except BaseException as error:
        if home is not None:
            shutil.rmtree(home, ignore_errors=True)
        if isinstance(error, OSError) and (home is None or error.errno in FULL):
            raise _unusable(tempfile.tempdir) from error
        raise


def _unusable(folder: object) -> StoreUnwritable:
    return StoreUnwritable(
        f"The folder for temporary files ({folder or 'none was found'}) is full or cannot be written, and what is "
        "searched has to be prepared there; nothing was changed.",
        remedy="Free some space there (or point TMPDIR elsewhere) and run it again.",
    )
