"""How far a long operation is, told to whoever listens."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["Listener", "Progress", "Ticker"]

_EVERY_S = 0.05


class Progress(NamedTuple):
    """``total`` is ``None`` where nobody can know it beforehand."""

    stage: str
    done: int
    total: int | None


Listener = Callable[[Progress], None]


class Ticker:
    """Tells a listener about one stage at most twenty times a second, and always at its end."""

    def __init__(self, listener: Listener | None, stage: str, total: int | None = None) -> None:
        self._listener = listener
        self._stage = stage
        self._total = total
        self._done = 0
        self._next = 0.0

    def tick(self, count: int = 1) -> None:
        self._done += count
        if self._listener is None:
            return
        now = time.monotonic()
        if now >= self._next:
            self._next = now + _EVERY_S
            self._listener(Progress(self._stage, self._done, self._total))

    def end(self) -> None:
        if self._listener is not None:
            self._listener(Progress(self._stage, self._done, self._done))
