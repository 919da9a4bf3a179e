"""Chat sessions: files of JSON lines, as pairs of a question and its answer."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from ir.errors import SourceError
from ir.sources.loaded import Loader, Placed
from ir.sources.records import json_lines
from ir.sources.skipped import Skip
from ir.sources.walk import displayable

__all__ = ["CLAUDE_SESSIONS", "load_sessions"]

#: Where Claude Code keeps its sessions: one folder for each project.
CLAUDE_SESSIONS = "~/.claude/projects"
_TITLE_LIMIT = 100


@dataclass
class _Pair:
    """A question and what was answered until the next one."""

    turn: int
    line: int
    about: dict[str, str]
    user: list[str] = field(default_factory=list)
    assistant: list[str] = field(default_factory=list)

    def raw(self, session: str, path: str) -> dict[str, Any]:
        asked = "\n\n".join(self.user)
        title = asked.partition("\n")[0].strip()[:_TITLE_LIMIT]
        raw = {"text": "\n\n".join([*self.user, *self.assistant]), "session": session, "turn": self.turn}
        return {**raw, **({"title": title} if title else {}), **self.about, "path": path}


def load_sessions(root: str | Path = CLAUDE_SESSIONS) -> Loader:
    """A loader of the sessions in a folder of ``.jsonl`` files, or in one such file.

    Both ``{"role", "content"}`` and Claude Code's ``{"type", "message": {"role", "content"}}`` are understood;
    calls of tools, their results and side chains are left out. Broken lines are reported and passed over.
    """
    top = Path(root).expanduser()

    def load(skip: Skip) -> Iterator[Placed]:
        if not top.exists():
            raise SourceError(f"There are no chat sessions at {str(top)!r}.", remedy="Check the path.")
        for file in [top] if top.is_file() else sorted(_files(top, skip)):
            name = displayable(file.name if file == top else file.relative_to(top).as_posix())
            try:
                yield from _session(file, name, skip)
            except SourceError as error:
                skip(name, error.message, f"{name}#")

    return load


def _files(top: Path, skip: Skip) -> Iterator[Path]:
    real = top.resolve()

    def unread(error: OSError) -> None:
        if Path(error.filename) == top:
            raise SourceError(
                f"The folder {str(top)!r} cannot be read: {error.strerror}.", remedy="Check its permissions."
            ) from error
        name = displayable(Path(error.filename).relative_to(top).as_posix()) + "/"
        skip(name, f"folder cannot be read: {error.strerror}", name)

    for folder, _, names in os.walk(top, onerror=unread):
        files = (Path(folder, name) for name in names if name.endswith(".jsonl"))
        yield from (file for file in files if _is_inside(file, real))


def _is_inside(file: Path, real: Path) -> bool:
    try:
        return file.is_file() and file.resolve().is_relative_to(real)
    except OSError:
        return True  # reading it will say why it cannot be read


def _session(file: Path, name: str, skip: Skip) -> Iterator[Placed]:
    path = displayable(str(file.absolute()))
    for pair in _pairs(_turns(file, name, skip)):
        pair.about.setdefault("project", displayable(file.parent.name))
        place = f"{name}#{pair.turn}"
        yield Placed(place, pair.raw(name, path), f"{name}:{pair.line}")


def _pairs(turns: Iterable[tuple[int, str, str, dict[str, str]]]) -> Iterator[_Pair]:
    current: _Pair | None = None
    number = 0
    for line, role, text, about in turns:
        # Consecutive messages of the user are one question; the first one after an answer opens the next pair.
        if current is None or (role == "user" and current.assistant):
            if current is not None:
                yield current
            number += 1
            current = _Pair(number, line, about)
        (current.user if role == "user" else current.assistant).append(text)
    if current is not None:
        yield current


def _turns(file: Path, name: str, skip: Skip) -> Iterator[tuple[int, str, str, dict[str, str]]]:
    for number, value, problem in json_lines(file):
        if problem is not None:
            skip(f"{name}:{number}", problem)
            continue
        if value.get("isMeta") or value.get("isSidechain"):
            continue
        message = value.get("message") if isinstance(value.get("message"), Mapping) else value
        role = message.get("role") or value.get("type")
        text = _text(message.get("content"))
        if role in ("user", "assistant") and text:
            yield number, role, text, _about(value)


def _text(content: Any) -> str:
    """The words of a message: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content.strip()
    if not isinstance(content, list):
        return ""
    parts = (part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") == "text")
    return "\n\n".join(part.strip() for part in parts if isinstance(part, str) and part.strip())


def _about(value: Mapping[str, Any]) -> dict[str, str]:
    about = {}
    if isinstance(value.get("timestamp"), (str, int, float)):
        about["timestamp"] = str(value["timestamp"])
    project = value.get("project") or value.get("cwd")
    if isinstance(project, str) and project:
        about["project"] = PurePath(project).name or project
    return about
