"""Work that takes longer than anybody waits: it runs in the background, under a handle by which to ask for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from ir.errors import IrError
from ir.system import step_back

__all__ = ["Job", "Jobs"]

log = logging.getLogger("ir.daemon")

#: So many jobs that have ended are remembered.
_REMEMBERED = 50

Work = Callable[["Job"], Any]


@dataclass
class Job:
    """One piece of work. ``result`` is what it returned; ``failure`` the error that it ended with."""

    handle: str
    kind: str
    workspace: str
    corpus: str
    state: str = "running"
    stage: str = ""
    done: int = 0
    total: int | None = None
    result: Any = None
    failure: Exception | None = None
    began: float = field(default_factory=time.time)
    ended: float | None = None
    stop: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    listeners: list[Callable[[Job], None]] = field(default_factory=list)

    def report(self, step: Any) -> None:
        """Take in a step of :class:`ir.index.Progress`."""
        self.stage, self.done, self.total = step.stage, step.done, step.total
        for listener in list(self.listeners):
            listener(self)

    def to_dict(self) -> dict[str, Any]:
        held: dict[str, Any] = {"job": self.handle, "kind": self.kind, "corpus": self.corpus, "state": self.state}
        if self.state == "running":
            held |= {"stage": self.stage, "done": self.done} | ({} if self.total is None else {"total": self.total})
        held["seconds"] = round((self.ended or time.time()) - self.began, 1)
        if self.failure is not None:
            held["failure"] = str(self.failure) if isinstance(self.failure, IrError) else type(self.failure).__name__
        return held


class Jobs:
    """The jobs of a process; of one kind for one corpus there is one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}

    def start(self, kind: str, workspace: str, corpus: str, work: Work) -> Job:
        """Begin, unless it runs already: then that job is the one."""
        with self._lock:
            for job in self._jobs.values():
                if (job.kind, job.workspace, job.corpus) == (kind, workspace, corpus) and job.state == "running":
                    return job
            job = Job(f"{kind}-{token_hex(4)}", kind, workspace, corpus)
            self._jobs[job.handle] = job
            self._forget()
        context = copy_context()
        threading.Thread(target=context.run, args=(self._run, job, work), name=kind, daemon=True).start()
        return job

    def find(self, handle: str) -> Job | None:
        return self._jobs.get(handle)

    def all(self, workspace: str) -> list[Job]:
        """The jobs of a workspace, the latest last."""
        with self._lock:
            return [job for job in self._jobs.values() if job.workspace == workspace]

    def running(self) -> int:
        with self._lock:
            return sum(job.state == "running" for job in self._jobs.values())

    def stop(self) -> None:
        """Tell all that run to come to an end; what they have written stays, what they have not is undone."""
        with self._lock:
            for job in self._jobs.values():
                job.stop.set()

    def _run(self, job: Job, work: Work) -> None:
        step_back()
        try:
            job.result = work(job)
            job.state = "done"
        except Exception as error:
            job.failure = error
            job.state = "failed"
            if not isinstance(error, IrError | OSError):
                log.exception("%s failed", job.kind)
        finally:
            job.ended = time.time()
            log.info("%s %s after %.1f s", job.kind, job.state, job.ended - job.began)
            job.over.set()

    def _forget(self) -> None:
        ended = [handle for handle, job in self._jobs.items() if job.state != "running"]
        for handle in ended[:-_REMEMBERED]:
            del self._jobs[handle]
