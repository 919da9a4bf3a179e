"""An operation is asked over HTTP: on a thread, for as long as the client waits and no longer than it may take."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import orjson
from fastapi import Request, Response

from ir.app.operation import Value
from ir.base import json_clean
from ir.errors import Cancelled, DeadlineExceeded, IrError
from ir.web.refusals import Gone, Refusal, of_error
from ir.web.workers import Workers

__all__ = ["JSON", "answered", "arguments_of", "as_json", "encoded", "is_gone", "late"]

JSON = "application/json"
_OPTIONS = (
    orjson.OPT_NON_STR_KEYS
    | orjson.OPT_SERIALIZE_NUMPY
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)
_OBJECT = 'Send the fields as an object, such as {"query": "tea"}; /openapi.json has an example of each.'
#: What nobody writes by hand is not followed deeper than this.
_DEEPEST = 64
#: So long after its time a call still gets to say so itself.
_GRACE_S = 0.25

_Result = TypeVar("_Result")
Work = Callable[[threading.Event], _Result]


async def arguments_of(request: Request) -> dict[str, Any]:
    """The fields that the body of a request has; a body that is no JSON object is refused."""
    body = await request.body()
    try:
        given = orjson.loads(body) if body.strip() else {}
    except orjson.JSONDecodeError as error:
        told = f"The body is not JSON: {error.msg} at character {error.pos}."
        raise Refusal(400, "not_json", told, remedy=_OBJECT) from None
    if not isinstance(given, dict):
        raise Refusal(
            400, "not_an_object", "The body must be a JSON object with the fields of the request.", remedy=_OBJECT
        )
    if _is_deep(given):
        raise Refusal(400, "too_deep", f"The body is nested more than {_DEEPEST} deep.")
    return given


def _is_deep(value: Any) -> bool:
    """Whether a value is nested deeper than whoever looks into it would follow."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for one in level
            for inner in (one.values() if isinstance(one, dict) else one)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def encoded(value: Any) -> bytes:
    """JSON of values and of responses, as their ``to_dict`` has it: what is plain already is not made so again.

    What the quick way does not take, as a number of more than 64 bits or half a character, goes the other.
    """
    shallow = isinstance(value, Value) and type(value).to_dict is Value.to_dict
    told = {item.name: getattr(value, item.name) for item in fields(value)} if shallow else value
    try:
        return orjson.dumps(told, option=_OPTIONS, default=_plain)
    except TypeError:
        return json.dumps(json_clean(value), ensure_ascii=True).encode()


def _plain(value: Any) -> Any:
    return value.to_dict() if is_dataclass(value) and hasattr(value, "to_dict") else json_clean(value)


def as_json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(encoded(value), status, headers, media_type=JSON)


async def answered(
    request: Request, workers: Workers, work: Work[_Result], seconds: float, arguments: Mapping[str, Any]
) -> _Result:
    """What comes of the work on a thread. It is told by an event when nobody waits for it any more: because the
    client left, or because it takes longer than it may."""
    stop = threading.Event()
    running = workers.submit(lambda: work(stop))
    leaving = asyncio.ensure_future(is_gone(request.receive))
    try:
        either: set[asyncio.Future[Any]] = {running, leaving}
        await asyncio.wait(either, timeout=seconds + _GRACE_S, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            return running.result()
        if leaving.done():
            raise Gone
        raise late(seconds)
    except Cancelled as error:
        raise Gone from error
    except IrError as error:
        raise of_error(error, arguments) from error
    finally:
        stop.set()
        running.cancel()
        if not leaving.done():
            leaving.cancel()
            with suppress(asyncio.CancelledError):
                await leaving


async def is_gone(receive: Callable[[], Awaitable[Any]]) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def late(seconds: float) -> Refusal:
    error = DeadlineExceeded(f"The call took longer than {seconds:g} s.", remedy="Ask for less at once.")
    return of_error(error, {})
