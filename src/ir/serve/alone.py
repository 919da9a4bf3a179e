"""Where no daemon can run, or none is wanted: the same service in the process of the front."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from ir import telemetry
from ir.serve.link import Call, greeting
from ir.serve.service import Service
from ir.serve.tasks import Caller, Task

__all__ = ["Alone"]


class Alone:
    """Takes the calls of one client, and does them on a few threads."""

    def __init__(self) -> None:
        self._service = Service(watching=False)
        self._caller = Caller.of(greeting())
        self._workers = ThreadPoolExecutor(4, thread_name_prefix="call")
        self._tasks: dict[int, Task] = {}
        self._service.start()

    def submit(self, call: Call) -> None:
        task = Task(call.method, call.params, self._caller, progress=call.progress)
        self._tasks[id(call)] = task
        with suppress(RuntimeError):  # the client is leaving
            self._workers.submit(self._work, call, task)

    def cancel(self, call: Call) -> None:
        task = self._tasks.get(id(call))
        if task is not None:
            task.cancelled.set()

    def close(self) -> None:
        for task in list(self._tasks.values()):
            task.cancelled.set()
        self._workers.shutdown(wait=False, cancel_futures=True)
        self._service.stop()
        telemetry.shutdown()

    def _work(self, call: Call, task: Task) -> None:
        try:
            answer = self._service.answer(task)
        finally:
            self._tasks.pop(id(call), None)
        if not task.cancelled.is_set():
            call.done(answer)
