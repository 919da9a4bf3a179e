"""Leaving a reranker alone for a while that fails again and again: every search would wait for it in vain."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ir.errors import RerankError

__all__ = ["CircuitBreaker", "NotAsked"]

DFLT_FAILURES = 3
DFLT_REST_S = 30.0


class NotAsked(RerankError):
    """The reranker failed too often, and was not asked this time."""


class CircuitBreaker:
    """After ``failures`` in a row nobody asks for ``rest_s`` seconds. Then one may, and the rest wait how that goes.

    ``clock`` gives the time in seconds. Threads may share one.

    >>> now = [0.0]
    >>> breaker = CircuitBreaker(failures=2, rest_s=30, clock=lambda: now[0])
    >>> breaker.failed(), breaker.resting_s, breaker.failed(), breaker.resting_s, breaker.begins()
    (None, 0.0, None, 30.0, False)
    >>> now[0] = 31.0
    >>> breaker.begins(), breaker.begins(), breaker.succeeded(), breaker.begins()
    (True, False, None, True)
    """

    def __init__(
        self,
        *,
        failures: int = DFLT_FAILURES,
        rest_s: float = DFLT_REST_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.most = failures
        self.rest_s = rest_s
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._until: float | None = None

    @property
    def resting_s(self) -> float:
        """For how many seconds nobody is to ask; 0 if somebody may."""
        with self._lock:
            return 0.0 if self._until is None else max(self._until - self._clock(), 0.0)

    def begins(self) -> bool:
        """Whether the caller may ask now. Of those who come after a rest, the first may."""
        with self._lock:
            if self._until is None:
                return True
            now = self._clock()
            if now < self._until:
                return False
            self._until = now + self.rest_s  # whatever becomes of this one, another may try after that
            return True

    def succeeded(self) -> None:
        with self._lock:
            self._failures, self._until = 0, None

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            if self._failures >= self.most:
                self._until = self._clock() + self.rest_s

    def check(self, name: str) -> None:
        """Raise :class:`NotAsked` if the caller may not ask now."""
        if self.begins():
            return
        with self._lock:
            times = self._failures
        raise NotAsked(
            f"The reranker {name!r} failed {times} times in a row and is not asked for another {self.resting_s:.0f} s.",
            remedy="Check what it said before; rerank.rest_s says for how long it is left alone.",
        )
