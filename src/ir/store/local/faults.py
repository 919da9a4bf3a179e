"""What the operating system and SQLite complain about, said in terms of a corpus."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path
from types import TracebackType

from ir.errors import CorpusBusy, CorpusCorrupt, IrError, StoreUnwritable

__all__ = ["translated"]

_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


class translated:  # noqa: N801
    """A block in which low-level failures become errors that say what to do next. Entered by every search."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, IrError):
            return
        known = None
        if isinstance(error, sqlite3.Error):
            known = _of_sqlite(error, self._path)
        elif isinstance(error, OSError):
            known = _of_system(error, self._path)
        if known is not None:
            raise known from error


def _of_system(error: OSError, path: Path) -> IrError | None:
    if error.errno in _FULL:
        return _full(path)
    return _read_only(path) if error.errno in _FORBIDDEN else None


def _of_sqlite(error: sqlite3.Error, path: Path) -> IrError | None:
    text = str(error).lower()
    if "full" in text or "disk i/o" in text:
        return _full(path)
    if "readonly" in text or "read-only" in text or "unable to open" in text:
        return _read_only(path)
    if "locked" in text or "busy" in text:
        return busy(path)
    if "not a database" in text or "malformed" in text or "corrupt" in text:
        return corrupt(path)
    return None


def corrupt(path: Path) -> CorpusCorrupt:
    return CorpusCorrupt(
        f"The database of the corpus at {path} is damaged.",
        remedy="Nothing was changed. Restore the folder from a backup, or remove it and build the corpus again.",
    )


def busy(path: Path, holder: str = "") -> CorpusBusy:
    who = f" ({holder})" if holder else ""
    return CorpusBusy(
        f"The corpus at {path} is being written by another process{who}.",
        remedy="Wait until it is done, then try again. What was built before can be searched meanwhile.",
    )


def _full(path: Path) -> StoreUnwritable:
    return StoreUnwritable(
        f"The disk of the corpus at {path} is full or failing; nothing was changed.",
        remedy="Free some space (or point IR_DATA_DIR elsewhere) and run it again.",
    )


def _read_only(path: Path) -> StoreUnwritable:
    return StoreUnwritable(
        f"The corpus at {path} cannot be written: the folder is read-only or not yours.",
        remedy="Change its permissions, or point IR_DATA_DIR to a folder of yours.",
    )
