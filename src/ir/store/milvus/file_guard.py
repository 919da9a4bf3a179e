"""One process at a time for a Milvus file.

The core of Milvus guards its file with a lock of its own, but a process that did not get it deletes the lock file when
it ends, and the next one finds the file free. And the server of a process that was killed keeps the file until it
notices. So we hold a lock file that nobody deletes, and look at theirs before we start a server.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from ir.errors import CorpusBusy
from ir.system import is_record_locked, open_to_read, try_lock

__all__ = ["FileGuard"]

_POLL_SECONDS = 0.05


class FileGuard:
    """Holds a Milvus file for this process until it is released or the process ends, however it ends."""

    def __init__(self, file: Path, patience: float) -> None:
        deadline = time.monotonic() + patience
        self._descriptor = os.open(file.with_name(f".{file.name}.ir-lock"), os.O_RDWR | os.O_CREAT, 0o666)
        try:
            while not try_lock(self._descriptor) or _is_served(file.with_name(f".{file.name}.lock")):
                if time.monotonic() > deadline:
                    raise CorpusBusy(
                        f"The file {file} cannot be opened: another process has it open.",
                        remedy="One process at a time uses such a file; use a Milvus server to share a corpus.",
                    )
                time.sleep(_POLL_SECONDS)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Let other processes have it."""
        os.close(self._descriptor)


def _is_served(lock: Path) -> bool:
    """Whether another process's server holds Milvus's own lock file."""
    try:
        descriptor = open_to_read(lock)
    except FileNotFoundError:
        return False
    try:
        return is_record_locked(descriptor)
    finally:
        os.close(descriptor)
