"""How far a corpus is from its folder: from the commit that is checked out, and from the files as they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ir.app.context import Context
from ir.app.places import root_of

__all__ = ["changes", "freshness", "git_of"]


def git_of(config: Mapping[str, Any], name: str, root: Path | None = None) -> dict[str, Any] | None:
    """How the commit that a corpus was indexed at stands to HEAD; ``None`` outside of a repository.

    ``config`` are the settings of the corpus, ``root`` is its folder if that is known.
    """
    if config.get("git") is None:
        return None
    from ir.index.revision import revision

    found = revision(config, root or root_of(name))
    return None if found is None else found.to_dict()


def changes(name: str, ctx: Context) -> dict[str, Any]:
    """Whether the source has what the index has not, as far as that is quick to tell; nothing is written."""
    from ir.index.refresh import changes_in

    outcome = changes_in(name, scan_ms=ctx.settings["refresh_scan_ms"], max_changed=ctx.settings["refresh_max_changed"])
    return {"stale": outcome.stale, "changes": outcome.reason}


def freshness(git: Mapping[str, Any], files: str) -> str:
    """Both in one sentence.

    >>> freshness({"told": "3 commits behind HEAD"}, "2 files changed.")
    '3 commits behind HEAD; 2 files changed.'
    """
    return f"{git['told']}; {files[:1].lower()}{files[1:]}"
