"""Where jobs are told of, for all processes that share tokens: whichever of them is asked knows of every job."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from ir.errors import IrError
from ir.serve.jobs import Job, Jobs
from ir.web.admission import Guest
from ir.web.work import shown

if TYPE_CHECKING:
    from ir.access import Access

__all__ = ["Board"]

#: So often a job says that it is still there, and learns whether it shall stop.
_BEAT_S = 2.0
#: Whoever is silent for so long has ended without a word.
_SILENT_S = 20.0
_ACTIVE = ("waiting", "running")


class Board:
    """Notices of jobs, kept beside the tokens. A database that is away keeps no job from its work."""

    def __init__(self, access: Access, jobs: Jobs) -> None:
        self._access = access
        self._jobs = jobs
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._followed: set[str] = set()

    def follow(self, job: Job) -> None:
        """Tell of a job from now on, until it is over; once."""
        with self._lock:
            if job.handle in self._followed:
                return
            self._followed.add(job.handle)
        self._post(job)
        threading.Thread(target=self._beat, args=(job,), name="board", daemon=True).start()

    def close(self) -> None:
        self._ended.set()

    def all(self, guest: Guest) -> list[dict[str, Any]]:
        """The jobs that somebody may see, of all processes, in the order in which they began."""
        own = {job.handle: shown(job) for job in self._jobs.all(guest.workspace)}
        told = {one["job"]: one for one in map(_as_known, self._access.posted(guest.workspace))} | own
        return sorted((one for one in told.values() if guest.may_see(one["corpus"])), key=lambda one: one["began"])

    def find(self, handle: str, guest: Guest) -> dict[str, Any] | None:
        """A job of another process, as far as is known here."""
        found = [_as_known(one) for one in self._access.posted(guest.workspace, handle)]
        return next((one for one in found if guest.may_see(one["corpus"])), None)

    def stop(self, handle: str, guest: Guest) -> None:
        self._access.ask_to_stop(guest.workspace, handle)

    def _beat(self, job: Job) -> None:
        while not job.over.wait(_BEAT_S) and not self._ended.is_set():
            if self._post(job):
                self._jobs.cancel(job)
        self._post(job)
        with self._lock:
            self._followed.discard(job.handle)

    def _post(self, job: Job) -> bool:
        try:
            return self._access.post(job.handle, job.workspace, shown(job))
        except IrError:
            return False


def _as_known(posted: tuple[dict[str, Any], float]) -> dict[str, Any]:
    told, age = posted
    if told["state"] in _ACTIVE:
        told["seconds"] = round(time.time() - told["began"], 1)
        if age > _SILENT_S:
            error = {"code": "job_lost", "message": "The process that did it has ended.", "remedy": "Begin it again."}
            told |= {"state": "failed", "seconds_left": None, "error": error}
    return told
