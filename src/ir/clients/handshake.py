"""Starting a server as a client does, and asking who it is and what it offers."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Any

__all__ = ["Handshake", "HandshakeFailed", "shake_hands"]

_VERSION = "2025-06-18"
_LONGEST = 200
#: What a client lets a server have of its own environment; more than that only some do.
_PASSED_ON = (
    *("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"),
    *("APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT"),
    *("TEMP", "USERNAME", "USERPROFILE"),
)


@dataclass(frozen=True)
class Handshake:
    """What a server said about itself, and after how long."""

    server: str
    version: str
    protocol: str
    tools: tuple[str, ...]
    seconds: float


class HandshakeFailed(Exception):
    """The server did not answer as one should; the message says what it did."""


def shake_hands(words: Sequence[str], env: Mapping[str, str], *, timeout_s: float = 30.0) -> Handshake:
    """Start ``words`` with little more than ``env`` around it, and do ``initialize`` and ``tools/list``."""
    began = time.monotonic()
    with _started(words, env) as (process, complaints):
        talk = _Talk(process, began + timeout_s)
        try:
            about = talk.ask(
                "initialize",
                {"protocolVersion": _VERSION, "capabilities": {}, "clientInfo": {"name": "ir install", "version": "1"}},
            )
            talk.tell("notifications/initialized")
            tools = tuple(talk.tools())
        except HandshakeFailed as error:
            last = _last_line(process, complaints)
            raise HandshakeFailed(f"{error}; it said: {last}" if last else str(error)) from None
    who = about.get("serverInfo")
    who = who if isinstance(who, dict) else {}
    return Handshake(
        str(who.get("name", "")),
        str(who.get("version", "")),
        str(about.get("protocolVersion", "")),
        tools,
        round(time.monotonic() - began, 3),
    )


@contextmanager
def _started(words: Sequence[str], env: Mapping[str, str]) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    around = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    with tempfile.TemporaryFile() as complaints:
        try:
            process = subprocess.Popen(
                list(words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                env={**around, **env},
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise HandshakeFailed(f"{words[0]} cannot be started: {reason or error}") from None
        try:
            yield process, complaints
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close its input, as a client does that leaves; a server that stays nevertheless is ended."""
    with suppress(OSError):
        if process.stdin:
            process.stdin.close()
    for step in (process.poll, process.terminate, process.kill):
        step()
        with suppress(subprocess.TimeoutExpired):
            process.wait(2)
            break
    if process.stdout:
        process.stdout.close()


class _Talk:
    """Questions and answers, one JSON document to a line."""

    def __init__(self, process: subprocess.Popen[bytes], deadline: float) -> None:
        self._process, self._deadline, self._asked = process, deadline, 0
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with suppress(OSError, ValueError):
            for line in self._process.stdout or ():
                self._lines.put(line)
        self._lines.put(b"")

    def tell(self, method: str, params: Mapping[str, Any] | None = None, **more: Any) -> None:
        message = {"jsonrpc": "2.0", **more, "method": method, **({"params": params} if params is not None else {})}
        try:
            if self._process.stdin:
                self._process.stdin.write(json.dumps(message).encode() + b"\n")
                self._process.stdin.flush()
        except OSError:
            raise HandshakeFailed("the server ended") from None

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self._asked += 1
        self.tell(method, params, id=self._asked)
        while True:
            message = self._next(method)
            if message.get("id") != self._asked or "method" in message:
                continue
            if "error" in message:
                error = message["error"]
                said = error.get("message") if isinstance(error, dict) else error
                raise HandshakeFailed(f"{method} was refused: {said}")
            result = message.get("result")
            if not isinstance(result, dict):
                raise HandshakeFailed(f"{method} was answered without a result")
            return result

    def tools(self) -> Iterator[str]:
        params: dict[str, Any] = {}
        for _ in range(20):
            page = self.ask("tools/list", params)
            yield from (str(tool.get("name")) for tool in page.get("tools", ()) if isinstance(tool, dict))
            if not page.get("nextCursor"):
                return
            params = {"cursor": page["nextCursor"]}

    def _next(self, method: str) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=max(0.0, self._deadline - time.monotonic()))
        except queue.Empty:
            raise HandshakeFailed(f"{method} was not answered in time") from None
        if not line:
            raise HandshakeFailed("the server ended")
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict):
            raise HandshakeFailed("it printed something else than the protocol")
        return message


def _last_line(process: subprocess.Popen[bytes], complaints: IO[bytes]) -> str:
    """What it complained of last, without keys that may be in it."""
    from ir.secrets.texts import mask_keys

    with suppress(subprocess.TimeoutExpired):
        process.wait(0.2)
    complaints.seek(0)
    lines = complaints.read()[-4000:].decode("utf-8", "replace").strip().splitlines()
    return mask_keys(" ".join(line.strip() for line in lines[-2:]))[:_LONGEST]
