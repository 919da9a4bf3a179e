"""Named places on the way to disk, where a test can make the process die."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["CLEANING_POINTS", "POINTS", "on_reach", "reach"]

#: Every point that a build passes, in order.
POINTS = (
    "transaction:begun",
    "records:written",
    "generation:folder-made",
    "generation:files-linked",
    "vectors:written",
    "codes:written",
    "rows:written",
    "forward:written",
    "lexical:committed",
    "generation:files-synced",
    "generation:renamed",
    "generation:folder-synced",
    "transaction:state-written",
    "transaction:committed",
    "generations:old-removed",
)

#: Those that cleaning with compaction passes after such a build.
CLEANING_POINTS = ("generations:old-removed", "database:rewritten", "log:emptied")

_hook: Callable[[str], None] | None = None


def on_reach(hook: Callable[[str], None] | None) -> None:
    """Call ``hook`` with the name of each point that is passed; ``None`` stops it."""
    global _hook
    _hook = hook


def reach(point: str) -> None:
    if _hook is not None:
        _hook(point)
