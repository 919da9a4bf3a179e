"""The command by which a client starts ``ir mcp``: whole paths, because a client knows nothing of a user's shell."""

from __future__ import annotations

import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from ir.config import moved_folders
from ir.config.workspace import DEFAULT_WORKSPACE, current_workspace

__all__ = ["Launch", "launch"]

_PACKAGE = "ir-substrate"
#: Folders of a uv cache in which ``uvx`` makes environments that it may remove again.
_PASSING = ("archive-v0", "environments-v2", "builds-v0")


@dataclass(frozen=True)
class Launch:
    """A program with its arguments, and what has to be in its environment; ``warning`` if it may not last."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    warning: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        return (self.command, *self.args)


def launch() -> Launch:
    """How to start the server of the ``ir`` that is running now, from anywhere."""
    env = moved_folders()
    workspace = current_workspace()
    if workspace != DEFAULT_WORKSPACE:
        env["IR_WORKSPACE"] = workspace
    if _is_passing(Path(sys.prefix)):
        uvx = shutil.which("uvx")
        if uvx:
            return Launch(str(Path(uvx).absolute()), ("--from", _requirement(), "ir", "mcp"), env)
    program = _program()
    words = (str(program), "mcp") if program else (str(Path(sys.executable).absolute()), "-m", "ir", "mcp")
    return Launch(words[0], words[1:], env, _warning(Path(words[0])))


def _program() -> Path | None:
    """The ``ir`` that was called, if it was by a path; else the one beside this Python. Links are kept: pipx moves
    what they lead to."""
    called = Path(sys.argv[0]) if sys.argv and sys.argv[0] else None
    places = [called] if called and called.stem == "ir" and called.suffix in ("", ".exe") and called.parent.name else []
    places += [Path(sysconfig.get_path("scripts")) / "ir", Path(sys.executable).parent / "ir"]
    for place in places:
        for path in (place, place.with_suffix(".exe")):
            if path.is_file():
                return path.absolute()
    return None


def _requirement() -> str:
    """This very version, with the extra that the server wants."""
    try:
        about = metadata(_PACKAGE)
    except PackageNotFoundError:
        return _PACKAGE
    extra = "[mcp]" if "mcp" in (about.get_all("Provides-Extra") or ()) else ""
    return f"{_PACKAGE}{extra}=={about['Version']}"


def _is_passing(path: Path) -> bool:
    return any(part in _PASSING for part in path.parts)


def _warning(path: Path) -> str | None:
    temporary = Path(tempfile.gettempdir()).resolve()
    if not _is_passing(path) and temporary not in path.resolve().parents and temporary not in path.parents:
        return None
    return (
        f"{path} is in a temporary folder and may be gone one day; install ir with pipx or uv tool, and run this again"
    )
