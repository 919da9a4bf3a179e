"""Chat sessions: files of JSON lines, as pairs of a question and its answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import Any

from ir.errors import InvalidInput, SourceError
from ir.sources.loaded import Loader, Placed
from ir.sources.records import json_lines
from ir.sources.skipped import Skip
from ir.sources.walk import displayable
from ir.spans import Moment, moment

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
    cwd: str = ""
    user: list[str] = field(default_factory=list)
    assistant: list[str] = field(default_factory=list)

    def raw(self, session: str, path: str) -> dict[str, Any]:
        asked = "\n\n".join(self.user)
        title = asked.partition("\n")[0].strip()[:_TITLE_LIMIT]
        raw = {"text": "\n\n".join([*self.user, *self.assistant]), "session": session, "turn": self.turn}
        return {**raw, **({"title": title} if title else {}), **self.about, "path": path}


def load_sessions(
    root: str | Path = CLAUDE_SESSIONS, since: Moment | None = None, projects: Sequence[str] | str | None = None
) -> Loader:
    """A loader of the sessions in a folder of ``.jsonl`` files, or in one such file.

    Both ``{"role", "content"}`` and Claude Code's ``{"type", "message": {"role", "content"}}`` are understood;
    calls of tools, their results and side chains are left out. Broken lines are reported and passed over. What was
    asked before ``since``, or elsewhere than in ``projects``, is left out too; the turns keep their numbers.
    """
    top = Path(root).expanduser()
    if since is not None:
        moment(since)  # check it now, so that a wrong one is reported at once
    wanted_project = _wanted_project(projects)

    def load(skip: Skip) -> Iterator[Placed]:
        if not top.exists():
            raise SourceError(
                f"There are no chat sessions at {str(top)!r}.",
                remedy="Name the folder: ir register sessions PATH --kind sessions; from Python, root=…",
            )
        start = None if since is None else moment(since)
        seen: dict[str, bool] = {}
        for file in [top] if top.is_file() else sorted(_files(top, skip)):
            name = displayable(file.name if file == top else file.relative_to(top).as_posix())
            try:
                for pair in _session(file, name, skip):
                    project = pair.about["project"]
                    kept = wanted_project((project, pair.cwd, displayable(file.parent.name)))
                    seen[project] = seen.get(project, False) or kept
                    if kept and (start is None or _asked_at(pair, file) >= start):
                        yield Placed(f"{name}#{pair.turn}", pair.raw(name, _path(file)), f"{name}:{pair.line}")
            except SourceError as error:
                skip(name, error.message, f"{name}#")
        if seen and not any(seen.values()):
            skip("projects", f"no session is of {projects!r}; there are {', '.join(sorted(seen))}")

    return load


def _wanted_project(projects: Sequence[str] | str | None) -> Callable[[Iterable[str]], bool]:
    """Whether one of a project's names was asked for."""
    if projects is None:
        return lambda ways: True
    given = [projects] if isinstance(projects, str) else projects
    if not isinstance(given, Sequence) or not all(isinstance(pattern, str) for pattern in given):
        raise InvalidInput(
            f"projects must be names or folders, not {projects!r}.",
            remedy="Write for instance: projects=['app', '~/work/*']",
        )
    patterns = [str(Path(pattern).expanduser()) for pattern in given]
    return lambda ways: any(fnmatchcase(way, pattern) for way in ways for pattern in patterns)


def _asked_at(pair: _Pair, file: Path) -> datetime:
    """When a question was asked; where it does not say, when its file was last written."""
    said = pair.about.get("timestamp", "")
    with suppress(ValueError, OverflowError, OSError):
        seconds = float(said)
        # Some programs write milliseconds; read as seconds, those would be millennia from now.
        return datetime.fromtimestamp(seconds / 1000 if seconds > 1e11 else seconds, UTC)
    with suppress(ValueError):
        found = datetime.fromisoformat(said)
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    try:
        return datetime.fromtimestamp(file.stat().st_mtime, UTC)
    except OSError:
        return datetime.now(UTC)


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
        return True  # reading it will report the reason


def _path(file: Path) -> str:
    return displayable(str(file.absolute()))


def _session(file: Path, name: str, skip: Skip) -> Iterator[_Pair]:
    for pair in _pairs(_turns(file, name, skip)):
        pair.about.setdefault("project", displayable(file.parent.name))
        yield pair


def _pairs(turns: Iterable[tuple[int, str, str, Mapping[str, Any]]]) -> Iterator[_Pair]:
    current: _Pair | None = None
    number = 0
    for line, role, text, value in turns:
        # Consecutive messages of the user are one question; the first one after an answer opens the next pair.
        if current is None or (role == "user" and current.assistant):
            if current is not None:
                yield current
            number += 1
            current = _Pair(number, line, _about(value), str(value.get("cwd") or ""))
        (current.user if role == "user" else current.assistant).append(text)
    if current is not None:
        yield current


def _turns(file: Path, name: str, skip: Skip) -> Iterator[tuple[int, str, str, Mapping[str, Any]]]:
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
            yield number, role, text, value


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
