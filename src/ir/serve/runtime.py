"""Where the processes of one user meet: a private folder with a socket and two locks for each home of ``ir``."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ir.config.paths import cache_dir, config_dir, data_dir, runtime_dir
from ir.errors import StoreUnwritable
from ir.system import is_own, try_lock

__all__ = ["Runtime", "code_time", "held_lock", "running_home", "runtime_of_home"]

#: What the address of a local socket may be long on every system.
_LONGEST_ADDRESS = 100


class Runtime(NamedTuple):
    """The files of one home's daemon. Whoever holds ``lock`` is the daemon; whoever holds ``starting`` may start it."""

    home: str
    address: Path
    lock: Path
    starting: Path
    log: Path


def runtime_of_home() -> Runtime:
    """The files for the configuration, data and cache folders that this process uses; one daemon serves each such
    set, whatever the workspace. The folder is made, and refused unless it is private and ours."""
    from hashlib import blake2b

    folders = [str(folder.absolute()) for folder in (config_dir(), data_dir(), cache_dir())]
    home = blake2b("\0".join(folders).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    folder = runtime_dir().absolute()
    _make_private(folder)
    address = folder / f"{home}.sock"
    if len(os.fsencode(address)) > _LONGEST_ADDRESS:
        raise StoreUnwritable(
            f"The address {address} is too long for a socket.", remedy="Choose a shorter folder with IR_RUNTIME_DIR."
        )
    return Runtime(home, address, folder / f"{home}.lock", folder / f"{home}.starting", cache_dir() / "daemon.log")


def running_home() -> bool:
    """Whether there seems to be a daemon; nothing is made to find out."""
    try:
        return runtime_dir().is_dir() and runtime_of_home().address.exists()
    except (OSError, StoreUnwritable):
        return False


def _make_private(folder: Path) -> None:
    """Make the folder for its owner alone. One that is another's, or open to others, could hold their socket."""
    try:
        with suppress(FileExistsError):
            folder.mkdir(parents=True, mode=0o700)
        found = folder.lstat()
    except OSError as error:
        raise StoreUnwritable(
            f"Cannot make {folder}: {error.strerror or error}.", remedy="Choose another folder with IR_RUNTIME_DIR."
        ) from error
    if not stat.S_ISDIR(found.st_mode) or not is_own(found):
        raise StoreUnwritable(
            f"{folder} is no folder of yours.", remedy="Remove it, or choose another with IR_RUNTIME_DIR."
        )
    if stat.S_IMODE(found.st_mode) & 0o077:
        folder.chmod(0o700)


def held_lock(path: Path) -> int | None:
    """Take the lock of a file; its descriptor, which keeps it until it is closed, or ``None`` if another has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    if try_lock(descriptor):
        return descriptor
    os.close(descriptor)
    return None


def code_time() -> int:
    """When the newest file of this package was written: of two processes of one version, which has newer code."""
    newest = 0
    folders = [str(Path(__file__).parents[1])]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    newest = max(newest, entry.stat().st_mtime_ns)
                elif "." not in entry.name and not entry.name.startswith("_") and entry.is_dir():
                    folders.append(entry.path)
    return newest
