"""What goes wrong, as HTTP says it: a status, and a problem that a program and a person can read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson

from ir import errors
from ir.app.problems import Problem, describe
from ir.errors import IrError
from ir.web.places import Names, own_names

__all__ = ["PROBLEM", "TITLES", "Gone", "Refusal", "of_error", "problem", "told_of"]

PROBLEM = "application/problem+json"
#: After how many seconds a client may try again what could not be done now.
_LATER_S = 2

#: The status of each kind of error; of several that fit, that of the nearest.
_STATUS: dict[type[IrError], int] = {
    errors.InvalidInput: 422,
    errors.NotFound: 404,
    errors.OutsideCorpus: 404,
    errors.CorpusError: 503,
    errors.CorpusNotBuilt: 404,
    errors.CorpusBusy: 409,
    errors.NoLedgerEntry: 404,
    errors.SeedNotFound: 404,
    errors.EmbedderError: 503,
    errors.SourceError: 409,
    errors.TooManyJobs: 429,
    errors.Cancelled: 503,
    errors.DeadlineExceeded: 504,
}
#: The same for one who waits for jobs to end.
_JOBS_S = 10
#: What the caller may have asked for by name, and is not here: their mistake, not a failure of ours.
_CHOSEN: dict[type[IrError], tuple[str, ...]] = {
    errors.EmbedderError: ("embedder", "rerank"),
    errors.RerankError: ("rerank",),
    errors.LlmError: ("llm",),
    errors.MissingExtra: ("embedder", "rerank"),
}
TITLES = {
    400: "The request cannot be read",
    401: "A token is needed",
    403: "Not allowed",
    404: "Not found",
    405: "Not that way",
    406: "Not in that form",
    408: "The request came too slowly",
    409: "Not now, as things are",
    413: "The request is too long",
    421: "Not this server",
    422: "A value is not allowed",
    429: "Too many requests",
    431: "The head of the request is too long",
    500: "Unexpected",
    503: "Not available now",
    504: "It took too long",
}


class Gone(Exception):
    """The client left before the answer came."""


class Refusal(Exception):
    """A request that is not answered, and why."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        remedy: str = "",
        headers: Mapping[str, str] | None = None,
        close: bool = False,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.remedy = remedy
        self.headers = {**(headers or {}), **({"connection": "close"} if close else {})}

    def body(self) -> bytes:
        return orjson.dumps(problem(self.status, self.code, self.detail, self.remedy))


def problem(status: int, code: str, detail: str, remedy: str = "") -> dict[str, Any]:
    """A problem as JSON."""
    title = TITLES.get(status) or HTTPStatus(status).phrase
    return {"title": title, "status": status, "detail": detail, "code": code, "remedy": remedy}


def of_error(error: IrError, arguments: Mapping[str, Any], names: Names | None = None) -> Refusal:
    """The refusal that an error is to somebody who asked with these arguments, and knows places by these names."""
    status = _status(error, arguments)
    told = told_of(error, names or own_names())
    later = {503: _LATER_S, 429: _JOBS_S}.get(status)
    headers = {} if later is None else {"retry-after": str(later)}
    return Refusal(status, told.code, told.message, remedy=told.remedy, headers=headers)


def told_of(error: IrError, names: Names) -> Problem:
    """What somebody elsewhere is told of an error: nothing of where things are on this machine."""
    told = describe(error, "http")
    return Problem(told.code, names.in_words(told.message), names.in_words(told.remedy))


def _status(error: IrError, arguments: Mapping[str, Any]) -> int:
    for kind, names in _CHOSEN.items():
        if isinstance(error, kind) and any(arguments.get(name) for name in names):
            return 422
    if error.code == "quota_exceeded":
        return 403
    return next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), 503)


def too_many(retry_after_s: float) -> Refusal:
    """Who asks too often."""
    seconds = max(1, math.ceil(retry_after_s))
    return Refusal(
        429,
        "too_many_requests",
        f"The limit of requests is used up; the next may come in {seconds} s.",
        remedy="Ask less often, or ask who runs the server for a higher limit.",
        headers={"retry-after": str(seconds)},
    )


def overloaded(told: str = "Too many calls are waiting.", *, close: bool = False) -> Refusal:
    """Who comes while too many wait already."""
    return Refusal(
        503,
        "overloaded",
        told,
        remedy="Try again in a moment.",
        headers={"retry-after": str(_LATER_S)},
        close=close,
    )
