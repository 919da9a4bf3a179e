"""The two sides of a hybrid query, asked at the same time; one that fails or is late is gone without."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from time import perf_counter
from typing import Generic, TypeVar

from ir.errors import Cancelled, IrError

__all__ = ["Side", "TooLate"]

Found = TypeVar("Found")


class TooLate(IrError):
    """A side did not answer in time."""


class Side(Generic[Found]):
    """One side, which begins when this is made, in a thread that does not keep the process from ending."""

    def __init__(self, name: str, ask: Callable[[], Found]) -> None:
        self.name = name
        self.began = perf_counter()
        self.ms = 0.0
        self._found: list[Found] = []
        self._fault: BaseException | None = None
        self._ended = threading.Event()
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(self._work, ask), name=f"ir-{name}", daemon=True).start()

    def _work(self, ask: Callable[[], Found]) -> None:
        try:
            self._found.append(ask())
        except BaseException as fault:
            self._fault = fault
        finally:
            self.ms = (perf_counter() - self.began) * 1e3
            self._ended.set()

    def result(self, timeout_s: float | None = None) -> Found:
        """What was found, as soon as it is there; whatever went wrong is raised here."""
        if not self._ended.wait(timeout_s):
            raise TooLate(f"The {self.name} side did not answer within {timeout_s:g} s.")
        if self._fault is not None:
            raise self._fault
        return self._found[0]


def is_fault(error: BaseException) -> bool:
    """Whether an error is one to go on without; being told to stop is not."""
    return isinstance(error, Exception) and not isinstance(error, Cancelled)
