"""What is said once and not again: a hint that comes back with every search is noise."""

from __future__ import annotations

from contextlib import suppress

__all__ = ["first_time"]


def first_time(*about: str) -> bool:
    """Whether this was never said before on this machine; from now on it was.

    Where that cannot be noted it counts as said: better no hint than one at every command.
    """
    from ir.base import storage_key
    from ir.config import cache_dir

    mark = cache_dir() / "hints" / storage_key(*about)
    with suppress(OSError):
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch(exist_ok=False)
        return True
    return False
