"""How much of a source is still to come, while it is being scanned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sized
from typing import Any, NamedTuple

from ir.base import text_size
from ir.protocols import WithSizes

__all__ = ["Ahead", "ToCome", "length"]

#: What an item counts whose size cannot be told.
_USUAL = 1000


class ToCome(NamedTuple):
    """What is still to come, as a multiple of what has: in items, and by their size."""

    items: float
    size: float


class Ahead:
    """Compares what was not reached yet with what has come, by size where that is known without reading."""

    def __init__(self, scope: Mapping[str, Any]) -> None:
        self._scope = scope
        self._names: list[Any] | None = None
        self._reached = 0
        self._came = self._items = 0
        self._waiting: dict[Any, int] | None = None
        self._left = 0
        self._ended = False

    def begin(self, names: Iterable[Any]) -> Iterable[Any]:
        """The names to go through; those of a source that cannot tell sizes are not held."""
        if isinstance(self._scope, (dict, WithSizes)):
            self._names = list(names)
            return self._names
        return names

    def passed(self, name: Any) -> None:
        """The scan has reached an item."""
        self._reached += 1
        if self._waiting is not None:
            self._left -= self._waiting.pop(name, 0)

    def came(self, name: Any) -> None:
        """The item has changed, so it is being worked on."""
        self._items += 1
        self._came += self._size(name)

    def end(self) -> None:
        self._ended = True

    def more(self, is_waiting: Callable[[Any], bool]) -> ToCome | None:
        """What is still to come; ``None`` if that cannot be known."""
        if self._ended:
            return ToCome(0.0, 0.0)
        if self._names is None:
            total = length(self._scope)
            if total is None or not self._reached:
                return None
            share = max(0.0, total / self._reached - 1)
            return ToCome(share, share)
        if self._waiting is None:
            ahead = (name for name in self._names[self._reached :] if is_waiting(name))
            self._waiting = {name: self._size(name) for name in ahead}
            self._left = sum(self._waiting.values())
        return ToCome(len(self._waiting) / self._items, self._left / self._came) if self._came else None

    def _size(self, name: Any) -> int:
        if isinstance(self._scope, WithSizes):
            size = self._scope.size_of(name)
            return _USUAL if size is None else size
        return text_size(self._scope.get(name)) if isinstance(self._scope, dict) else _USUAL


def length(scope: Sized) -> int | None:
    """How many items a scope has, if it knows."""
    try:
        return len(scope)
    except TypeError:
        return None
