"""Where Windows differs. Written and reviewed; not run by us but for what needs no Windows (``tests/system``).

Files cannot be renamed or deleted while they are open or mapped, so what is old may have to stay until the next build;
locks are binding, so that the locked byte lies behind everything that is read; a folder cannot be put on disk, and need
not be, because NTFS keeps a journal of names.
"""

from __future__ import annotations

import errno
import mmap
import os
import select
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

if sys.platform != "win32":
    raise ImportError("this is the way of Windows")

import ctypes
import msvcrt

__all__ = [
    "OPEN_FILES_CAN_MOVE",
    "PRIVATE_SOCKETS",
    "SCHEDULER",
    "exit_code_of",
    "has_news",
    "is_own",
    "is_record_locked",
    "is_running",
    "let_go",
    "lower_priority",
    "open_folder",
    "open_to_read",
    "peer_user",
    "physical_cores",
    "private_socket",
    "replace",
    "settings_folder",
    "start_apart",
    "step_back",
    "sync_file",
    "sync_folder",
    "this_user",
    "try_lock",
    "write_at_start",
]

OPEN_FILES_CAN_MOVE = False
PRIVATE_SOCKETS = False
SCHEDULER = None
#: Far behind the few bytes that a lock file holds, so that who has the lock can be read.
_LOCKED_BYTE = 1 << 30
#: There are no shared locks; two that look at the same time get out of each other's way.
_LOOKS = 5
_LOOK_SECONDS = 0.01
#: Scanners and indexers open new files for a moment.
_REPLACE_SECONDS = 2.0
_STILL_ACTIVE = 259
_QUERY_LIMITED_INFORMATION = 0x1000
_IDLE_PRIORITY = 0x40
_apart: list[Any] = []


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    for attempt in range(_LOOKS if shared else 1):
        if attempt:
            time.sleep(_LOOK_SECONDS)
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EDEADLK):
                raise
            continue
        return True
    return False


def is_record_locked(descriptor: int) -> bool:
    return False


def write_at_start(descriptor: int, data: bytes) -> None:
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, data)


def sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_BINARY)  # a file that is only read cannot be flushed
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Nothing: a folder cannot be opened, and the journal of the file system has its names."""


def replace(source: Path, target: Path) -> None:
    deadline = time.monotonic() + _REPLACE_SECONDS
    while True:
        try:
            source.replace(target)
            return
        except PermissionError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_LOOK_SECONDS)


def open_to_read(path: str | Path, *, links: bool = True) -> int:
    # A junction is no link to Python, but a folder, which cannot be opened as a file.
    if not links and os.path.islink(path):  # noqa: PTH114 - asked for every file of a corpus
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return os.open(path, os.O_RDONLY | os.O_BINARY)


def open_folder(folder: Path) -> int | None:
    return None  # nor need it be: what somebody has open in it cannot be removed


def is_own(status: os.stat_result) -> bool:
    return True  # temporary files are in a folder of the user's


def this_user() -> int:
    return 0  # users have no numbers; what is private is so by its folder


def peer_user(connection: socket.socket) -> int | None:
    return None


def step_back() -> None:
    """Nothing: only the whole process could step back."""


def has_news(connection: int) -> bool:
    readable, _, failed = select.select([connection], [], [connection], 0)
    return bool(readable or failed)


def is_running(process: int) -> bool:
    # os.kill with 0 would send Ctrl-C.
    kernel = ctypes.windll.kernel32
    handle = kernel.OpenProcess(_QUERY_LIMITED_INFORMATION, False, process)
    if not handle:
        return bool(kernel.GetLastError() == 5)  # access denied: another user's
    try:
        code = ctypes.c_ulong(0)
        return bool(kernel.GetExitCodeProcess(handle, ctypes.byref(code))) and code.value == _STILL_ACTIVE
    finally:
        kernel.CloseHandle(handle)


def private_socket() -> socket.socket:
    raise OSError(errno.ENOTSUP, "processes do not meet at local sockets here")


def start_apart(command: Sequence[str], environment: Mapping[str, str], log: Path, *, append: bool = False) -> int:
    import subprocess  # few commands need it

    with log.open("ab" if append else "wb") as errors:
        process = subprocess.Popen(
            list(command),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            creationflags=subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW,
        )
    _apart[:] = [*(one for one in _apart if one.poll() is None), process]
    return process.pid


def exit_code_of(process: int) -> int | None:
    return None if is_running(process) else 0


def lower_priority() -> None:
    kernel = ctypes.windll.kernel32
    kernel.SetPriorityClass(kernel.GetCurrentProcess(), _IDLE_PRIORITY)


def settings_folder(*, native: bool = True) -> Path:
    chosen = os.environ.get("APPDATA")
    return Path(chosen) if chosen else Path.home() / "AppData" / "Roaming"


def physical_cores() -> int:
    return max(1, (os.cpu_count() or 1) // 2)


def let_go(held: mmap.mmap) -> None:
    """Nothing: the system takes the pages of mapped files when it needs them."""
