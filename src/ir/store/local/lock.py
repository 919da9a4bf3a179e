"""One writer at a time, across processes and threads."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from ir.store.local.faults import busy, removed
from ir.system import try_lock, write_at_start

__all__ = ["WriterLock"]

_POLL_SECONDS = 0.05


class WriterLock:
    """An advisory lock on a file; the system lets go of it when the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "writer.lock"
        #: Whether the folder is made if it is not there.
        self.makes_folder = True
        self._threads = threading.Lock()
        self._descriptor: int | None = None

    def acquire(self, timeout: float) -> None:
        """Take the lock, waiting up to ``timeout`` seconds, else raise ``CorpusBusy`` naming the holder."""
        deadline = time.monotonic() + timeout
        if not self._threads.acquire(timeout=max(timeout, 0)):
            raise busy(self._folder, "this process")
        try:
            self._descriptor = self._locked(deadline)
        except BaseException:
            self._threads.release()
            raise

    def release(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
        self._threads.release()

    def holder(self) -> str | None:
        """Who holds the lock now; ``None`` if nobody does."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY)
        except OSError:
            return None
        try:
            free = try_lock(descriptor, shared=True)
        finally:
            os.close(descriptor)
        return None if free else self._holder() or "unknown"

    def _locked(self, deadline: float) -> int:
        while True:
            if self.makes_folder:
                self._folder.mkdir(parents=True, exist_ok=True)
            try:
                descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
            except FileNotFoundError:
                if not self.makes_folder:
                    raise removed(self._folder) from None
                continue  # the folder was removed since it was made
            try:
                self._wait_for(descriptor, deadline)
                if self._is_in_place(descriptor):
                    write_at_start(descriptor, f"process {os.getpid()}".encode())
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)

    def _wait_for(self, descriptor: int, deadline: float) -> None:
        while not try_lock(descriptor):
            if time.monotonic() >= deadline:
                raise busy(self._folder, self._holder())
            time.sleep(_POLL_SECONDS)

    def _is_in_place(self, descriptor: int) -> bool:
        """Whether the file that was locked is still the one that others lock: the corpus may have been removed."""
        try:
            return os.path.samestat(os.fstat(descriptor), self._path.stat())
        except FileNotFoundError:
            return False

    def _holder(self) -> str:
        try:
            return self._path.read_text(encoding="utf-8").strip()
        except OSError:
            return ""
