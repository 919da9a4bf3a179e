"""A real server on loopback, in a thread of the test or in a process of its own, and a plain client for it."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ir.access import Access, open_access
from ir.web import Application, Limits, Server, listening
from ir.web.origins import Origins

LIMITS = Limits(threads=2, drain_s=5)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """The code of a problem, whose form is checked on the way."""
        assert self.headers["content-type"] == "application/problem+json", self.body
        told = self.json
        assert set(told) == {"title", "status", "detail", "code", "remedy"}
        assert told["status"] == self.status
        return str(told["code"])


@dataclass
class Client:
    """Asks one server, with or without a token."""

    port: int
    token: str | None = None

    def ask(
        self, method: str, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None, timeout: float = 30
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        sent = dict(headers or {})
        if self.token is not None:
            sent.setdefault("Authorization", f"Bearer {self.token}")
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        try:
            connection.request(method, path, data, sent)
            got = connection.getresponse()
            return Answer(got.status, {name.lower(): value for name, value in got.getheaders()}, got.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def call(self, operation: str, **arguments: Any) -> Answer:
        return self.ask("POST", f"/v1/{operation}", arguments)

    def with_token(self, secret: str | None) -> Client:
        return Client(self.port, secret)

    def finished(self, job: str, seconds: float = 30) -> Any:
        """The job once it is over."""
        deadline = time.monotonic() + seconds
        while (told := self.get(f"/v1/jobs/{job}").json)["state"] in ("waiting", "running"):
            assert time.monotonic() < deadline, told
            time.sleep(0.02)
        return told

    def events(self, method: str, path: str, body: Any = None) -> Iterator[tuple[str, Any]]:
        """Server-sent events as they come; whoever stops listening leaves."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {"Accept": "text/event-stream"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        try:
            connection.request(method, path, None if body is None else json.dumps(body).encode(), headers)
            got = connection.getresponse()
            assert got.status == 200, got.read()
            assert got.headers["content-type"].startswith("text/event-stream")
            kind = ""
            while line := got.readline():
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "event":
                    kind = value
                elif name == "data":
                    yield kind, json.loads(value)
        finally:
            connection.close()


@dataclass
class Served(Client):
    """A server in this process."""

    server: Server = None  # type: ignore[assignment]
    application: Application = None  # type: ignore[assignment]
    access: Access = None  # type: ignore[assignment]

    def token_for(self, name: str = "a", **about: Any) -> str:
        about.setdefault("scopes", ["read"])
        return self.access.create(name, **about)[1]


@contextmanager
def serving(
    limits: Limits = LIMITS,
    *,
    access: str | None = None,
    host: str = "127.0.0.1",
    names: tuple[str, ...] = (),
    foreign: tuple[str, ...] = (),
    always: bool = False,
    log_queries: bool = False,
) -> Iterator[Served]:
    """A server on a free port of loopback, which ends with the block."""
    kept = open_access(access)
    origins = Origins.of(host, names, foreign)
    application = Application(kept, limits, origins, always=always, log_queries=log_queries)
    listener = listening("127.0.0.1", 0)
    server = Server(application)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="server")
    thread.start()
    try:
        served = Served(listener.getsockname()[1], server=server, application=application, access=open_access(access))
        wait_until(lambda: server.started or not thread.is_alive())
        assert server.started
        yield served
        served.access.close()
    finally:
        server.stop()
        thread.join(30)
        listener.close()
        assert not thread.is_alive()


class Process(Client):
    """``ir serve`` in a process of its own; ``lines`` are what it wrote to stderr."""

    def __init__(self, *options: str, **environ: str) -> None:
        super().__init__(0)
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ir", "serve", "--port", "0", *options],
            stderr=subprocess.PIPE,
            env={**os.environ, **environ},
            text=True,
        )
        self.lines: list[str] = []
        assert self.process.stderr is not None
        first = self.process.stderr.readline()
        self.lines.append(first)
        found = re.search(r":(\d+)/", first)
        assert found, first + self.process.stderr.read()
        self.port = int(found[1])
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.lines.extend(self.process.stderr)

    def ready(self) -> bool:
        try:
            return self.get("/readyz").status == 200
        except OSError:
            return False

    def end(self, *, kill: bool = False) -> int:
        """Stop it as a service manager does, or as nobody should."""
        (self.process.kill if kill else self.process.terminate)()
        code = self.process.wait(60)
        self._reader.join(10)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code


def wait_until(true: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.01)
