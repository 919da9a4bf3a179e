"""A part of a folder, seen as the folder sees it: with its ignore files, and under its ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ir.sources.files import FileScope

__all__ = ["Subfolder"]


class Subfolder(FileScope):
    """The files of ``root`` that lie in ``inside``, a folder or one file of it; no other folder is looked into."""

    def __init__(self, root: str | Path, inside: str, **options: Any) -> None:
        super().__init__(root, **options)
        self._inside = inside

    def enter(self, folder: str) -> bool:
        return self._within(folder) or self._inside.startswith(f"{folder}/")

    def wanted(self, path: str) -> bool:
        return self._within(path) and super().wanted(path)

    def _within(self, path: str) -> bool:
        return path == self._inside or path.startswith(f"{self._inside}/")
