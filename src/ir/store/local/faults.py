"""What the operating system and SQLite complain about, said in terms of a corpus."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Any

from ir.errors import CorpusBusy, CorpusCorrupt, CorpusNotBuilt, IrError, StoreUnwritable

__all__ = ["FULL", "busy", "corrupt", "full_disk", "parsed", "removed", "translated"]

#: The system's numbers for a disk or a share of it that is full.
FULL = {errno.ENOSPC, errno.EDQUOT}
#: "Could not decode" is said of a text that is none any more, "constraint" where a key is there that was not found.
_DAMAGE = (
    "not a database",
    "malformed",
    "corrupt",
    "could not decode",
    "no such column",
    "no such table",
    "constraint",
)
#: How faiss, tantivy and numpy say that a disk is full; none of them gives the number of the error.
_NO_SPACE = ("no space left", "(os error 28)", "quota exceeded", "(os error 122)", "requested and")
#: With less than this on a disk, a writer that failed and does not say why has run out of space.
_NEARLY_NOTHING = 65_536
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


def parsed(text: str) -> Any:
    """What was written as JSON. SQLite does not notice when a byte of it has changed."""
    try:
        return json.loads(text)
    except (TypeError, ValueError) as error:
        raise sqlite3.DatabaseError(f"malformed: {error}") from error


def full_disk(error: BaseException, folder: Path) -> OSError | None:
    """The system's error for a full disk, if that is what a library meant; ``folder`` is where it wrote.

    To be asked before anything is cleaned up: a thread that was killed for it only says that it was.
    """
    if not isinstance(error, (OSError, RuntimeError, ValueError)) or getattr(error, "errno", None) is not None:
        return None
    import shutil  # takes longer to import than to open a corpus with

    text = str(error).lower()
    if any(sign in text for sign in _NO_SPACE) or shutil.disk_usage(folder).free < _NEARLY_NOTHING:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return None


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
    if error.errno in FULL:
        return _full(path)
    if error.errno == errno.ENOTDIR:
        return _no_folder(path)
    return _read_only(path) if error.errno in _FORBIDDEN else None


def _of_sqlite(error: sqlite3.Error, path: Path) -> IrError | None:
    text = str(error).lower()
    if "full" in text or "disk i/o" in text:
        return _full(path)
    if "readonly" in text or "read-only" in text or "unable to open" in text:
        return _read_only(path)
    if "locked" in text or "busy" in text:
        return busy(path)
    if any(sign in text for sign in _DAMAGE):
        return corrupt(path)
    return None


def corrupt(path: Path) -> CorpusCorrupt:
    return CorpusCorrupt(
        f"The database of the corpus at {path} is damaged.",
        remedy="Nothing was changed. Restore the folder from a backup, or remove it and build the corpus again.",
    )


def removed(path: Path) -> CorpusNotBuilt:
    return CorpusNotBuilt(
        f"The corpus at {path} was removed after it was opened here.",
        remedy="Build it again, or open another one.",
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


def _no_folder(path: Path) -> StoreUnwritable:
    return StoreUnwritable(
        f"There cannot be a corpus at {path}: something above it is a file.",
        remedy="Point IR_DATA_DIR to a folder of yours.",
    )
