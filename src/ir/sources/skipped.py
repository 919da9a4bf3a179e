"""What a source left out, and why."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Skipped"]


class Skipped(NamedTuple):
    """Something that was not read: its id within the source, and the reason in words."""

    id: str
    reason: str
