"""Threads that do the work, so that whoever listens to clients is never kept from it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, TypeVar

from ir.web.refusals import overloaded

__all__ = ["Workers"]

_Result = TypeVar("_Result")


class Workers:
    """So many threads, and no more than so many calls that wait for one of them."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self.name = name
        self._threads = threads
        self._most = threads + waiting
        self._begun = 0
        self._held = 0
        self._lock = threading.Lock()
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    @property
    def held(self) -> int:
        """How many calls wait or run."""
        return self._held

    def submit(self, work: Callable[[], _Result]) -> asyncio.Future[_Result]:
        """What comes of the work; an error if too many wait. It runs with the variables of whoever asks."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[_Result] = loop.create_future()
        context = copy_context()
        with self._lock:
            if self._held >= self._most:
                raise overloaded()
            self._held += 1
            if self._begun < min(self._threads, self._held):
                self._begun += 1
                # A daemon: a call that nobody waits for must not keep the process.
                threading.Thread(target=self._work, name=self.name, daemon=True).start()

        def run() -> None:
            if future.cancelled():
                return
            try:
                result = context.run(work)
            except BaseException as error:
                _tell(loop, future, future.set_exception, error)
            else:
                _tell(loop, future, future.set_result, result)

        self._queue.put(run)
        return future

    def close(self) -> None:
        """Let the threads end when nothing is left for them."""
        with self._lock:
            for _ in range(self._begun):
                self._queue.put(None)

    def _work(self) -> None:
        while (run := self._queue.get()) is not None:
            try:
                run()
            finally:
                with self._lock:
                    self._held -= 1


def _tell(
    loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any], settle: Callable[[Any], None], value: Any
) -> None:
    def arrived() -> None:
        if not future.done():
            settle(value)

    with suppress(RuntimeError):  # the server has ended, and nobody waits any more
        loop.call_soon_threadsafe(arrived)
