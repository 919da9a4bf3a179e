"""Python's search for garbage, held off while there is none to be found.

Reading a source file makes some hundred thousand small tuples that all go when it is done, by their counts; the names
of a large project stay until its links are drawn. The search goes through all of them again and again, finds nothing,
and took a third of the time.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

__all__ = ["uncollected"]

_P = ParamSpec("_P")
_T = TypeVar("_T")
_lock = threading.Lock()
_held = 0
_was_on = False


def uncollected(work: Callable[_P, _T]) -> Callable[_P, _T]:
    """Run a function without the search; it goes on when the last one that is running is done."""

    @wraps(work)
    def run(*args: _P.args, **named: _P.kwargs) -> _T:
        global _held, _was_on
        with _lock:
            if not _held:
                _was_on = gc.isenabled()
                gc.disable()
            _held += 1
        try:
            return work(*args, **named)
        finally:
            with _lock:
                _held -= 1
                if not _held and _was_on:
                    gc.enable()

    return run
