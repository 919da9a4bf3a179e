"""What stands before the application: nothing gets past that comes from the wrong place, from nobody, too slowly or too
long, and everything that leaves says what it is and is written down."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, MutableMapping
from secrets import token_hex
from typing import Any

from ir.events import emit
from ir.web.admission import Admission, Guest
from ir.web.limits import Limits
from ir.web.logs import Logs
from ir.web.origins import Origins
from ir.web.refusals import PROBLEM, Gone, Refusal, overloaded

__all__ = ["CSP", "Guard"]

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_ALWAYS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
]
_PLAIN_CSP = b"default-src 'none'; frame-ancestors 'none'"
#: Who comes here has to be known.
_GUARDED = ("/v1/", "/mcp", "/metrics")
#: Who looks whether the server is well is answered from the reserve.
_PROBES = ("/healthz", "/readyz")
_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
#: So much of a body that is not wanted is still read, so that the client comes to read why.
_DRAIN_BYTES = 8_000_000
_DRAIN_S = 1.0
_CORS = b"authorization, content-type, x-request-id"


class Guard:
    """The outermost application. ``scope["guest"]`` is who asks, ``scope["request_id"]`` what the request is called."""

    def __init__(self, app: App, admission: Admission, origins: Origins, limits: Limits, logs: Logs) -> None:
        self._app = app
        self._admission = admission
        self._origins = origins
        self._limits = limits
        self._logs = logs

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        visit = _Visit(scope, send, self._origins)
        try:
            await self._let_in(visit, scope, receive)
        except Refusal as refusal:
            if not visit.status:
                await visit.refuse(refusal)
        except Gone:
            visit.status = visit.status or 499
        except Exception as error:
            visit.error = error
            if not visit.status:
                await visit.refuse(Refusal(500, "unexpected", "Unexpected; the log of the server says where."))
        finally:
            told = visit.told()
            self._logs.answered(told, visit.error)
            emit("ir.http.duration_ms", told["ms"], route=_route_of(scope), status=visit.status)

    async def _let_in(self, visit: _Visit, scope: Scope, receive: Receive) -> None:
        if scope.get("reserve") and scope["path"] not in _PROBES:
            raise overloaded("Too many clients are connected.", close=True)
        self._origins.check(visit.headers)
        if scope["method"] == "OPTIONS" and visit.origin and b"access-control-request-method" in visit.headers:
            await visit.answer_preflight()
            return
        path = scope["path"]
        if path.startswith(_GUARDED):
            given = visit.headers.get(b"authorization")
            guest = await self._admission.guest(None if given is None else given.decode("latin-1"))
            scope["guest"] = visit.guest = guest
        await self._app(scope, await self._whole(visit, receive), visit.send)

    async def _whole(self, visit: _Visit, receive: Receive) -> Receive:
        """A way to receive what was sent, once all of it is here; then whether the client leaves."""
        most, length = self._limits.body_bytes, visit.headers.get(b"content-length")
        if length is None and b"transfer-encoding" not in visit.headers:
            return receive
        if length is not None and int(length) > most:
            await _drain(receive)
            raise _too_long(most)
        body = bytearray()
        try:
            async with asyncio.timeout(self._limits.body_s):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Gone
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(body) > most:
                        await _drain(receive)
                        raise _too_long(most)
        except TimeoutError:
            raise Refusal(
                408, "too_slow", f"The request was not complete after {self._limits.body_s:g} s.", close=True
            ) from None
        return _replay(bytes(body), receive)


def _route_of(scope: Scope) -> str:
    """What was asked for, by a name of ours: a path may hold anything."""
    if scope["path"] == "/mcp":
        return "mcp"
    return getattr(scope.get("route"), "operation_id", None) or "none"


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


async def _drain(receive: Receive) -> None:
    """Read on for a moment: a client that is cut off while it sends never reads what was wrong."""
    left = _DRAIN_BYTES
    try:
        async with asyncio.timeout(_DRAIN_S):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return
    except TimeoutError:
        return


def _too_long(most: int) -> Refusal:
    return Refusal(413, "too_long", f"A request may have {most:,} bytes.", remedy="Send less at a time.", close=True)


class _Visit:
    """One request on its way: how it is called, and what was answered."""

    def __init__(self, scope: Scope, send: Send, origins: Origins) -> None:
        self.headers = dict(scope["headers"])
        self.guest: Guest | None = None
        self.status = 0
        self.error: Exception | None = None
        self._send = send
        self._scope = scope
        self._bytes = 0
        self._began = time.perf_counter()
        given = self.headers.get(b"x-request-id", b"")
        self.id = given if _ID.fullmatch(given) else token_hex(8).encode()
        origin = self.headers.get(b"origin")
        self.origin = origin if origin is not None and origin.decode("latin-1") in origins.foreign else None
        scope["request_id"] = self.id.decode()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = list(message.get("headers", ()))
            named = {name.lower() for name, _ in headers}
            more = [*_ALWAYS, (b"x-request-id", self.id)]
            if b"content-security-policy" not in named:
                more.append((b"content-security-policy", _PLAIN_CSP))
            if b"cache-control" not in named:
                more.append((b"cache-control", b"no-store"))
            if self.origin is not None:
                more += [
                    (b"access-control-allow-origin", self.origin),
                    (b"access-control-expose-headers", b"location, retry-after, x-request-id"),
                    (b"vary", b"origin"),
                ]
            message = {**message, "headers": [*headers, *more]}
        else:
            self._bytes += len(message.get("body", b""))
        await self._send(message)

    async def refuse(self, refusal: Refusal) -> None:
        body = refusal.body()
        headers = [(b"content-type", PROBLEM.encode()), (b"content-length", str(len(body)).encode())]
        headers += [(name.encode(), value.encode()) for name, value in refusal.headers.items()]
        await self.send({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})

    async def answer_preflight(self) -> None:
        headers = [
            (b"access-control-allow-methods", b"GET, POST, DELETE"),
            (b"access-control-allow-headers", _CORS),
            (b"access-control-max-age", b"600"),
        ]
        await self.send({"type": "http.response.start", "status": 204, "headers": headers})
        await self.send({"type": "http.response.body", "body": b""})

    def told(self) -> dict[str, Any]:
        """What is written down of it: never what was asked or found, unless the user wants that."""
        told: dict[str, Any] = {
            "request": self.id.decode(),
            "method": self._scope["method"],
            "path": self._scope["path"],
            "status": self.status,
            "ms": round((time.perf_counter() - self._began) * 1000, 1),
            "bytes": self._bytes,
        }
        if self.guest is not None:
            told["workspace"] = self.guest.workspace
            if self.guest.token is not None:
                told["token"] = self.guest.token.id
        if "asked" in self._scope:
            told["asked"] = self._scope["asked"]
        return told
