"""What every command does around its operation: settings in, progress on stderr, an exit code out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ir.app.context import Context
from ir.app.operation import Value
from ir.cli.output import Output
from ir.cli.progress import Reporter
from ir.config import Settings

__all__ = ["perform"]

Request = TypeVar("Request", bound=Value)
Response = TypeVar("Response", bound=Value)


def perform(
    operation: Callable[[Request, Context], Response],
    request: Request,
    show: Callable[[Response, Output], Any],
    *,
    as_json: bool,
    settings: Settings | None = None,
) -> Response:
    """Run an operation and print its response: as JSON, or by ``show``. ``settings`` stand for the user's own."""
    output = Output(as_json=as_json)
    with Reporter() as reporter:
        context = Context(settings or Settings.load(), reporter.progress, reporter.note)
        response = operation(request, context)
    if not output.json(response):
        show(response, output)
    return response
