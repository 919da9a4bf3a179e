"""Asking a JSON service over HTTP, on the standard library alone.

A passing failure (429, 5xx, a broken connection) is tried again with growing pauses, or when the server says so; a
whole answer has a deadline, tries included. Who is ``patient`` outwaits a rate limit until then. The key is sent to the
endpoint and shown nowhere else.
"""

from __future__ import annotations

import http.client
import io
import json
import re
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ir.errors import IrError
from ir.secrets.addresses import masked

__all__ = ["TRANSPORT", "Endpoint", "Passing", "RetryBudget", "TooLong"]

MAX_REPLY_BYTES = 10_000_000
READ_BYTES = 65_536
_SHOWN_CHARS = 200
_LONGEST_PAUSE_S = 20.0
#: What a connection may raise.
TRANSPORT = (OSError, http.client.HTTPException)
#: How servers say that a text is too long.
_LENGTH = re.compile(
    r"too (long|large|many tokens)|context (length|size|window)|max\w* .{0,40}(tokens|length)|exceed", re.I
)

Answer = TypeVar("Answer")


class Passing(Exception):
    """A failure that another try may mend; ``wait`` is what the server asked for, in seconds.

    ``limited``: the server only wants to be asked less often.
    """

    def __init__(self, message: str, wait: float | None = None, *, limited: bool = False) -> None:
        super().__init__(message)
        self.wait = wait
        self.limited = limited


class TooLong(Exception):
    """A text, or all of them together, is longer than the server takes; the message is what it said."""


class RetryBudget:
    """How many tries may be repeated over many calls: a service in trouble is not asked twice as much as before.

    Every call earns a share of a repetition, up to ``most``; threads may share one.

    >>> budget = RetryBudget(most=1, share=0.5)
    >>> budget.spends(), budget.spends(), budget.earn(), budget.earn(), budget.spends()
    (True, False, None, None, True)
    """

    def __init__(self, *, most: float = 10.0, share: float = 0.2) -> None:
        self._most = most
        self._share = share
        self._left = most
        self._lock = threading.Lock()

    def earn(self) -> None:
        with self._lock:
            self._left = min(self._left + self._share, self._most)

    def spends(self) -> bool:
        """Whether there is one left, which is then taken."""
        with self._lock:
            if self._left < 1:
                return False
            self._left -= 1
            return True


