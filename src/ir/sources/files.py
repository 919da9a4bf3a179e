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

from ir.errors import InvalidInput, IrError, SourceError
from ir.secrets.files import REASON as SECRET
from ir.secrets.files import holds_secrets, may_hold_secrets
from ir.sources.decode import BINARY_SUFFIXES, SNIFFED, NotText, looks_binary
from ir.sources.formats import format_of, missing_extra, parse
from ir.sources.generated import HINT, POINTER, generated_by_content, generated_by_name, is_pointer
from ir.sources.skipped import Skipped
from ir.sources.walk import Found, displayable, walk
from ir.system import open_to_read

__all__ = ["MARKDOWN_FILES", "MAX_BYTES", "FileScope"]

MARKDOWN_FILES = r".*\.md$"
MAX_BYTES = 10_000_000
# A file that changes twice within one tick of the clock keeps its time stamp, so a recent stamp proves nothing.
_RACY_NS = 2_000_000_000


class FileScope(Mapping[str, dict[str, Any]]):
    """The files of a folder: relative POSIX path → ``{"text", "path", "format", …}``.

    Iterating walks the folder anew. ``pattern`` is a regular expression searched for in the relative path; ``None``
    takes every text file. Ignore files are honoured, hidden files left out unless ``hidden``, and links never lead
    out of the root. Files that may hold secrets are left out unless ``include_secrets``, lock files, minified and
    generated ones unless ``include_generated``; where these are not given, the settings of those names decide. A file
    that cannot be used is named in :meth:`skipped`; asking for it is a ``KeyError``.
    """

    def __init__(
        self,
        root: str | Path,
        *,
        pattern: str | None = MARKDOWN_FILES,
        exclude: Callable[[str], bool] | None = None,
        hidden: bool = False,
        max_bytes: int = MAX_BYTES,
        include_secrets: bool | None = None,
        include_generated: bool | None = None,
    ) -> None:
        self.root = Path(root).expanduser().absolute()
        try:
            self._pattern = None if pattern is None else re.compile(pattern)
        except re.error as error:
            raise InvalidInput(f"The pattern {pattern!r} is not a regular expression: {error}.") from error
        self._exclude = exclude
        self._hidden = hidden
        self._max_bytes = max_bytes
        self._include_secrets = _setting("include_secrets") if include_secrets is None else include_secrets
        self._include_generated = _setting("include_generated") if include_generated is None else include_generated
        self._found: dict[str, Found] | None = None
        self._skipped: dict[str, Skipped] = {}
        self._remarks: dict[str, str] = {}
        self.passed_over = 0
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
            # It may have appeared since the last walk.
            self._scan()
            found = self._known()[key]
        try:
            data = self._bytes(found)
            refused = self._refusal(found, data)
            if refused:
                self._skipped[key] = Skipped(key, refused, refused=True)
                raise KeyError(key)
            raw, problem = parse(format_of(key), data)
        except FileNotFoundError:
            raise KeyError(key) from None
        except (NotText, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            self._skipped[key] = self._unread(key, f"cannot be read: {reason}" if reason else str(error))
            raise KeyError(key) from None
        self._skipped.pop(key, None)
        if problem:
            what = f"{key} (front matter)"
            self._skipped[what] = Skipped(what, f"{problem}; the text is kept whole")
        self._remarks.pop(key, None)
        if "encoding" in raw:
            self._remarks[key] = f"read as {raw['encoding']}"
        raw.update(path=displayable(found.path), format=format_of(key))
        return raw

    def stat_signal(self, key: str) -> str | None:
        """Size and time of change as of the last walk, or ``None`` if they cannot be relied on."""
        found = self._known().get(key)
        if found is None or abs(time.time_ns() - found.mtime_ns) < _RACY_NS:
            return None
        # Files that were taken without a check for secrets are checked once that is turned on again.
        secret, generated = self._include_secrets, self._include_generated
        return f"{found.size}:{found.mtime_ns}{':any' if secret else ''}{':generated' if generated else ''}"

    def turned_away(self, key: str) -> bool:
        """Whether the beginning of a file shows that it will not be taken."""
        found = self._known().get(key)
        if found is None:
            return False
        try:
            head = self._bytes(found, SNIFFED)
        except (NotText, OSError):
            return False
        kind = format_of(key)
        binary = kind != "pdf" and looks_binary(head)
        return binary or is_pointer(head) or self._is_generated(found, head) is not None

    def remarks(self) -> list[tuple[str, str]]:
        """What is to be known of files that were read since the last walk: the encoding that had to be found out."""
        return sorted(self._remarks.items())

    def size_of(self, key: str) -> int | None:
        """How large a file was at the last walk."""
        found = self._known().get(key)
        return None if found is None else found.size

    def skipped(self) -> list[Skipped]:
        """What the last walk and the reads since could not use, and why."""
        self._known()
        return [skipped for _, skipped in sorted(self._skipped.items())]

    def why_empty(self) -> str | None:
        """Why there is nothing here, as far as the last walk knows; ``None`` if there is something."""
        if self._known():
            return None
        if not self.passed_over:
            return f"there is no text file in {self.root}, or all are hidden or ignored"
        rules = [] if self._pattern is None else [f"the pattern {self._pattern.pattern!r}"]
        rules += [] if self._exclude is None else ["exclude"]
        files = "1 file" if self.passed_over == 1 else f"{self.passed_over:,} files"
        return f"{' and '.join(rules)} {'leave' if len(rules) > 1 else 'leaves'} nothing of {files} in {self.root}"

    def revision(self) -> dict[str, Any] | None:
        """What git has checked out here, and whether files differ from it; ``None`` outside of a repository."""
        from ir.sources.git import revision_of

        return revision_of(self.root)

    def rules(self) -> list[Any] | None:
        """What decides which files are taken, in JSON's types; ``None`` if a function decides too."""
        if self._exclude is not None:
            return None
        pattern = None if self._pattern is None else self._pattern.pattern
        flags = [self._hidden, self._include_secrets, self._include_generated]
        return [str(self.root), pattern, self._max_bytes, *flags]

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
        self.passed_over = 0
        for item in self._candidates(problems):
            problem = self._unusable(item)
            if problem is None and item.id in found:
                problem = Skipped(item.id, "another file has the same name once it is written as text")
            if problem is None:
                found[item.id] = item
            else:
                problems[item.id] = problem
        # Keep what reading found out until the file is read again.
        kept = {key: skipped for key, skipped in self._skipped.items() if key in found}
        self._found, self._skipped = found, {**kept, **problems}
        self._remarks = {key: remark for key, remark in self._remarks.items() if key in found}

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
            else:
                self.passed_over += 1

    def _unusable(self, item: Found) -> Skipped | None:
        if item.size > self._max_bytes:
            return Skipped(item.id, f"larger than {self._max_bytes:,} bytes ({item.size:,})")
        if not self._include_secrets and self._is_secret(item):
            return Skipped(item.id, SECRET)
        named = None if self._include_generated or self._is_root(item) else generated_by_name(item.id)
        if named:
            return Skipped(item.id, f"{named}; {HINT}")
        kind = format_of(item.id)
        if kind in BINARY_SUFFIXES:
            return Skipped(item.id, f"binary file (.{kind})")
        extra = missing_extra(kind)
        need = f"needs the extra {extra!r}: pip install 'ir-substrate[{extra}]'"
        return self._unread(item.id, need) if extra else None

    def _bytes(self, item: Found, head: int | None = None) -> bytes:
        """What is in a file, or how it begins."""
        return _read(item, self.root, self._max_bytes, head)

    def _unread(self, id: str, reason: str) -> Skipped:
        """A file that may be fine, but cannot be read right now."""
        return Skipped(id, reason, f"{id}/")

    def _refusal(self, item: Found, data: bytes) -> str | None:
        """Why a file is not taken, now that it is read."""
        if not self._include_secrets and holds_secrets(item.path, data):
            return SECRET
        if is_pointer(data):
            return POINTER
        return self._is_generated(item, data)

    def _is_generated(self, item: Found, head: bytes) -> str | None:
        if self._include_generated or self._is_root(item):
            return None
        reason = generated_by_content(format_of(item.id), head)
        return None if reason is None else f"{reason}; {HINT}"

    def _is_root(self, item: Found) -> bool:
        """Whether it is the one file that the user named."""
        return item.path == os.fspath(self.root)

    def _is_secret(self, item: Found) -> bool:
        """Whether a file may hold secrets; only few have to be looked into for that."""
        by_name = may_hold_secrets(item.path)
        if by_name is not None:
            return by_name
        try:
            return holds_secrets(item.path, self._bytes(item))
        except (NotText, OSError):  # reading it will report the reason
            return False

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


def _setting(name: str) -> bool:
    from ir.config import Settings

    try:
        return bool(Settings.load()[name])
    except IrError:  # if the settings cannot be read, the protection stays on
        return False


def _read(found: Found, root: Path, limit: int, head: int | None = None) -> bytes:
    """The bytes of a regular file, or its first ``head``. Neither a pipe in its place nor a link out is opened."""
    with open(_open(found.path, root), "rb") as file:
        info = os.fstat(file.fileno())
        if not stat.S_ISREG(info.st_mode):
            raise NotText("not a regular file")
        if head is not None:
            return file.read(head)
        # Asking for the limit at once would reserve that much memory for every file.
        data = file.read(min(info.st_size, limit) + 1)
        if len(data) > info.st_size:
            data += file.read(max(0, limit + 1 - len(data)))
    if len(data) > limit:
        raise NotText(f"larger than {limit:,} bytes")
    return data


def _open(path: str, root: Path) -> int:
    try:
        return open_to_read(path, links=False)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
    target, real_root = os.path.realpath(path), os.path.realpath(root)
    if root.is_dir() and os.path.commonpath([target, real_root]) != real_root:
        raise NotText("link leads out of the folder")
    return open_to_read(target, links=False)
