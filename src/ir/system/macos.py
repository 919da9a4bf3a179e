"""Where macOS differs from Linux. Written and reviewed; not run by us."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

if sys.platform != "darwin":
    raise ImportError("this is the way of macOS")

import fcntl

__all__ = ["SCHEDULER", "physical_cores", "settings_folder", "sync_file", "sync_folder"]

SCHEDULER = "launchd"


def sync_file(path: Path) -> None:
    """``fsync`` hands the data to the drive, which may keep it in memory; ``F_FULLFSYNC`` waits for the drive."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        except OSError:  # a network drive, or another file system than its own
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


sync_folder = sync_file


def settings_folder(*, native: bool = True) -> Path:
    """Programs made for the Mac have a folder of their own kind; those from elsewhere often keep to ``~/.config``."""
    if native:
        return Path.home() / "Library" / "Application Support"
    chosen = os.environ.get("XDG_CONFIG_HOME")
    return Path(chosen) if chosen else Path.home() / ".config"


def physical_cores() -> int:
    """There is no set of processors that a process may use; ``hw.physicalcpu`` counts them."""
    count = ctypes.c_int(0)
    size = ctypes.c_size_t(ctypes.sizeof(count))
    failed = ctypes.CDLL(None).sysctlbyname(b"hw.physicalcpu", ctypes.byref(count), ctypes.byref(size), None, 0)
    return count.value if not failed and count.value > 0 else max(1, (os.cpu_count() or 1) // 2)
