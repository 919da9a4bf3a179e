"""A client that speaks MCP by hand, for what the official one would never send."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

OWN = "io.modelcontextprotocol/"
ENVELOPE = {
    f"{OWN}protocolVersion": "2026-07-28",
    f"{OWN}clientInfo": {"name": "test", "version": "1"},
    f"{OWN}clientCapabilities": {},
}
COMMAND = (sys.executable, "-m", "ir", "mcp")


class Client:
    """`ir mcp` in a process of its own. ``lines`` are all that it ever wrote to stdout."""

    def __init__(self, *, command: tuple[str, ...] = COMMAND, era: str = "modern", **environ: str) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environ},
        )
        self.lines: list[bytes] = []
        self.notifications: list[dict[str, Any]] = []
        self._answers: dict[Any, dict[str, Any]] = {}
        self._number = 0
        self._meta: dict[str, Any] = ENVELOPE if era == "modern" else {}
        if era != "modern":
            self.request("initialize", protocolVersion=era, capabilities={}, clientInfo={"name": "t", "version": "1"})
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, message: Any) -> None:
        self.write(json.dumps(message).encode())

    def begin(self, method: str, **params: Any) -> int:
        """Send a request and return its id."""
        self._number += 1
        meta = {**self._meta, **params.pop("_meta", {})}
        held = {**params, "_meta": meta} if meta else params
        self.send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": held})
        return self._number

    def answer(self, number: Any) -> dict[str, Any]:
        """Wait for the answer to a request."""
        while number not in self._answers:
            message = self.read()
            for one in message if isinstance(message, list) else [message]:
                if "id" in one:
                    self._answers[one["id"]] = one
                else:
                    self.notifications.append(one)
        return self._answers.pop(number)

    def read(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the server ended: {self.process.stderr.read().decode() if self.process.stderr else ''}"
        self.lines.append(line)
        return json.loads(line)

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        return self.answer(self.begin(method, **params))

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The result of a tool."""
        answer = self.request("tools/call", name=tool, arguments=arguments)
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def close(self) -> int:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        code = self.process.wait(timeout=60)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return code


def text_of(result: dict[str, Any]) -> str:
    return str(result["content"][0]["text"])


def daemons() -> list[int]:
    """The processes that are daemons of this test's home, by what their lock files say."""
    found = []
    for path in Path(os.environ["IR_RUNTIME_DIR"]).glob("*.lock"):
        with suppress(ValueError):
            pid = int(path.read_text() or 0)
            if pid and _runs(pid):
                found.append(pid)
    return found


def processes_of_home() -> list[int]:
    """Every process on this machine that runs a daemon for this test's home."""
    found = []
    mark = f"IR_RUNTIME_DIR={os.environ['IR_RUNTIME_DIR']}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes().split(b"\0")
            if b"ir.serve.daemon" in words and mark in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def _runs(pid: int) -> bool:
    with suppress(OSError):
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    return False


def wait_until(holds: Callable[[], Any], seconds: float = 30.0) -> Any:
    """Look again and again until something holds."""
    deadline = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)
    return found


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
