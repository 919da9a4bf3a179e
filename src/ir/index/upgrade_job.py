"""The one job that makes a corpus better: who does it, how far it is, and why it broke off."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.config import cache_dir
from ir.config.paths import jobs_dir
from ir.errors import IrError
from ir.index.upgrade import missing, run, upgrade_of
from ir.models.folders import is_path
from ir.protocols import WithCreation, WithPath
from ir.system import replace, try_lock, write_at_start

if TYPE_CHECKING:
    from ir.index.progress import Listener
    from ir.protocols import Store

__all__ = ["LOG", "Standing", "do", "folder_of", "is_running", "pace_of", "standing"]

#: What a job in the background has to say if it fails.
LOG = "upgrade.log"
_LOCK = "upgrade.lock"
_STATE = "upgrade.json"
_PACES = "paces.json"
#: A job that failed is not begun again by itself for so long.
_PAUSE_S = 600.0
_LOOKS, _LOOK_S = 3, 0.01


@dataclass(frozen=True)
class Standing:
    """How far a corpus is on its way to a better model: ``done`` of ``total`` records are read.

    ``running`` if somebody is at it now; ``seconds_left`` by the pace of before, if one is known. ``error`` is why the
    last one gave up, and ``paused`` if it is too early to try that again unasked.
    """

    to: str
    done: int
    total: int
    running: bool = False
    seconds_left: float | None = None
    error: str | None = None
    paused: bool = False

    @property
    def model(self) -> str:
        """The better model as it is called in a sentence: that in a folder of one's own by the folder's name."""
        return Path(self.to).name if is_path(self.to) else self.to

    @property
    def share(self) -> float:
        return self.done / self.total if self.total else 0.0

    def __str__(self) -> str:
        percent = f"{int(100 * self.share)} %"
        if self.running:
            return f"upgrading to {self.model}: {percent}{told_left(self.seconds_left, ', ')}"
        if self.error:
            return f"upgrade to {self.model} failed at {percent}: {self.error}"
        if self.done:
            return f"upgrade to {self.model} waiting: interrupted at {percent}, resumes with the next search"
        return f"upgrade to {self.model} waiting"

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "told": str(self)}


def told_left(seconds: float | None, before: str = "") -> str:
    """How long something takes still, in words; nothing if nobody knows.

    >>> told_left(41.2), told_left(260, ", "), told_left(None)
    ('about 41 s left', ', about 4 min left', '')
    """
    if seconds is None:
        return ""
    return f"{before}about {f'{seconds:.0f} s' if seconds < 120 else f'{seconds / 60:.0f} min'} left"


def folder_of(store: Store, name: str) -> Path:
    """Where the job of a corpus keeps its lock: in the corpus's own folder, if it has one."""
    return Path(store.path) if isinstance(store, WithPath) else jobs_dir(name)


def is_running(folder: Path) -> bool:
    """Whether somebody is at the job now, in whatever process."""
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDONLY)
    except OSError:
        return False
    try:
        return not try_lock(descriptor, shared=True)
    finally:
        os.close(descriptor)


def standing(store: Store, name: str) -> Standing | None:
    """How far a corpus is; ``None`` for one that has no better model to wait for."""
    upgrade = upgrade_of(store)
    if upgrade is None or upgrade.done:
        return None
    folder, total = folder_of(store, name), len(store)
    left = missing(store, upgrade)
    running, told = is_running(folder), _read(folder / _STATE)
    pace = told.get("pace") if running else None
    pace = pace or pace_of(upgrade.to)
    error = None if running else told.get("error")
    return Standing(
        upgrade.to,
        total - left,
        total,
        running,
        left / pace if pace else None,
        error,
        bool(error) and 0 <= time.time() - float(told.get("at", 0)) < _PAUSE_S,
    )


def do(store: Store, name: str, *, progress: Listener | None = None) -> int | None:
    """Do the job here and now, up to its end; how many vectors it made, ``None`` if somebody else is at it.

    The system lets go of its lock when the process ends, however it ends. A corpus that is removed meanwhile ends it.
    """
    folder = folder_of(store, name)
    if isinstance(store, WithCreation):
        store.creates = False
    with _only(folder, make=not isinstance(store, WithPath)) as lock:
        if lock is None:
            return None
        told = _Told(folder, upgrade_to(store))
        try:
            made = run(store, name, progress=progress, wanted=lock.in_place, kept=told.kept)
        except (IrError, OSError, MemoryError) as error:
            if not lock.in_place():
                return 0
            told.failed(error)
            raise
        told.ended()
        return made


def upgrade_to(store: Store) -> str:
    upgrade = upgrade_of(store)
    return "" if upgrade is None else upgrade.to


class _Lock:
    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    def in_place(self) -> bool:
        """Whether it still is the lock that others look at: its corpus may have been removed."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._path.stat())
        except OSError:
            return False


@contextmanager
def _only(folder: Path, *, make: bool) -> Iterator[_Lock | None]:
    """Be the only one in the block; ``None`` if somebody is already. A corpus that is gone is not made again."""
    if make:
        folder.mkdir(parents=True, exist_ok=True)
    path = folder / _LOCK
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        lock = _Lock(path, descriptor)
        if not _taken(descriptor) or not lock.in_place():
            yield None
            return
        write_at_start(descriptor, f"process {os.getpid()}".encode())
        yield lock
    finally:
        os.close(descriptor)


def _taken(descriptor: int) -> bool:
    """Take the lock; who only looks whether somebody has it is out of the way in a moment."""
    for _ in range(_LOOKS):
        if try_lock(descriptor):
            return True
        time.sleep(_LOOK_S)
    return False


class _Told:
    """What a job tells of itself: its pace while it is at it, and why it failed. Nothing depends on it."""

    def __init__(self, folder: Path, to: str) -> None:
        self._folder = folder
        self._to = to
        self._began: tuple[float, int] | None = None
        self._pace: float | None = None

    def kept(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self._began is None:
            self._began = (now, done)
        elif done > self._began[1]:
            self._pace = (done - self._began[1]) / max(now - self._began[0], 1e-3)
        else:
            self._began = (now, done)
        _write(self._folder / _STATE, {"to": self._to, "process": os.getpid(), "pace": self._pace})

    def failed(self, error: BaseException) -> None:
        said = error.message if isinstance(error, IrError) else f"{type(error).__name__}: {error}"
        _write(self._folder / _STATE, {"to": self._to, "error": said, "at": time.time()})

    def ended(self) -> None:
        with suppress(OSError):
            (self._folder / _STATE).unlink(missing_ok=True)
        if self._pace is not None:
            file = cache_dir() / _PACES
            _write(file, {**_read(file), self._to: round(self._pace, 2)}, make=True)


def pace_of(to: str) -> float | None:
    """How many texts a second a model read in the last job on this machine."""
    found = _read(cache_dir() / _PACES).get(to)
    return float(found) if isinstance(found, int | float) and found > 0 else None


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(file: Path, told: dict[str, Any], *, make: bool = False) -> None:
    """Keep what is told, whole or not at all; a full disk is no reason to give up the work itself."""
    aside = file.with_name(f".{file.name}-{os.getpid()}")
    with suppress(OSError):
        if make:
            file.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text(json.dumps(told), "utf-8")
        replace(aside, file)