class _TimedStream(io.RawIOBase):
    """What a connection sends, until the deadline: a socket's own timeout begins anew with every byte."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline
        self._source = connection.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._connection.settimeout(left)
        return self._source.readinto(buffer)

    def close(self) -> None:
        self._source.close()
        super().close()


class _TimedHandler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    """Opens connections whose answers, headers included, must be there by a deadline."""

    def __init__(self, deadline: float) -> None:
        super().__init__()
        self._deadline = deadline

    def do_open(self, http_class: Any, req: urllib.request.Request, **http_conn_args: Any) -> Any:
        def connection(*args: Any, **kwargs: Any) -> http.client.HTTPConnection:
            made: http.client.HTTPConnection = http_class(*args, **kwargs)
            made.response_class = self._response  # type: ignore[assignment]
            return made

        return super().do_open(connection, req, **http_conn_args)

    def _response(self, connection: socket.socket, *args: Any, **kwargs: Any) -> http.client.HTTPResponse:
        response = http.client.HTTPResponse(connection, *args, **kwargs)
        response.fp.close()
        response.fp = io.BufferedReader(_TimedStream(connection, self._deadline))
        return response


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to another host."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


@dataclass(frozen=True)
class Endpoint:
    """One service. ``name`` begins sentences about it; ``error`` is what is raised; ``check`` says what to look at.

    With ``tells_length`` a refusal of something too long is :class:`TooLong`, for who can send less. The key goes as a
    bearer token, or as it is in the header ``key_header``. A ``budget`` limits tries over many calls.
    """

    base_url: str = field(repr=False)
    name: str
    error: type[IrError]
    check: str = "Check its address and key."
    setting: str = "base_url"
    api_key: str | None = field(default=None, repr=False)
    retries: int = 2
    backoff_s: float = 0.5
    max_bytes: int = MAX_REPLY_BYTES
    patient: bool = False
    tells_length: bool = False
    key_header: str | None = None
    budget: RetryBudget | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise self.error(f"{self.setting} must be an http or https address.", remedy=self.check)
        if parts.username or parts.password:
            raise self.error(
                f"{self.setting} must not hold a user name or password.",
                remedy=f"Put the key in an environment variable and its name in {self.setting[:-8]}api_key_env.",
            )
        if self.api_key is not None and not (self.api_key.isascii() and self.api_key.isprintable()):
            raise self.error(f"The key for {self.host} holds characters that no header may hold.")

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).netloc

    def post(self, path: str, body: Mapping[str, Any], timeout_s: float, *, method: str = "POST") -> Any:
        """The JSON answer to ``body``, within ``timeout_s``; ``None`` for an answer without a body."""
        deadline = time.monotonic() + timeout_s
        data = self.retrying(lambda: self.read(path, body, deadline, method=method), deadline)
        if not data and method != "POST":
            return None
        try:
            return json.loads(data)
        except (ValueError, RecursionError):  # lists in lists in lists have no end
            raise self.error(f"{self.name} answered with something that is not JSON.", remedy=self.check) from None

    def read(self, path: str, body: Mapping[str, Any], deadline: float, *, method: str = "POST") -> bytes:
        """One answer in whole, giving up at the deadline even on a server that drips."""
        data = b""
        left = max(deadline - time.monotonic(), 0.01)
        with self.open(path, body, left, deadline=deadline, method=method) as response:
            while chunk := response.read1(READ_BYTES):
                data += chunk
                if len(data) > self.max_bytes:
                    raise self.error(f"{self.name} sent an answer longer than {self.max_bytes:,} bytes.")
                if time.monotonic() > deadline:
                    raise TimeoutError("timed out")
            missing = response.length
        if missing:
            raise Passing("the answer broke off")
        return data

    @contextmanager
    def open(
        self,
        path: str,
        body: Mapping[str, Any],
        timeout: float,
        accept: str = "application/json",
        *,
        deadline: float | None = None,
        method: str = "POST",
    ) -> Iterator[http.client.HTTPResponse]:
        """The response to one request; a refusal raises. ``timeout`` bounds each wait, a ``deadline`` all of them."""
        headers = {"Content-Type": "application/json", "Accept": accept}
        if self.api_key and self.key_header:
            headers[self.key_header] = self.api_key
        elif self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        address = self.base_url.rstrip("/") + path
        request = urllib.request.Request(address, json.dumps(body).encode(), headers, method=method)
        timed = [_TimedHandler(deadline)] if deadline is not None else []
        opener = urllib.request.build_opener(_NoRedirect, *timed)
        try:
            response = opener.open(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refused(error) from None
        with response:
            yield response

    def retrying(self, attempt: Callable[[], Answer], deadline: float) -> Answer:
        """What ``attempt`` returns, tried again after passing failures until the deadline."""
        tries = 0
        if self.budget is not None:
            self.budget.earn()
        while True:
            try:
                return attempt()
            except (Passing, *TRANSPORT) as error:
                tries += 1
                asked = error.wait if isinstance(error, Passing) else None
                wait = asked if asked is not None else min(self.backoff_s * 2 ** (tries - 1), _LONGEST_PAUSE_S)
                outwaited = self.patient and isinstance(error, Passing) and error.limited
                ended = (tries > self.retries and not outwaited) or time.monotonic() + wait >= deadline
                if ended or (self.budget is not None and not self.budget.spends()):
                    raise self.error(
                        f"{self.name} did not answer after {tries} tries: {self.told(error)}.", remedy=self.check
                    ) from None
                time.sleep(wait)

    def told(self, error: BaseException) -> str:
        """What an error says, without the key."""
        reason = getattr(error, "reason", None) or error
        return self._masked(str(reason).strip() or type(reason).__name__)

    def _refused(self, error: urllib.error.HTTPError) -> Exception:
        try:
            said = self._masked(" ".join(error.read(2000).decode("utf-8", "replace").split()))[:_SHOWN_CHARS]
        except TRANSPORT:
            said = ""
        message = f"HTTP status {error.code}" + (f" ({said})" if said else "")
        if self.tells_length and error.code in (400, 413, 422) and _LENGTH.search(said + error.reason):
            return TooLong(message)
        if error.code == 429 or error.code >= 500:
            return Passing(message, _asked_wait(error.headers), limited=error.code == 429)
        return self.error(f"{self.name} refused the request: {message}.", remedy=self.check)

    def _masked(self, text: str) -> str:
        return masked(text.replace(self.api_key, "***") if self.api_key else text)


def _asked_wait(headers: Message | None) -> float | None:
    """How long a server asks to be left alone, in seconds: as a number, in milliseconds, or as a date."""
    said = {name.lower(): str(value).strip() for name, value in headers.items()} if headers else {}
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            wait = float(said[name]) * unit
        except (KeyError, ValueError):
            continue
        if 0 <= wait < float("inf"):
            return wait
    try:
        at = parsedate_to_datetime(said["retry-after"])
    except (KeyError, ValueError, TypeError):
        return None
    return max(at.timestamp() - time.time(), 0.0)
