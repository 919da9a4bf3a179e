"""Reading what a pointer points at, without trusting it."""

from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Payload", "bundle_of", "cut", "read_pointer"]

#: How many files of a bundle are listed, and how many folder entries are looked at for them.
MAX_BUNDLE_FILES = 200
_SKILL_FILE = "skill.md"


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
    """The text of a regular file, read no further than ``max_chars`` can need.

    Devices, pipes and folders are refused without waiting on them.
    """
    try:
        # Without blocking, since a pipe nobody writes to would hold the caller for ever.
        descriptor = os.open(Path(pointer).expanduser(), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
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
        return Payload(None, f"unreadable: {pointer}: not UTF-8 text")
    if "\x00" in text:
        return Payload(None, f"unreadable: {pointer}: not text")
    if not complete or len(text) > max_chars:
        return Payload(text, f"cut to the first {max_chars:,} characters of {status.st_size:,} bytes")
    return Payload(text)


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
