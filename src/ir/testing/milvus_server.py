"""The Milvus core as a server on this machine, for tests: the package ``milvus-lite`` listening on a port.

It is one process over one file, not a cluster, and asks for no password; but clients reach it as they reach any Milvus
server, several at a time.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from ir.errors import IrError, MissingExtra
from ir.testing.postgres_server import end_with_parent

__all__ = ["running_milvus"]

_START_SECONDS = 60.0
_TRIES = 5


@contextmanager
def running_milvus(folder: Path) -> Iterator[str]:
    """``host:port`` of a server over a file in ``folder``, for the block."""
    if find_spec("milvus_lite") is None:
        raise MissingExtra("milvus-lite", "dev", "A Milvus server for tests")
    log = folder / "milvus.log"
    for _ in range(_TRIES):
        # Between choosing a port and listening on it, somebody else may have taken it.
        host = f"127.0.0.1:{free_port()}"
        process = _started(folder / "served.db", host, log)
        try:
            if _listens(process, host):
                yield host
                return
        finally:
            process.kill()
            process.wait()
    told = log.read_text("utf-8", "replace")[-1000:]
    raise IrError(f"The Milvus server in {folder} did not start:\n{told}")


def _started(file: Path, host: str, log: Path) -> subprocess.Popen[bytes]:
    from milvus_lite.server import Server

    server = Server(str(file), host)
    with log.open("ab") as told:
        return subprocess.Popen(
            list(map(str, server.args)),
            cwd=file.parent,
            env={**os.environ, "LD_LIBRARY_PATH": str(Path(server.milvus_bin).parent)},
            stdout=told,
            stderr=told,
            preexec_fn=end_with_parent,
        )


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _listens(process: subprocess.Popen[bytes], address: str) -> bool:
    """Whether the server takes connections; waits for it as long as it lives."""
    host, _, port = address.partition(":")
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return process.poll() is None
    return False
