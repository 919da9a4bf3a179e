"""A folder of files as a mapping that reads each file when it is asked for."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ir.errors import InvalidInput, SourceError
from ir.sources.decode import BINARY_SUFFIXES, NotText
from ir.sources.formats import format_of, missing_extra, parse
from ir.sources.skipped import Skipped
from ir.sources.walk import Found, displayable, walk

__all__ = ["MARKDOWN_FILES", "MAX_BYTES", "FileScope"]

MARKDOWN_FILES = r".*\.md$"
MAX_BYTES = 10_000_000
# A file changed again within the clock's grain would keep its stamp, so a young stamp proves nothing.
_RACY_NS = 2_000_000_000


class FileScope(Mapping[str, dict[str, Any]]):
    """The files of a folder: relative POSIX path → ``{"text", "path", "format", …}``.

    Iterating walks the folder anew. ``pattern`` is a regular expression searched for in the relative path; ``None``
    takes every text file. Ignore files are honoured, hidden files left out unless ``hidden``, and links never lead
    out of the root. A file that cannot be used is named in :meth:`skipped`; asking for it is a ``KeyError``.
    """

    def __init__(
        self,
        root: str | Path,
        *,
        pattern: str | None = MARKDOWN_FILES,
        exclude: Callable[[str], bool] | None = None,
        hidden: bool = False,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.root = Path(root).expanduser().absolute()
        try:
            self._pattern = None if pattern is None else re.compile(pattern)
        except re.error as error:
            raise InvalidInput(f"The pattern {pattern!r} is not a regular expression: {error}.") from error
        self._exclude = exclude
        self._hidden = hidden
        self._max_bytes = max_bytes
        self._found: dict[str, Found] | None = None
        self._skipped: dict[str, Skipped] = {}
        self._check_root()

    def __iter__(self) -> Iterator[str]:
        self._scan()
        return iter(list(self._known()))

    def __len__(self) -> int:
        return len(self._known())

    def __contains__(self, key: object) -> bool:
        return key in self._known()

    def __getitem__(self, key: str) -> dict[str, Any]:
        found = self._known().get(key)
        if found is None:
            # It may have come since the last walk.
            self._scan()
            found = self._known()[key]
        try:
            data = _read(found, self.root, self._max_bytes)
            raw, problem = parse(format_of(key), data)
        except FileNotFoundError:
            raise KeyError(key) from None
        except (NotText, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            self._skipped[key] = _unread(key, f"cannot be read: {reason}" if reason else str(error))
            raise KeyError(key) from None
        self._skipped.pop(key, None)
        if problem:
            what = f"{key} (front matter)"
            self._skipped[what] = Skipped(what, f"{problem}; the text is kept whole")
        raw.update(path=displayable(found.path), format=format_of(key))
        return raw

    def stat_signal(self, key: str) -> str | None:
        """Size and time of change as of the last walk, or ``None`` if they cannot be relied on."""
        found = self._known().get(key)
        if found is None or abs(time.time_ns() - found.mtime_ns) < _RACY_NS:
            return None
        return f"{found.size}:{found.mtime_ns}"

    def skipped(self) -> list[Skipped]:
        """What the last walk and the reads since could not use, and why."""
        self._known()
        return [skipped for _, skipped in sorted(self._skipped.items())]

    def enter(self, folder: str) -> bool:
        """Whether a folder is walked; subclasses narrow it."""
        return bool(folder)

    def wanted(self, path: str) -> bool:
        """Whether a file belongs to the corpus by its name."""
        if self._pattern is not None and not self._pattern.search(path):
            return False
        return self._exclude is None or not self._exclude(path)

    def _known(self) -> dict[str, Found]:
        if self._found is None:
            self._scan()
        return self._found or {}

    def _scan(self) -> None:
        self._check_root()
        problems: dict[str, Skipped] = {}
        found: dict[str, Found] = {}
        for item in self._candidates(problems):
            problem = self._unusable(item)
            if problem is None and item.id in found:
                problem = Skipped(item.id, "another file has the same name once it is written as text")
            if problem is None:
                found[item.id] = item
            else:
                problems[item.id] = problem
        # What a read found out stays known until the file is read again.
        kept = {key: skipped for key, skipped in self._skipped.items() if key in found}
        self._found, self._skipped = found, {**kept, **problems}

    def _candidates(self, problems: dict[str, Skipped]) -> Iterator[Found]:
        if self.root.is_file():
            info = self.root.stat()
            yield Found(displayable(self.root.name), os.fspath(self.root), info.st_size, info.st_mtime_ns)
            return

        def skip(id: str, reason: str, below: str | None = None) -> None:
            if id.endswith("/") or self.wanted(id):
                problems[id] = Skipped(id, reason, below)

        for item in walk(self.root, hidden=self._hidden, enter=self.enter, skip=skip):
            if self.wanted(item.id):
                yield item

    def _unusable(self, item: Found) -> Skipped | None:
        if item.size > self._max_bytes:
            return Skipped(item.id, f"larger than {self._max_bytes:,} bytes ({item.size:,})")
        kind = format_of(item.id)
        if kind in BINARY_SUFFIXES:
            return Skipped(item.id, f"binary file (.{kind})")
        extra = missing_extra(kind)
        return _unread(item.id, f"needs the extra {extra!r}: pip install 'ir-substrate[{extra}]'") if extra else None

    def _check_root(self) -> None:
        try:
            there = self.root.exists()
        except OSError as error:
            raise SourceError(
                f"{str(self.root)!r} cannot be read: {error.strerror}.", remedy="Check the permissions of its folders."
            ) from error
        if not there:
            raise SourceError(
                f"There is no file or folder {str(self.root)!r}.",
                remedy="Check the path; a corpus keeps what it holds until it is built from a folder that exists.",
            )


def _unread(id: str, reason: str) -> Skipped:
    """A file that may be as good as ever, but cannot be looked into here and now."""
    return Skipped(id, reason, f"{id}/")


def _read(found: Found, root: Path, limit: int) -> bytes:
    """The bytes of a regular file. Neither a pipe put in its place nor a link out of the root is opened."""
    with open(_open(found.path, root), "rb") as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise NotText("not a regular file")
        # Asking for the limit at once would reserve that much memory for every file.
        data = file.read(min(info.st_size, limit) + 1)
        if len(data) > info.st_size:
            data += file.read(max(0, limit + 1 - len(data)))
    if len(data) > limit:
        raise NotText(f"larger than {limit:,} bytes")
    return data


def _open(path: str, root: Path) -> int:
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
    target, real_root = os.path.realpath(path), os.path.realpath(root)
    if root.is_dir() and os.path.commonpath([target, real_root]) != real_root:
        raise NotText("link leads out of the folder")
    return os.open(target, flags)
