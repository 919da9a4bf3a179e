"""Which file git's settings name as the one with a user's own rules for every repository."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ir.config import git_config_dir

__all__ = ["excludes_file"]

_LARGEST = 1_000_000
_SECTION = re.compile(r'\s*\[([-.A-Za-z0-9]+)(\s+"(?:[^"\\]|\\.)*")?\]')
_ENTRY = re.compile(r"\s*([A-Za-z][-A-Za-z0-9]*)\s*=(.*)")
_VALUE = re.compile(r'([^\\"#;]+)|\\(.)|(["#;])')


def excludes_file(repository: Path, top: Path) -> Path | None:
    """``core.excludesFile`` of the user, or of the repository whose files lie in ``top``; else git's default for it.

    What cannot be read or understood says nothing.
    """
    try:
        own = git_config_dir()
        file, read = own / "ignore", set[Path]()
        for settings in (own / "config", Path.home() / ".gitconfig", repository / "config"):
            for name, value in _entries(settings, read):
                if name == "core.excludesfile":
                    file = top / Path(value).expanduser()
        # Reading a pipe could block forever.
        return file if file.is_file() else None
    except (OSError, ValueError, RuntimeError):  # the last if there is no home
        return None


def _entries(file: Path, read: set[Path]) -> Iterator[tuple[str, str]]:
    """The settings in a file and those that it includes, as ``("core.excludesfile", "~/rules")``, in their order.

    What was ``read`` before is passed over: files may include themselves.
    """
    place = file.resolve()
    if place in read or not place.is_file():
        return
    read.add(place)
    section = ""
    for line in _text(file).replace("\\\n", "").split("\n"):
        header = _SECTION.match(line)
        if header is not None:
            # A section such as [remote "origin"] holds other names than these.
            section = "" if header[2] else header[1].lower()
        entry = _ENTRY.match(line, header.end() if header is not None else 0)
        if entry is None:
            continue
        name, value = f"{section}.{entry[1].lower()}", _value(entry[2])
        if name == "include.path":
            yield from _entries(file.parent / Path(value).expanduser(), read)
        else:
            yield name, value


def _text(file: Path) -> str:
    try:
        with open(file, "rb") as stream:
            return stream.read(_LARGEST).decode("utf-8", "surrogateescape").replace("\r\n", "\n")
    except OSError:
        return ""


def _value(text: str) -> str:
    """A value without its quotes and its comment."""
    found, quoted = [], False
    for plain, escaped, sign in _VALUE.findall(text):
        if sign == '"':
            quoted = not quoted
        elif sign and not quoted:
            break
        else:
            found.append(plain or escaped or sign)
    return "".join(found).strip()
