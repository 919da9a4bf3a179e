"""Small files that several processes may change: replaced whole, under a lock."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from ir.errors import CorpusBusy, StoreUnwritable
from ir.system import replace, sync_file, sync_folder, try_lock

__all__ = ["file_lock", "is_locked", "permissions_for", "write_atomic"]

_RETRY_S = 0.02


def write_atomic(path: Path, text: str, *, permissions: int | None = None) -> None:
    """Replace ``path`` by ``text``: a reader, or a crash at any instant, meets the old file or the new one.

    It keeps the permissions of the file that is there, unless others are given.
    """
    import tempfile

    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        target = path.resolve()  # a settings file kept elsewhere behind a link stays a link
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".new", dir=target.parent)
        temporary = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        sync_file(temporary)
        temporary.chmod(permissions_for(target) if permissions is None else permissions)
        replace(temporary, target)
        with suppress(OSError):  # some file systems cannot; the rename is then as durable as they make it
            sync_folder(target.parent)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink()
        raise _unwritable(path, error) from error


def permissions_for(path: Path) -> int:
    """Those of the file that is there, else those that any new file of this process gets."""
    with suppress(FileNotFoundError):
        return path.stat().st_mode & 0o777
    mask = os.umask(0o077)  # the only way to read it is to set it
    os.umask(mask)
    return 0o666 & ~mask


@contextmanager
def file_lock(path: Path, *, timeout_s: float = 10.0) -> Iterator[None]:
    """Hold the lock of ``path`` (a file beside it) so that read, change and write are one step for all processes."""
    lock = path.with_name(path.name + ".lock")
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        file = lock.open("a+b")
    except OSError as error:
        raise _unwritable(path, error) from error
    with file:
        deadline = time.monotonic() + timeout_s
        while not _try_lock(file):
            if time.monotonic() >= deadline:
                raise CorpusBusy(
                    f"Another process has held the lock on {path} for {timeout_s:g} s.",
                    remedy="Wait for it to end, then try again.",
                )
            time.sleep(_RETRY_S)
        yield


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock of ``path``; nothing is made to find out."""
    try:
        file = path.with_name(path.name + ".lock").open("r+b")
    except OSError:
        return False
    with file:
        return not _try_lock(file)


def _try_lock(file: IO[bytes]) -> bool:
    try:
        return try_lock(file.fileno())
    except OSError:
        return False


def _unwritable(path: Path, error: OSError) -> StoreUnwritable:
    return StoreUnwritable(
        f"Cannot write {path}: {error.strerror or error}.",
        remedy="Make its folder writable, or choose another with IR_CONFIG_DIR.",
    )
