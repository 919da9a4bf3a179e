"""Markdown reports: what projects keep under ``docs/`` and ``misc/docs/``."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

from ir.sources.files import FileScope

__all__ = ["ReportScope"]

_REPORT = r"^(?:[^/]+/)?(?:misc/)?docs/.*\.md$"
# The folders on the way to a report: a project, its misc, its docs and whatever is below that.
_ON_THE_WAY = re.compile(r"(?:[^/]+|(?:[^/]+/)?misc|(?:[^/]+/)?(?:misc/)?docs(?:/.*)?)")


class ReportScope(FileScope):
    """Reports of the projects in a folder, or of the folder itself if it is a project; each knows its ``project``.

    Files named in capitals (README, CHANGELOG, …) are about the project as a whole, and left out.
    """

    def __init__(self, projects_root: str | Path | None = None) -> None:
        super().__init__(Path.cwd() if projects_root is None else projects_root, pattern=_REPORT, exclude=_in_capitals)

    def enter(self, folder: str) -> bool:
        return _ON_THE_WAY.fullmatch(folder) is not None

    def __getitem__(self, key: str) -> dict[str, Any]:
        raw = super().__getitem__(key)
        first = key.partition("/")[0]
        own = re.match(r"(?:misc/)?docs/", key) is not None
        raw["project"] = self.root.resolve().name if own else first
        return raw


def _in_capitals(path: str) -> bool:
    return PurePosixPath(path).stem.isupper()
