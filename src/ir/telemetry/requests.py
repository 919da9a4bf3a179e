"""A request while it is answered: a figure when it ends, and a span that those of its queries are below."""

from __future__ import annotations

from contextlib import suppress
from contextvars import ContextVar, Token
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ir.config.workspace import current_workspace
from ir.errors import IrError
from ir.secrets.texts import for_show

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

    from ir.telemetry import Seen
    from ir.telemetry.recorder import Recorder

__all__ = ["Request"]

#: The request that what happens now is a part of.
_current: ContextVar[Request | None] = ContextVar("ir_telemetry_request", default=None)
#: So much of a query is kept, where that was asked for.
_MOST_CHARS = 500
_STOPPED = ("CancelledError", "GeneratorExit", "KeyboardInterrupt")


class Request:
    """Counts itself, unless it is a part of another: a door and the operation behind it tell of the same one.

    The workspace is known inside, where the operation runs, and so is an error that the door turns into an answer.
    """

    def __init__(self, recorder: Recorder, seen: Seen, operation: str, door: str, query: str | None) -> None:
        self._recorder = recorder
        self._seen = seen
        self._operation = operation
        self._door = door
        self._query = query
        self._outer: Request | None = None
        self._workspace: str | None = None
        self._over = False

    def __enter__(self) -> Seen:
        outer = _current.get()
        if outer is not None and not outer._over:  # a job that it began may go on after it, and is one by itself
            self._outer = outer
            self._tell_of_itself(outer)
            return self._seen
        self._token: Token[Request | None] = _current.set(self)
        self._recorder.record("ir.request.active", 1, door=self._door)
        self._began = perf_counter()
        self._spanned = None if self._recorder.tracer is None else _Spanned(self._recorder.tracer)
        return self._seen

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is not None:
            self._seen.outcome = _code_of(error)
        if self._outer is not None:
            if self._outer._operation == self._operation and self._outer._seen.outcome == "ok":
                self._outer._seen.outcome = self._seen.outcome
            return
        self._over = True
        self._count((perf_counter() - self._began) * 1e3)
        with suppress(ValueError):  # a stream that was closed from elsewhere: the context that knew of it is gone
            _current.reset(self._token)

    def _tell_of_itself(self, outer: Request) -> None:
        outer._workspace = current_workspace()
        if outer._query is None:
            outer._query = self._query

    def _count(self, ms: float) -> None:
        outcome, workspace = self._seen.outcome, self._workspace or current_workspace()
        about = {"door": self._door, "operation": self._operation, "outcome": outcome}
        self._recorder.record("ir.request.active", -1, door=self._door)
        self._recorder.record("ir.request.duration_ms", ms, **about)
        self._recorder.record("ir.workspace.requests", 1, workspace=workspace)
        if self._spanned is not None:
            known = self._recorder.labels.bounded({**about, "workspace": workspace})
            self._spanned.end(known, failed=outcome != "ok", query=self._query)


class _Spanned:
    """The span of a request, which is where the spans of its queries hang."""

    def __init__(self, tracer: Tracer) -> None:
        from opentelemetry import context, trace

        self._span: Span = tracer.start_span("ir.request")
        self._token = context.attach(trace.set_span_in_context(self._span))

    def end(self, known: dict[str, Any], *, failed: bool, query: str | None) -> None:
        from opentelemetry import context
        from opentelemetry.trace import StatusCode

        self._span.set_attributes({f"ir.{name}": value for name, value in known.items()})
        if query is not None:
            self._span.set_attribute("ir.query", for_show(query)[:_MOST_CHARS])
        if failed:
            self._span.set_status(StatusCode.ERROR)
        self._span.end()
        context.detach(self._token)


def _code_of(error: BaseException) -> str:
    """What an error is called: its own code, and nothing of its message."""
    if isinstance(error, IrError):
        return error.code
    return "cancelled" if type(error).__name__ in _STOPPED else "unexpected"
