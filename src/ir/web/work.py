"""Jobs over HTTP: what takes minutes is begun, shown while it runs, and stopped if nobody wants it any more."""

from __future__ import annotations

import json
import time
from typing import Any

from ir.errors import Cancelled, IrError
from ir.serve.jobs import Job, Jobs
from ir.web.admission import Guest
from ir.web.answers import encoded
from ir.web.places import names_for
from ir.web.refusals import Refusal, told_of

__all__ = ["JOB_SCHEMA", "STATES", "find_job", "no_job", "shown"]

STATES = ("waiting", "running", "done", "failed", "cancelled")
_NUMBER = {"type": ["number", "null"]}

JOB_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "job": {"type": "string", "description": "By which to ask for it."},
        "kind": {"type": "string", "description": "The operation."},
        "corpus": {"type": "string"},
        "state": {"type": "string", "enum": list(STATES)},
        "stage": {"type": "string", "description": "What is being done."},
        "done": {"type": "integer"},
        "total": {"type": ["integer", "null"]},
        "seconds": {"type": "number", "description": "How long it has taken so far."},
        "seconds_left": {**_NUMBER, "description": "About how long it still takes, where that is known."},
        "began": {"type": "number", "description": "When, in seconds since 1970."},
        "result": {"description": "The response of the operation, once it is done."},
        "error": {"type": ["object", "null"], "description": "Why it failed.", "additionalProperties": True},
    },
    "required": ["job", "kind", "corpus", "state", "stage", "done", "total", "seconds", "seconds_left", "began"],
    "additionalProperties": False,
}


def shown(job: Job) -> dict[str, Any]:
    """A job as JSON."""
    held: dict[str, Any] = {
        "job": job.handle,
        "kind": job.kind,
        "corpus": job.corpus,
        "state": job.state,
        "stage": job.stage,
        "done": job.done,
        "total": job.total,
        "seconds": round((job.ended or time.time()) - job.began, 1),
        "seconds_left": round(job.left_s, 1) if job.left_s is not None and job.active else None,
        "began": round(job.began, 3),
    }
    if job.state == "done":
        held["result"] = json.loads(names_for(job.workspace).in_json(encoded(job.result)))
    if job.failure is not None and not isinstance(job.failure, Cancelled):
        held["error"] = _failure(job.failure, job.workspace)
    return held


def _failure(error: Exception, workspace: str) -> dict[str, Any]:
    if isinstance(error, IrError):
        return told_of(error, names_for(workspace)).to_dict()
    told = f"Unexpected {type(error).__name__}; the log of the server says where."
    return {"code": "unexpected", "message": told, "remedy": ""}


def find_job(jobs: Jobs, handle: str, guest: Guest) -> Job | None:
    """The job of this process by that name, if there is one that somebody may see: it is of their workspace, and for
    a corpus that they may see."""
    job = jobs.find(handle)
    return None if job is None or job.workspace != guest.workspace or not guest.may_see(job.corpus) else job


def no_job() -> Refusal:
    return Refusal(404, "no_job", "There is no such job.", remedy="GET /v1/jobs lists those that there are.")
