"""Linux, and what every Unix shares with it."""

from __future__ import annotations

import mmap
import os
import select
import socket
import struct
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

if sys.platform == "win32":
    raise ImportError("this is the way of Unix")

import fcntl

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

#: Whether files can be renamed and deleted while they are open or mapped; whoever has them open reads on.
OPEN_FILES_CAN_MOVE = True
#: Whether processes can meet at a socket in a folder that only its owner can enter.
PRIVATE_SOCKETS = True
#: What runs commands at set times here; ``None`` for one that takes no text file.
SCHEDULER = "cron"
#: Held, so that nobody warns of a process that is meant to go on.
_apart: list[int] = []


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Take the advisory lock of an open file, unless somebody has it.

    The system lets go of it when the file is closed or the process ends, however it ends. ``shared`` is for a look:
    many may hold that at once, and none while there is a holder.
    """
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_record_locked(descriptor: int) -> bool:
    """Whether another process has locked an open file in the other way that Unix knows, by records."""
    try:
        os.lockf(descriptor, os.F_TEST, 0)
    except OSError:
        return True
    return False


def write_at_start(descriptor: int, data: bytes) -> None:
    """Let an open file hold ``data`` and nothing else."""
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, data, 0)


def sync_file(path: Path) -> None:
    """Put what was written to a file on disk; back when a power cut could not undo it."""
    _sync(path)


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on disk: what was made, renamed or deleted in it."""
    _sync(folder)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace(source: Path, target: Path) -> None:
    """Let ``source`` take the name ``target`` in one step; a reader finds the old file or the new one."""
    source.replace(target)


def open_to_read(path: str | Path, *, links: bool = True) -> int:
    """Open a file; a pipe that nobody writes to does not block, and without ``links`` a link is ``ELOOP``."""
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK | (0 if links else os.O_NOFOLLOW))


def open_folder(folder: Path) -> int | None:
    """Open a folder, to take its lock; ``None`` where a folder cannot be opened."""
    return os.open(folder, os.O_RDONLY | os.O_CLOEXEC)


def is_own(status: os.stat_result) -> bool:
    """Whether a file belongs to the user of this process."""
    return status.st_uid == os.getuid()


def this_user() -> int:
    """The number of the user whose process this is."""
    return os.getuid()


def peer_user(connection: socket.socket) -> int | None:
    """The user of the process at the other end of a local socket; ``None`` where the system does not tell."""
    if sys.platform == "linux":
        told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", told)[1])
    local, credentials = 0, 1  # SOL_LOCAL and LOCAL_PEERCRED, which give a version, the user and his groups
    try:
        told = connection.getsockopt(local, credentials, 4 + 4 + 4 + 16 * 4)
        return int(struct.unpack_from("II", told)[1])
    except (OSError, struct.error):
        return None


def private_socket() -> socket.socket:
    """A socket for processes of this machine to meet at in a folder."""
    return socket.socket(socket.AF_UNIX)


def start_apart(command: Sequence[str], environment: Mapping[str, str], log: Path, *, append: bool = False) -> int:
    """Start a process that goes on when this one, or its terminal, ends; its number. What it says goes to ``log``."""
    _apart[:] = [one for one in _apart if exit_code_of(one) is None]
    write = os.O_WRONLY | os.O_CREAT | (os.O_APPEND if append else os.O_TRUNC)
    streams = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(log), write, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    process = os.posix_spawn(command[0], list(command), dict(environment), file_actions=streams, setsid=True)
    _apart.append(process)
    return process


def step_back() -> None:
    """Let this thread step back behind others, where a thread can; else nothing, as the whole process would."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


def has_news(connection: int) -> bool:
    """Whether something can be read from a socket, its end included."""
    poll = select.poll()  # select itself knows no descriptor above 1023
    poll.register(connection, select.POLLIN | select.POLLHUP | select.POLLERR)
    return bool(poll.poll(0))


def is_running(process: int) -> bool:
    """Whether a process of this machine is alive."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return True


def exit_code_of(process: int) -> int | None:
    """How a process that this one started has ended; ``None`` while it runs, 0 if somebody else has asked before."""
    try:
        ended, status = os.waitpid(process, os.WNOHANG)
    except ChildProcessError:
        return 0
    return os.waitstatus_to_exitcode(status) if ended else None


def lower_priority() -> None:
    """Let everything else on this machine go first."""
    os.nice(19)


def settings_folder(*, native: bool = True) -> Path:
    """Where programs keep what a user has set; not ``native`` for those that go by the ways of Unix on a Mac too."""
    chosen = os.environ.get("XDG_CONFIG_HOME")
    return Path(chosen) if chosen else Path.home() / ".config"


def physical_cores() -> int:
    """The processors that this process may use, without their second threads."""
    if sys.platform != "linux":
        return max(1, (os.cpu_count() or 1) // 2)
    usable = os.sched_getaffinity(0)
    cores = set()
    for number in usable:
        folder = Path(f"/sys/devices/system/cpu/cpu{number}/topology")
        try:
            cores.add(((folder / "physical_package_id").read_text(), (folder / "core_id").read_text()))
        except OSError:
            return max(1, len(usable))
    return max(1, len(cores))


def let_go(held: mmap.mmap) -> None:
    """Take the pages of a mapped file out of this process; what is needed again is still in the system's memory."""
    if hasattr(mmap, "MADV_DONTNEED"):
        held.madvise(mmap.MADV_DONTNEED)
