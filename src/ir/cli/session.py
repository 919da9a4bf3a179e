"""What every command does around its operation: settings in, progress on stderr, an exit code out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ir import telemetry
from ir.app.context import Context
from ir.app.operation import Operation, Value
from ir.app.policy import AS_SET, Policy
from ir.app.pool import Pool
from ir.cli.output import Output
from ir.cli.progress import Reporter
from ir.cli.streams import is_attended
from ir.cli.warm import asked_of_daemon
from ir.config import Settings

__all__ = ["perform"]

Request = TypeVar("Request", bound=Value)
Response = TypeVar("Response", bound=Value)


def perform(
    operation: Operation[Request, Response],
    request: Request,
    show: Callable[[Response, Output], Any],
    *,
    as_json: bool,
    settings: Settings | None = None,
    policy: Policy = AS_SET,
    emit: Callable[[Any], None] | None = None,
) -> Response:
    """Run an operation and print its response: as JSON, or by ``show``. ``settings`` stand for the user's own.

    Who types a question at a terminal wants an answer from a folder that has no index yet, and from files as they are
    now: so what is asked is prepared, as ``policy`` says. ``emit`` is given what comes piece by piece.
    """
    output = Output(as_json=as_json)
    with Reporter() as reporter:
        held, attended = settings or Settings.load(), is_attended()
        response: Response | None = None
        if not policy.wait and policy.upgrade is None and emit is None:
            refresh = policy.refresh
            response = asked_of_daemon(operation.name, request, held, reporter.note, refresh=refresh, attended=attended)
        if response is None:
            from ir.app.preparing import answer

            context = Context(held, reporter.progress, reporter.note, door="cli", pool=Pool(), background=attended)
            context.emit = emit or context.emit
            with telemetry.during(held):
                response = answer(operation, request, context, policy=policy)
    if not output.json(response):
        show(response, output)
    return response
