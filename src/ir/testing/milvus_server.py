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


@contextmanager
def running_milvus(folder: Path) -> Iterator[str]:
    """``host:port`` of a server over a file in ``folder``, for the block."""
    if find_spec("milvus_lite") is None:
        raise MissingExtra("milvus-lite", "dev", "A Milvus server for tests")
    from milvus_lite.server import Server

    host = f"127.0.0.1:{free_port()}"
    server = Server(str(folder / "served.db"), host)
    libraries = {"LD_LIBRARY_PATH": str(Path(server.milvus_bin).parent)}
    with (folder / "milvus.log").open("wb") as log:
        process = subprocess.Popen(
            list(map(str, server.args)),
            cwd=folder,
            env={**os.environ, **libraries},
            stdout=log,
            stderr=log,
            preexec_fn=end_with_parent,
        )
        try:
            _await(process, host)
            yield host
        finally:
            process.kill()
            process.wait()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _await(process: subprocess.Popen[bytes], address: str) -> None:
    host, _, port = address.partition(":")
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise IrError(f"The Milvus server did not start on {address}.") from None
            time.sleep(0.02)
