"""Reading what a pointer points at, without trusting it."""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path
from typing import Any, NamedTuple

from ir.system import open_to_read

__all__ = ["Payload", "bundle_of", "cut", "read_pointer"]

#: How many files of a bundle are listed, and how many folder entries are looked at for them.
MAX_BUNDLE_FILES = 200
_SKILL_FILE = "skill.md"
#: What stands for a folder, the first of these that is there; capitals make no difference.
_READMES = ("readme.md", "readme.rst", "readme.txt", "readme")


class Payload(NamedTuple):
    """A text, or ``None``, and what there is to say about it."""

    text: str | None
    note: str | None = None

    @classmethod
    def of(cls, value: Any, what: str) -> Payload:
        """A payload from a foreign value: text, or bytes that are UTF-8."""
        if isinstance(value, str):
            return cls(value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            try:
                return cls(bytes(value).decode("utf-8-sig"))
            except UnicodeDecodeError:
                return cls(None, f"unreadable: {what} is not UTF-8 text")
        return cls(None, f"unreadable: {what} is {type(value).__name__}, not text")


def cut(payload: Payload, max_chars: int) -> Payload:
    """The payload with at most ``max_chars`` characters, and a note if that took something away."""
    if payload.text is None or len(payload.text) <= max_chars:
        return payload
    return Payload(payload.text[:max_chars], payload.note or f"cut to the first {max_chars:,} characters")


def read_pointer(pointer: str, max_chars: int) -> Payload:
    """The text of a regular file, or of the README of a folder, read no further than ``max_chars`` can need.

    Devices and pipes are refused without waiting on them.
    """
    try:
        path = Path(pointer).expanduser()
        if path.is_dir():
            readme = _readme_of(path)
            if readme is None:
                return Payload(None, f"unreadable: {pointer}: a folder without a README")
            path = readme
        # Without blocking, since a pipe nobody writes to would hold the caller for ever.
        descriptor = open_to_read(path)
    except (OSError, ValueError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return Payload(None, f"unreadable: {pointer}: {reason}")
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return Payload(None, f"unreadable: {pointer}: not a regular file")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(4 * max_chars + 8)
    except OSError as error:
        return Payload(None, f"unreadable: {pointer}: {error.strerror or error}")
    finally:
        os.close(descriptor)
    complete = len(data) >= status.st_size
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(data, final=complete)
    except UnicodeDecodeError:
        found = _in_one_byte(data)
        if found is None:
            return Payload(None, f"unreadable: {pointer}: not UTF-8 text")
        text = found
    if "\x00" in text:
        return Payload(None, f"unreadable: {pointer}: not text")
    if not complete or len(text) > max_chars:
        return Payload(text, f"cut to the first {max_chars:,} characters of {status.st_size:,} bytes")
    return Payload(text)


def _in_one_byte(data: bytes) -> str | None:
    """The text of a file in an older encoding, as the index read it; ``None`` if it is no text."""
    from ir.sources.decode import NotText, decode_text

    try:
        return None if b"\0" in data else decode_text(data)
    except NotText:
        return None


def _readme_of(folder: Path) -> Path | None:
    """The README of a folder: a file of its own, not a link to somewhere else."""
    found: dict[str, Path] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.lower() in _READMES and entry.is_file(follow_symlinks=False):
                found[entry.name.lower()] = Path(entry.path)
    return next((found[name] for name in _READMES if name in found), None)


def bundle_of(pointer: str) -> list[dict[str, Any]]:
    """Names (relative, with ``/``) and sizes of the files beside a SKILL.md; nothing for other files.

    Hidden files and links are left out, and no more than ``MAX_BUNDLE_FILES`` are listed.
    """
    try:
        main = Path(pointer).expanduser()
    except RuntimeError:
        return []
    if main.name.lower() != _SKILL_FILE:
        return []
    folder = main.parent
    files: list[dict[str, Any]] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(parent, name)
            if path == main or name.startswith("."):
                continue
            try:
                status = path.lstat()
            except OSError:
                continue
            if not stat.S_ISREG(status.st_mode):
                continue
            if len(files) == MAX_BUNDLE_FILES:
                return files
            files.append({"name": path.relative_to(folder).as_posix(), "size": status.st_size})
    return files
