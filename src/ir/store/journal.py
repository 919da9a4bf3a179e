"""Undoing writes to mappings that know no transactions."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

__all__ = ["Journal"]


class Journal:
    """Writes to mappings and remembers, for each key it touches, what was there.

    >>> journal, shelf = Journal(), {"a": 1}
    >>> journal.write(shelf, "a", 2), journal.write(shelf, "b", 3), shelf
    (None, None, {'a': 2, 'b': 3})
    >>> journal.undo(), shelf
    (None, {'a': 1})
    """

    def __init__(self) -> None:
        self._before: dict[tuple[int, str], tuple[MutableMapping[str, Any], bool, Any]] = {}

    def write(self, mapping: MutableMapping[str, Any], key: str, value: Any) -> None:
        self._remember(mapping, key)
        mapping[key] = value

    def erase(self, mapping: MutableMapping[str, Any], key: str) -> bool:
        """Whether there was anything to erase."""
        if not self._remember(mapping, key):
            return False
        del mapping[key]
        return True

    def touched(self) -> list[tuple[MutableMapping[str, Any], str, bool]]:
        """Every key that was written or erased, in which mapping, and whether it was there before."""
        return [(mapping, key, existed) for (_, key), (mapping, existed, _) in self._before.items()]

    def undo(self) -> None:
        """Every touched key as it was before."""
        for (_, key), (mapping, existed, value) in self._before.items():
            if existed:
                mapping[key] = value
            elif key in mapping:
                del mapping[key]
        self._before.clear()

    def _remember(self, mapping: MutableMapping[str, Any], key: str) -> bool:
        present = key in mapping
        name = (id(mapping), key)
        if name not in self._before:
            self._before[name] = (mapping, present, mapping[key] if present else None)
        return present
