"""Work that takes longer than anybody waits: it runs in the background, under a handle by which to ask for it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from ir.errors import Cancelled, IrError, TooManyJobs
from ir.system import step_back

__all__ = ["Job", "Jobs"]

log = logging.getLogger("ir.daemon")

#: So many jobs that have ended are remembered, for each workspace.
_REMEMBERED = 50
#: Jobs that are not over.
_ACTIVE = ("waiting", "running")

Work = Callable[["Job"], Any]


@dataclass
class Job:
    """One piece of work. ``result`` is what it returned; ``failure`` the error that it ended with. ``same`` tells it
    from others of its kind for the same corpus."""

    handle: str
    kind: str
    workspace: str
    corpus: str
    state: str = "running"
    stage: str = ""
    done: int = 0
    total: int | None = None
    left_s: float | None = None
    result: Any = None
    failure: Exception | None = None
    began: float = field(default_factory=time.time)
    ended: float | None = None
    same: Hashable = None
    stop: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    listeners: list[Callable[[Job], None]] = field(default_factory=list)

    @property
    def active(self) -> bool:
        return self.state in _ACTIVE

    def report(self, step: Any) -> None:
        """Take in a step of :class:`ir.index.Progress`."""
        self.stage, self.done, self.total = step.stage, step.done, step.total
        self.left_s = getattr(step, "left_s", None)
        self.tell()

    def tell(self) -> None:
        """Tell those who listen that something is different."""
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
    """The jobs of a process; of one kind for one corpus there is one at a time, and of all no more than ``most`` run
    side by side: the others wait, and workspaces take turns. No more than ``each`` of a workspace run or wait."""

    def __init__(self, most: int | None = None, each: int | None = None) -> None:
        self.most = most
        self.each = each
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}
        self._waiting: list[tuple[Job, Work, Context]] = []
        #: The number of the last turn of each workspace.
        self._turns: dict[str, int] = {}

    def start(self, kind: str, workspace: str, corpus: str, work: Work, *, same: Hashable = None) -> Job:
        """Begin, unless it runs or waits already: then that job is the one. :class:`ir.errors.TooManyJobs` if the
        workspace has as many as it may."""
        with self._lock:
            for job in self._jobs.values():
                if (job.kind, job.workspace, job.corpus, job.same) == (kind, workspace, corpus, same) and job.active:
                    return job
            if self.each is not None and self._active(workspace) >= self.each:
                raise TooManyJobs(
                    f"{self.each} jobs of this workspace run or wait, and it may have no more.",
                    remedy="Begin it when one of them has ended, or stop one.",
                )
            job = Job(f"{kind}-{token_hex(8)}", kind, workspace, corpus, state="waiting", same=same)
            self._jobs[job.handle] = job
            self._waiting.append((job, work, copy_context()))
            self._forget(workspace)
        self._begin_next()
        return job

    def find(self, handle: str) -> Job | None:
        return self._jobs.get(handle)

    def all(self, workspace: str) -> list[Job]:
        """The jobs of a workspace, the latest last."""
        with self._lock:
            return [job for job in self._jobs.values() if job.workspace == workspace]

    def running(self) -> int:
        with self._lock:
            return sum(job.active for job in self._jobs.values())

    def cancel(self, job: Job) -> None:
        """Tell a job to come to an end; one that waits never begins."""
        job.stop.set()
        with self._lock:
            waiting = [one for one in self._waiting if one[0] is job]
            self._waiting = [one for one in self._waiting if one[0] is not job]
        if waiting:
            job.state, job.ended = "cancelled", time.time()
            job.over.set()
            job.tell()

    def stop(self) -> None:
        """Tell all to come to an end; what they have written stays, what they have not is undone."""
        with self._lock:
            active = [job for job in self._jobs.values() if job.active]
        for job in active:
            self.cancel(job)

    def _begin_next(self) -> None:
        """Start what may run now."""
        with self._lock:
            running = sum(job.state == "running" for job in self._jobs.values())
            room = len(self._waiting) if self.most is None else max(0, self.most - running)
            begun: list[tuple[Job, Work, Context]] = []
            while self._waiting and len(begun) < room:
                begun.append(self._take_next())
        for job, work, context in begun:
            threading.Thread(target=context.run, args=(self._run, job, work), name=job.kind, daemon=True).start()

    def _take_next(self) -> tuple[Job, Work, Context]:
        """The first that waits of the workspace whose last turn is longest ago."""
        found = min(self._waiting, key=lambda one: self._turns.get(one[0].workspace, 0))
        self._waiting.remove(found)
        self._turns[found[0].workspace] = max(self._turns.values(), default=0) + 1
        found[0].state = "running"
        return found

    def _active(self, workspace: str) -> int:
        return sum(job.active for job in self._jobs.values() if job.workspace == workspace)

    def _run(self, job: Job, work: Work) -> None:
        step_back()
        try:
            job.result = work(job)
            job.state = "done"
        except Cancelled as error:
            job.failure = error
            job.state = "cancelled" if job.stop.is_set() else "failed"
        except Exception as error:
            job.failure = error
            job.state = "failed"
            if not isinstance(error, IrError | OSError):
                log.exception("%s failed", job.kind)
        finally:
            job.ended = time.time()
            log.info("%s %s after %.1f s", job.kind, job.state, job.ended - job.began)
            job.over.set()
            job.tell()
            self._begin_next()

    def _forget(self, workspace: str) -> None:
        """Forget old jobs of a workspace; one that does much takes nothing from what others can look at."""
        ended = [handle for handle, job in self._jobs.items() if not job.active and job.workspace == workspace]
        for handle in ended[:-_REMEMBERED]:
            del self._jobs[handle]
