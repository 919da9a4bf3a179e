"""``ir serve`` in a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Served", "serving"]


class Served:
    """A server in a process of its own, on loopback."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process = process
        self.address = address

    def ask(self, path: str, body: Any = None, token: str | None = None) -> tuple[int, str, str]:
        """Status, type and text of an answer."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"} | ({} if token is None else {"authorization": f"Bearer {token}"})
        request = urllib.request.Request(f"{self.address}{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.headers["content-type"], answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers["content-type"], error.read().decode()


@contextmanager
def serving(**environ: str) -> Iterator[Served]:
    process = subprocess.Popen(
        [sys.executable, "-m", "ir", "serve", "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "IR_EMBEDDER": "light", **environ},
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        found = re.search(r"http://\S+(?=/)", line)
        assert found, line + process.stderr.read()
        yield Served(process, found[0])
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
