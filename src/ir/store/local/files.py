"""Files that are trusted only while they are what was written."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ir.system import sync_file, sync_folder

__all__ = ["Stamp", "is_intact", "link", "link_tree", "stamps", "sync_tree"]

#: Size, modification time in ns, checksum.
Stamp = list[int]


def stamps(folder: Path, known: Mapping[str, Stamp]) -> dict[str, Stamp]:
    """The stamp of every file below ``folder``; a checksum in ``known`` is taken over from an unchanged file."""
    out = {}
    for path in _files(folder):
        name = path.relative_to(folder).as_posix()
        status = path.stat()
        held = known.get(name)
        unchanged = held is not None and held[:2] == [status.st_size, status.st_mtime_ns]
        checksum = held[2] if held is not None and unchanged else _checksum(path)
        out[name] = [status.st_size, status.st_mtime_ns, checksum]
    return out


def is_intact(folder: Path, expected: Mapping[str, Stamp]) -> bool:
    """Whether every file is there and as it was written.

    Equal size and modification time are taken as proof; otherwise (after a restore, say) the checksum decides.
    """
    for name, (size, modified, checksum) in expected.items():
        path = folder / name
        try:
            status = path.stat()
            if status.st_size != size:
                return False
            if status.st_mtime_ns != modified and _checksum(path) != checksum:
                return False
        except OSError:
            return False
    return True


def link_tree(source: Path, target: Path) -> None:
    """Make the files of ``source`` appear in ``target`` without copying them, where the file system can."""
    for path in _files(source):
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        link(path, copy)


def link(source: Path, target: Path) -> None:
    """Make a file appear as ``target`` too; by name only, where that is on another disk."""
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        if source.stat().st_dev != target.parent.stat().st_dev:
            with suppress(OSError):  # Windows lets only some users make links
                target.symlink_to(source.absolute())
                return
        # A file system without links: what stays in the corpus must not depend on a file that goes one day.
        import shutil

        shutil.copy2(source, target)


def sync_tree(folder: Path, known: Mapping[str, Stamp]) -> None:
    """Put every file on disk that is not ``known`` to be there, and the folders' entries."""
    for path in _files(folder):
        if path.relative_to(folder).as_posix() not in known:
            sync_file(path)
    for parent, _, _ in os.walk(folder):
        sync_folder(Path(parent))


def _files(folder: Path) -> list[Path]:
    """Every file that counts; lock files do not."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(".lock"))


def _checksum(path: Path) -> int:
    value = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            value = zlib.crc32(block, value)
    return value
