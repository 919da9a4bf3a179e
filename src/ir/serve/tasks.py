"""A call on its way through the service: who asks, for what, and whether the answer is still wanted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ir.config.workspace import DEFAULT_WORKSPACE, workspace_name

__all__ = ["Caller", "Task"]


@dataclass(frozen=True)
class Caller:
    """Who asks: in which workspace, from which folder, and which ``corpora`` they may see (``None``: all)."""

    workspace: str = DEFAULT_WORKSPACE
    folder: str | None = None
    corpora: frozenset[str] | None = None

    @classmethod
    def of(cls, hello: Mapping[str, Any]) -> Caller:
        """The caller that a greeting tells of; a name that no workspace can have is an error."""
        folder = hello.get("cwd")
        return cls(workspace_name(hello.get("workspace", "")), folder if isinstance(folder, str) else None)


@dataclass
class Task:
    """One call. Whoever works on it looks at ``cancelled`` now and then."""

    method: str
    params: Mapping[str, Any]
    caller: Caller = Caller()
    progress: Callable[[dict[str, Any]], None] | None = None
    cancelled: threading.Event = field(default_factory=threading.Event)
