"""Where a hit can be opened, as a terminal or an editor takes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ir.cli.visible import one_line

__all__ = ["link_to", "place_of"]


def place_of(artifact_id: str, pointer: str | None, line: Any = None, page: Any = None, cell: Any = None) -> str:
    """``file:line``, relative to the current folder where it lies inside; the id of what is in no file.

    >>> place_of("a.md", "/x/a.md", 3), place_of("a.jsonl#2", "/x/a.jsonl"), place_of("a.pdf", "/x/a.pdf", page="iv")
    ('/x/a.md:3', '/x/a.jsonl#2', '/x/a.pdf (page iv)')
    """
    if pointer is None:
        return one_line(artifact_id)
    path = one_line(str(_relative(Path(pointer))))
    if isinstance(line, int):
        return f"{path}:{line}"
    if page is not None:
        return f"{path} (page {page})"
    if isinstance(cell, int):
        return f"{path} (cell {cell})"
    _, sharp, part = artifact_id.rpartition("#")  # several artifacts of one file, as the turns of a chat are
    return f"{path}#{one_line(part)}" if sharp and not pointer.endswith(f"#{part}") else path


def link_to(pointer: str | None) -> str:
    """The style that makes a text a link, to be added to others; nothing for what is no file."""
    return f" link {Path(pointer).as_uri()}" if pointer and Path(pointer).is_absolute() else ""


def _relative(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_absolute() and path.is_relative_to(here) else path
