"""Server-sent events: what comes piece by piece, as it comes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi import Request
from fastapi.responses import StreamingResponse

from ir.errors import Cancelled, IrError
from ir.web.answers import encoded, is_gone
from ir.web.refusals import Gone, of_error
from ir.web.workers import Workers

__all__ = ["EVENTS", "Stream", "event", "wants_events"]

EVENTS = "text/event-stream"
#: So often something is sent while nothing happens, so that nobody between takes the connection for dead.
_BEAT_S = 15.0
_END = object()


def wants_events(request: Request) -> bool:
    """Whether the client asks for events rather than for one answer."""
    return EVENTS in request.headers.get("accept", "")


def event(kind: str, data: Any) -> bytes:
    """One event on the wire."""
    return b"event: " + kind.encode() + b"\ndata: " + encoded(data) + b"\n\n"


class Stream:
    """Events that come from a thread. ``tell`` may be called anywhere; ``stop`` is set when nobody listens any more."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Any] = asyncio.Queue()

    def tell(self, kind: str, data: Any) -> None:
        self._put((kind, data))

    def end(self) -> None:
        self._put(_END)

    def _put(self, item: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, item)
        except RuntimeError:  # the server has ended
            self.stop.set()

    async def response(
        self, request: Request, closing: asyncio.Event, first: tuple[str, Any] | None = None
    ) -> StreamingResponse:
        return StreamingResponse(
            self._bytes(request, closing, first), media_type=EVENTS, headers={"x-accel-buffering": "no"}
        )

    async def _bytes(
        self, request: Request, closing: asyncio.Event, first: tuple[str, Any] | None
    ) -> AsyncIterator[bytes]:
        ended = asyncio.ensure_future(closing.wait())
        try:
            if first is not None:
                yield event(*first)
            while True:
                coming = asyncio.ensure_future(self._queue.get())
                await asyncio.wait({coming, ended}, timeout=_BEAT_S, return_when=asyncio.FIRST_COMPLETED)
                if coming.done():
                    item = coming.result()
                    if item is _END:
                        return
                    yield event(*item)
                    continue
                coming.cancel()
                if ended.done():
                    return
                yield b": still here\n\n"
        finally:
            self.stop.set()
            ended.cancel()

    async def begun(self, request: Request, seconds: float) -> tuple[str, Any]:
        """The first event, as long as the client waits for it; then it is too late for a refusal."""
        coming = asyncio.ensure_future(self._queue.get())
        leaving = asyncio.ensure_future(is_gone(request.receive))
        try:
            await asyncio.wait({coming, leaving}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if coming.done():
                first: tuple[str, Any] = coming.result()
                return first
            self.stop.set()
            raise Gone
        finally:
            coming.cancel()
            leaving.cancel()


async def streamed(
    request: Request,
    workers: Workers,
    work: Callable[[Stream], None],
    closing: asyncio.Event,
    seconds: float,
    arguments: dict[str, Any],
) -> StreamingResponse:
    """The events that the work tells. What goes wrong before the first of them is a refusal like any other; after it,
    an event ``error``."""
    stream = Stream()

    def run() -> None:
        try:
            work(stream)
        except Cancelled:
            pass
        except IrError as error:
            stream.tell("refusal", of_error(error, arguments))
        except Exception as error:
            stream.tell("failure", error)
        finally:
            stream.end()

    workers.submit(run)
    first = await stream.begun(request, seconds)
    if first is _END:
        raise Gone
    if first[0] in ("refusal", "failure"):
        raise first[1]
    return await stream.response(request, closing, first)
