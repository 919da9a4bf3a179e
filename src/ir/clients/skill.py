"""What an agent should know about ``ir`` before it uses it, and the plugin for Claude Code that carries it."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from ir.clients.catalog import SERVER
from ir.clients.jsonc import with_entry
from ir.clients.launch import Launch
from ir.config.files import write_atomic

__all__ = ["plugin_folder", "skill_text", "write_plugin"]


def plugin_folder() -> Path:
    """The plugin, as it ships with the package: a manifest, the server and the skill."""
    return Path(str(files("ir.clients") / "plugin"))


def skill_text() -> str:
    """The skill, the same for all clients."""
    return (plugin_folder() / "skills" / SERVER / "SKILL.md").read_bytes().decode("utf-8")


def write_plugin(folder: Path, launch: Launch) -> None:
    """The plugin in ``folder``, with the whole path of the command: a client may not find ``ir`` by its name."""
    manifest = Path(".claude-plugin") / "plugin.json"
    for path in sorted(plugin_folder().rglob("*")):
        if path.is_file():
            name = path.relative_to(plugin_folder())
            text = path.read_bytes().decode("utf-8")
            if name == manifest:
                entry = {"command": launch.command, "args": list(launch.args), "env": dict(launch.env)}
                text = with_entry(text, ("mcpServers", SERVER), entry)
            write_atomic(folder / name, text)
