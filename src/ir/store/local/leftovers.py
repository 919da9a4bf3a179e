"""What lies in the folder of a corpus and is of no use: generations of before, half-made files, room that is free."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ir.store.leftovers import Leftover
from ir.store.local.copying import BRANCHES
from ir.store.local.crash_points import reach
from ir.store.local.database import DATABASE
from ir.store.local.generation import FOLDER, Manifest
from ir.store.local.pin import GENERATION, is_read, unread

__all__ = ["files_left", "remains", "remove_files", "views_left"]

_READ = "a process is searching it"
#: A log is always there while a corpus is open; one of fewer bytes is not worth telling.
_LONG_LOG = 1_000_000
#: The view of a branch that nobody asked for this long is not kept.
_UNASKED_S = 7 * 86_400
_ASKED = "it was asked for lately; --compact removes it too"


def files_left(folder: Path, home: Path, current: str | None) -> list[tuple[Path, Leftover]]:
    """Files and folders that no version of the corpus needs; ``current`` is the generation that one does.

    Generations share files: each is counted once, and not where the current one has it.
    """
    counted = set(_sizes(home / current)) if current is not None else set()
    found = []
    for path in sorted(home.iterdir()) if home.is_dir() else []:
        if path.name == current:
            continue
        half_made = path.name.startswith(".")
        if not half_made and not GENERATION.fullmatch(path.name):
            continue
        sizes = {file: size for file, size in _sizes(path).items() if file not in counted}
        counted.update(sizes)
        kept = _READ if is_read(path) else ""
        what = "half-made generation" if half_made else "old generation"
        found.append((path, Leftover(what, path.name, sum(sizes.values()), kept)))
    for path in sorted(folder.glob(f".{DATABASE}-*")):
        found.append((path, Leftover("half-made database", path.name, path.stat().st_size)))
    return found


def views_left(folder: Path, *, compact: bool) -> list[tuple[Path, Leftover]]:
    """The views of branches; those that were asked for lately stay.

    Not if the corpus is compacted: a view is a copy, and has what was deleted since.
    """
    home, found = folder / BRANCHES, []
    for path in sorted(path for path in home.iterdir() if path.is_dir()) if home.is_dir() else []:
        try:
            lately = not path.name.startswith(".") and time.time() - path.stat().st_mtime < _UNASKED_S
        except OSError:
            continue
        kept = _ASKED if lately and not compact else ""
        if not kept and any(is_read(generation) for generation in (path / FOLDER).glob("*")):
            kept = _READ
        found.append((path, Leftover("branch", path.name, _own_size(path), kept)))
    return found


def _own_size(folder: Path) -> int:
    """What a folder takes up alone; a view shares files with its corpus."""
    total = 0
    for place, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                status = Path(place, name).lstat()
                total += status.st_size if status.st_nlink == 1 else 0
    return total


def remove_files(found: Iterable[tuple[Path, Leftover]]) -> list[Leftover]:
    """Remove what nobody reads; what became of each."""
    import shutil

    done = []
    for path, leftover in found:
        if leftover.kept and leftover.what == "branch":
            done.append(leftover)
            continue
        if not path.is_dir():
            path.unlink(missing_ok=True)
            done.append(leftover)
            continue
        with unread(path) as free:
            if free:
                shutil.rmtree(path, ignore_errors=True)
        kept = "" if free and not path.exists() else _READ if not free else "it cannot be removed"
        done.append(Leftover(leftover.what, leftover.name, leftover.bytes, kept))
    reach("generations:old-removed")
    return done


def remains(connection: sqlite3.Connection, manifest: Manifest | None, home: Path, log: Path) -> list[Leftover]:
    """What only writing the corpus anew gets rid of."""
    found = []
    (pages,) = connection.execute("PRAGMA freelist_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    if pages:
        found.append(Leftover("free pages", DATABASE, pages * size, compacting=True))
    dead = 0 if manifest is None else max(len(manifest.dead), manifest.lexical_dead)
    (waiting,) = connection.execute("SELECT count(*) FROM tombstones").fetchone()
    if manifest is not None and dead + waiting:
        share = (dead + waiting) / max(manifest.count, dead + waiting)
        size = int(share * sum(_sizes(home / manifest.name).values()))
        found.append(Leftover("deleted records", f"{dead + waiting} in {manifest.name}", size, compacting=True))
    if log.exists() and log.stat().st_size >= _LONG_LOG:
        found.append(Leftover("log", log.name, log.stat().st_size, compacting=True))
    return found


def _sizes(folder: Path) -> dict[tuple[int, int], int]:
    """The files below a folder, each by what it is rather than by its name."""
    sizes = {}
    for place, _, files in os.walk(folder):  # a build may remove some of it meanwhile
        for name in files:
            with suppress(OSError):
                status = Path(place, name).lstat()
                sizes[status.st_dev, status.st_ino] = status.st_size
    return sizes
