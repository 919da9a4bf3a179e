"""The process that listens: uvicorn, with an end to slow heads, and an orderly way to leave."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from http import HTTPStatus
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ir.errors import InvalidInput
from ir.web.application import Application
from ir.web.limits import Limits
from ir.web.refusals import PROBLEM, Refusal, overloaded

__all__ = ["Server", "listening"]


def listening(host: str, port: int) -> socket.socket:
    """A socket at an address; port 0 takes any that is free."""
    if not 0 <= port <= 65535:
        raise InvalidInput(
            f"There is no port {port}.", remedy="Choose one from 1 to 65535 with --port; 0 is any free one."
        )
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.socket(found[0], socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise InvalidInput(
            f"Nothing can listen at {host!r}: {error}.", remedy="Give an address of this machine."
        ) from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(found[4])
        listener.listen(1024)  # whoever reads the address may come at once
    except OSError as error:
        listener.close()
        raise InvalidInput(
            f"Nothing can listen at {host} on port {port}: {error.strerror or error}.",
            remedy="Choose another with --port.",
        ) from error
    return listener


class Server(uvicorn.Server):
    """Serves an application until it is told to stop: then no call begins, those that run end, and jobs are undone."""

    def __init__(self, application: Application) -> None:
        limits = application.limits
        self._application = application
        super().__init__(
            uvicorn.Config(
                application,
                http=_protocol(limits),
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_keep_alive=int(limits.idle_s),
                timeout_graceful_shutdown=int(limits.drain_s),
                lifespan="on",
            )
        )

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal asks to leave, the second does not wait. uvicorn's own would end the process by the same
        signal once all is done; whoever looks after a service takes that for a failure."""
        self.force_exit = self.should_exit
        if self.force_exit:  # what is cut off now is no failure to be told of
            logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        self.should_exit = True
        self._application.close_soon()

    def stop(self) -> None:
        """End as on a signal; may be called on any thread."""
        self._application.close_soon()
        self.should_exit = True

    @property
    def port(self) -> int:
        """Where it listens, once it does."""
        return int(self.servers[0].sockets[0].getsockname()[1])


def _protocol(limits: Limits) -> type[asyncio.Protocol]:
    """uvicorn's protocol, with an end to heads of requests that never end: in time, and in length.

    When all connections are taken, the one that has been idle longest gives way. If none is idle, whoever comes gets
    one of the reserve, on which nothing is answered but whether the server is well.
    """

    class Protocol(HttpToolsProtocol):
        _timer: asyncio.TimerHandle | None = None
        _head = 0
        _idle_since: float | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._await_head()
            if len(self.connections) > limits.connections:
                self._make_room()
            if len(self.connections) > limits.connections + limits.reserve:
                self._cut_off(overloaded("Too many clients are connected."))

        def _make_room(self) -> None:
            """Let the connection go on which nothing has happened for longest, if there is one."""
            others: list[Any] = [one for one in self.connections if one is not self]
            idle = [one for one in others if one._idle_since is not None]
            if idle:
                found = min(idle, key=lambda one: one._idle_since)
                found._cut_off(Refusal(408, "too_slow", "Others need the connection."))
                self.connections.discard(found)

        def connection_lost(self, exc: Exception | None) -> None:
            self._head_is_here()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._timer is not None:
                self._head += len(data)
            super().data_received(data)
            if self._timer is not None and self._head > limits.head_bytes:
                self._cut_off(Refusal(431, "head_too_long", "The head of the request is too long."))

        def on_message_begin(self) -> None:
            if self._timer is None:
                self._await_head()
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._head_is_here()
            self._idle_since = None
            self.scope["reserve"] = len(self.connections) > limits.connections  # type: ignore[typeddict-unknown-key]
            super().on_headers_complete()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            if self.cycle is None or self.cycle.response_complete:  # no further request has come meanwhile
                self._idle_since = time.monotonic()

        def _await_head(self) -> None:
            self._head = 0
            self._idle_since = self._idle_since or time.monotonic()
            late = Refusal(408, "too_slow", "The head of the request did not come in time.")
            self._timer = self.loop.call_later(limits.head_s, self._cut_off, late)

        def _head_is_here(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _cut_off(self, refusal: Refusal) -> None:
            awaited = self._timer is not None
            self._head_is_here()
            if self.transport is None or self.transport.is_closing():
                return
            if awaited and (self.cycle is None or self.cycle.response_complete):
                body = refusal.body()
                headers = {"content-type": PROBLEM, "content-length": str(len(body)), **refusal.headers}
                told = "".join(f"{name}: {value}\r\n" for name, value in (headers | {"connection": "close"}).items())
                phrase = HTTPStatus(refusal.status).phrase
                self.transport.write(f"HTTP/1.1 {refusal.status} {phrase}\r\n{told}\r\n".encode() + body)
            self.transport.close()

    return Protocol
