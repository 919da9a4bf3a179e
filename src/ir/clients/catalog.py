"""The clients that are known: where each keeps its servers, how it writes one, and where it looks for skills."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ir.clients.launch import Launch
from ir.system import settings_folder

__all__ = ["CLIENTS", "SERVER", "Client"]

#: The name under which clients know this server.
SERVER = "ir"

#: Where most clients look for skills, below the home folder and below a project.
SHARED_SKILLS = ".agents/skills"


@dataclass(frozen=True)
class Client:
    """One program that can use the server.

    ``user`` are the files that may hold its settings, of which the first that exists counts, else the first;
    ``project`` the same below a project's folder, empty if the client has none. ``key`` is the name under which
    servers stand. ``always`` belongs to every entry, ``at_first`` only to a new one: a user may have changed it.
    """

    name: str
    title: str
    user: Callable[[], tuple[Path, ...]]
    project: tuple[str, ...] = ()
    key: str = "mcpServers"
    always: Mapping[str, Any] | None = None
    at_first: Mapping[str, Any] | None = None
    env_key: str = "env"
    one_list: bool = False
    skills: Callable[[], Path] = lambda: Path.home() / SHARED_SKILLS
    project_skills: str = SHARED_SKILLS
    programs: tuple[str, ...] = ()
    traces: Callable[[], tuple[Path, ...]] = tuple
    remark: str = ""

    @property
    def path(self) -> tuple[str, str]:
        """The keys that lead to the entry."""
        return (self.key, SERVER)

    @property
    def is_toml(self) -> bool:
        return self.name == "codex"

    def file(self, project: Path | None) -> Path | None:
        """The file of its settings; ``None`` if it has none for projects."""
        places = self.user() if project is None else tuple(project / name for name in self.project)
        return next((place for place in places if place.exists()), places[0] if places else None)

    def skill(self, project: Path | None) -> Path:
        """Where the skill goes."""
        folder = self.skills() if project is None else project / self.project_skills
        return folder / SERVER / "SKILL.md"

    def entry(self, launch: Launch, held: Any) -> dict[str, Any]:
        """What stands for the server, given what ``held`` its place: what a user added to it stays."""
        words: dict[str, Any] = {"command": launch.command, "args": list(launch.args)}
        if self.one_list:
            words = {"command": list(launch.words)}
        ours = {**(self.always or {}), **words}
        kept = held if isinstance(held, dict) and not _is_remote(held) else {}
        env = {**(kept.get(self.env_key) or {}), **launch.env}
        if env:
            ours[self.env_key] = env
        return ours if kept else {**ours, **(self.at_first or {})}

    def is_present(self) -> bool:
        """Whether the client seems to be on this machine."""
        return any(map(shutil.which, self.programs)) or any(place.exists() for place in (*self.user(), *self.traces()))


def _is_remote(entry: Mapping[str, Any]) -> bool:
    return any(key in entry for key in ("url", "httpUrl", "serverUrl"))


def _home(*parts: str, variable: str = "") -> Path:
    """A path below the home folder; the first part of it may be moved by a variable."""
    chosen = os.environ.get(variable) if variable else None
    return Path(chosen, *parts[1:]) if chosen else Path.home().joinpath(*parts)


def _claude() -> Path:
    chosen = os.environ.get("CLAUDE_CONFIG_DIR")
    return Path(chosen) / ".claude.json" if chosen else Path.home() / ".claude.json"


def _opencode() -> tuple[Path, ...]:
    folder = _home(".config", variable="XDG_CONFIG_HOME") / "opencode"
    return (folder / "opencode.json", folder / "opencode.jsonc")


CLIENTS: Mapping[str, Client] = {
    client.name: client
    for client in (
        Client(
            "claude",
            "Claude Code",
            user=lambda: (_claude(),),
            project=(".mcp.json",),
            always={"type": "stdio"},
            skills=lambda: _home(".claude", variable="CLAUDE_CONFIG_DIR") / "skills",
            project_skills=".claude/skills",
            programs=("claude",),
            traces=lambda: (_home(".claude", variable="CLAUDE_CONFIG_DIR"),),
            remark="Claude Code asks before it uses a project's server for the first time",
        ),
        Client(
            "codex",
            "Codex",
            user=lambda: (_home(".codex", variable="CODEX_HOME") / "config.toml",),
            project=(".codex/config.toml",),
            key="mcp_servers",
            programs=("codex",),
            traces=lambda: (_home(".codex", variable="CODEX_HOME"),),
            remark="Codex reads a project's file only where the project is trusted",
        ),
        Client(
            "cursor",
            "Cursor",
            user=lambda: (_home(".cursor", "mcp.json"),),
            project=(".cursor/mcp.json",),
            programs=("cursor", "cursor-agent"),
            traces=lambda: (_home(".cursor"),),
        ),
        Client(
            "vscode",
            "VS Code",
            user=lambda: (settings_folder() / "Code" / "User" / "mcp.json",),
            project=(".vscode/mcp.json",),
            key="servers",
            always={"type": "stdio"},
            programs=("code",),
            traces=lambda: (settings_folder() / "Code" / "User",),
        ),
        Client(
            "copilot",
            "Copilot CLI",
            user=lambda: (_home(".copilot", variable="COPILOT_HOME") / "mcp-config.json",),
            project=(".github/mcp.json",),
            always={"type": "local"},
            at_first={"tools": ["*"]},
            programs=("copilot",),
            traces=lambda: (_home(".copilot", variable="COPILOT_HOME"),),
        ),
        Client(
            "opencode",
            "OpenCode",
            user=_opencode,
            project=("opencode.json", "opencode.jsonc"),
            key="mcp",
            always={"type": "local"},
            at_first={"enabled": True},
            env_key="environment",
            one_list=True,
            programs=("opencode",),
            traces=lambda: (_opencode()[0].parent,),
        ),
        Client(
            "gemini",
            "Gemini CLI",
            user=lambda: (_home(".gemini", "settings.json"),),
            project=(".gemini/settings.json",),
            programs=("gemini",),
            traces=lambda: (_home(".gemini"),),
            remark="Gemini uses a project's server only where the folder is trusted",
        ),
        Client(
            "windsurf",
            "Windsurf",
            user=lambda: (_home(".codeium", "windsurf", "mcp_config.json"),),
            programs=("windsurf",),
            traces=lambda: (_home(".codeium", "windsurf"),),
        ),
        Client(
            "zed",
            "Zed",
            user=lambda: (settings_folder(native=False) / "zed" / "settings.json",),
            key="context_servers",
            programs=("zed", "zeditor"),
            traces=lambda: (settings_folder(native=False) / "zed",),
        ),
    )
}
