"""Which workspace a corpus belongs to: names are unique within one, and nothing is seen from another."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from ir.errors import InvalidInput

__all__ = ["DEFAULT_WORKSPACE", "current_workspace", "in_workspace", "workspace_folder", "workspace_name"]

#: The workspace of everybody who never names one.
DEFAULT_WORKSPACE = "default"
_VARIABLE = "IR_WORKSPACE"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
_chosen: ContextVar[str | None] = ContextVar("workspace", default=None)


def workspace_name(name: str) -> str:
    """``name`` if a workspace can be called so; it stands in names of folders, schemas and collections."""
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    raise InvalidInput(
        f"A workspace cannot be called {name!r}.",
        remedy="Use 1 to 32 small letters, digits and dashes, not beginning with a dash.",
    )


def current_workspace() -> str:
    """The workspace of the innermost :func:`in_workspace` block, else of ``IR_WORKSPACE``, else the default one."""
    chosen = _chosen.get()
    if chosen is None:
        chosen = workspace_name(os.environ.get(_VARIABLE) or DEFAULT_WORKSPACE)
    return chosen


@contextmanager
def in_workspace(name: str) -> Iterator[None]:
    """A block in which corpora are looked up, made and kept in a workspace, in this thread or task.

    >>> with in_workspace("team-a"):
    ...     current_workspace()
    'team-a'
    """
    token = _chosen.set(workspace_name(name))
    try:
        yield
    finally:
        _chosen.reset(token)


def workspace_folder(folder: Path) -> Path:
    """The part of one of our folders that belongs to the current workspace; the default one has it all to itself."""
    name = current_workspace()
    return folder if name == DEFAULT_WORKSPACE else folder / "workspaces" / name
