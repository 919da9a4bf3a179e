"""Server-sent events: what comes piece by piece, as it comes."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
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
#: So often it is looked whether who listens still may.
_LOOK_S = 2.0
_END = object()


def wants_events(request: Request) -> bool:
    """Whether the client asks for events rather than for one answer."""
    return EVENTS in request.headers.get("accept", "")


def event(kind: str, data: Any) -> bytes:
    """One event on the wire."""
    return b"event: " + kind.encode() + b"\ndata: " + encoded(data) + b"\n\n"


class Stream:
    """Events that come from a thread. ``tell`` may be called anywhere; ``stop`` is set when nobody listens any more.

    ``still`` says whether who listens still may. With ``latest``, of the events that wait for a slow client only the
    last is kept: each says all that there is to say.
    """

    def __init__(self, still: Callable[[], Awaitable[bool]], *, latest: bool = False) -> None:
        self.stop = threading.Event()
        self._still = still
        self._latest = latest
        self._loop = asyncio.get_running_loop()
        self._items: deque[Any] = deque()
        self._came = asyncio.Event()

    def tell(self, kind: str, data: Any) -> None:
        self._put((kind, data))

    def end(self) -> None:
        self._put(_END)

    def _put(self, item: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(self._add, item)
        except RuntimeError:  # the server has ended
            self.stop.set()

    def _add(self, item: Any) -> None:
        if self._latest and item is not _END:
            self._items.clear()
        self._items.append(item)
        self._came.set()

    async def _next(self) -> Any:
        while not self._items:
            self._came.clear()
            await self._came.wait()
        return self._items.popleft()

    async def response(
        self,
        closing: asyncio.Event,
        first: tuple[str, Any] | None = None,
        listening: AbstractContextManager[None] | None = None,
    ) -> StreamingResponse:
        """The events as they come; ``listening`` is entered when somebody is there, and left when nobody is."""
        return StreamingResponse(
            self._bytes(closing, first, listening or nullcontext()),
            media_type=EVENTS,
            headers={"x-accel-buffering": "no"},
        )

    async def _bytes(
        self, closing: asyncio.Event, first: tuple[str, Any] | None, listening: AbstractContextManager[None]
    ) -> AsyncIterator[bytes]:
        ended = asyncio.ensure_future(closing.wait())
        said = looked = time.monotonic()
        try:
            with listening:
                if first is not None:
                    yield event(*first)
                while True:
                    coming = asyncio.ensure_future(self._next())
                    await asyncio.wait({coming, ended}, timeout=_LOOK_S, return_when=asyncio.FIRST_COMPLETED)
                    now = time.monotonic()
                    if now - looked >= _LOOK_S:
                        looked = now
                        if not await self._still():
                            coming.cancel()
                            return
                    if coming.done():
                        item = coming.result()
                        if item is _END:
                            return
                        said = now
                        yield event(*item)
                        continue
                    coming.cancel()
                    if ended.done():
                        return
                    if now - said >= _BEAT_S:
                        said = now
                        yield b": still here\n\n"
        finally:
            self.stop.set()
            ended.cancel()

    async def begun(self, request: Request, seconds: float) -> tuple[str, Any]:
        """The first event, as long as the client waits for it; then it is too late for a refusal."""
        coming = asyncio.ensure_future(self._next())
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
    still: Callable[[], Awaitable[bool]],
) -> StreamingResponse:
    """The events that the work tells. What goes wrong before the first of them is a refusal like any other; after it,
    an event ``error``."""
    stream = Stream(still)

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
    return await stream.response(closing, first)
