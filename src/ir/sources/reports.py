"""Markdown reports: what projects keep under ``docs/`` and ``misc/docs/``."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

from ir.sources.files import FileScope

__all__ = ["ReportScope"]

# Whose documents they are: those of the root itself, of a project in it, or of a project in a group. The shortest way
# wins, so that `docs/docs/` is a folder in the documents and no project.
_DOCUMENTS = re.compile(r"(?:(?:(?P<group>[^/]+)/)??(?P<project>[^/]+)/)??(?:misc/)?docs/")
#: What only a project has; a folder without any of these may be a group of projects.
_MARKS = ("docs", "misc/docs", ".git", "pyproject.toml", "package.json", "Cargo.toml", "go.mod")


class ReportScope(FileScope):
    """Reports of the projects in a folder, of those in its groups, or of the folder itself if it is a project.

    Each knows its ``project``, and its ``group`` if there is one: ``group/project/docs/plan.md``. Files named in
    capitals (README, CHANGELOG, …) are about the project as a whole, and left out. Without ``recursive``, so are the
    folders in a ``docs``.
    """

    def __init__(self, projects_root: str | Path | None = None, *, recursive: bool = True) -> None:
        super().__init__(Path.cwd() if projects_root is None else projects_root, exclude=_in_capitals)
        self._recursive = recursive

    def enter(self, folder: str) -> bool:
        documents = _DOCUMENTS.match(f"{folder}/")
        if documents is not None:
            return self._recursive or documents.end() > len(folder)
        first, *inside = folder.split("/")
        if not inside or inside == ["misc"]:
            return True
        in_group = not any((self.root / first / mark).exists() for mark in _MARKS)
        return in_group and (len(inside) == 1 or inside[1:] == ["misc"])

    def wanted(self, path: str) -> bool:
        documents = _DOCUMENTS.match(path)
        if documents is None or not super().wanted(path):
            return False
        return self._recursive or "/" not in path[documents.end() :]

    def __getitem__(self, key: str) -> dict[str, Any]:
        raw = super().__getitem__(key)
        documents = _DOCUMENTS.match(key)
        whose = documents.groupdict() if documents else {}
        raw["project"] = whose.get("project") or self.root.resolve().name
        if whose.get("group"):
            raw["group"] = whose["group"]
        return raw


def _in_capitals(path: str) -> bool:
    return PurePosixPath(path).stem.isupper()
