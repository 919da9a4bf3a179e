"""The process that stays: it takes calls from all fronts of a user over a private socket, and leaves when idle."""

from __future__ import annotations

import logging
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from ir.serve.frames import encode, received
from ir.serve.link import PROTOCOL
from ir.serve.runtime import Runtime, code_time, held_lock, runtime_of_home
from ir.serve.service import Service
from ir.serve.tasks import Caller, Task
from ir.system import peer_user, physical_cores, private_socket, this_user, write_at_start

__all__ = ["Daemon", "main"]

log = logging.getLogger("ir.daemon")

_MOST_CONNECTIONS = 256
_MOST_WAITING = 256
_LOOK_S = 1.0
#: How long a daemon that leaves waits for the calls it has.
_DRAIN_S = 60.0
_HELLO_S = 10.0


class Daemon:
    """A listener, a thread for each connection, and a few that do the work: one for each core does most per second."""

    def __init__(self, runtime: Runtime, service: Service, *, version: str, idle_s: float) -> None:
        self.runtime = runtime
        self.service = service
        self.version = version
        self.code = code_time()
        self.idle_s = idle_s
        self.leaving = False
        self.lock = threading.Lock()
        self.running = 0
        self.last_used = time.monotonic()
        self.connections: set[_Connection] = set()
        self.workers = ThreadPoolExecutor(max(4, physical_cores()), thread_name_prefix="call")
        self._wake_out, self._wake_in = os.pipe()

    def serve(self, lock: int) -> None:
        """Take calls until told to leave or idle for long; then finish what runs."""
        listener = self._listen()
        self.service.start()
        log.info("started, version %s, process %d", self.version, os.getpid())
        try:
            while not self.leaving:
                ready, _, _ = select.select([listener.fileno(), self._wake_out], [], [], _LOOK_S)
                if self.leaving or self._is_idle():
                    break
                if listener.fileno() in ready:
                    self._accept(listener)
                self.service.let_go_idle()
        finally:
            self.leaving = True
            with suppress(OSError):
                self.runtime.address.unlink()
            listener.close()
            os.close(lock)  # from here on another may take the place
            self._drain()

    def leave(self) -> None:
        """Make room: no new connections, no new calls."""
        self.leaving = True
        with suppress(OSError):
            os.write(self._wake_in, b".")

    def began(self) -> bool:
        """Count a call in, unless there are too many."""
        with self.lock:
            if self.running >= _MOST_WAITING:
                return False
            self.running += 1
            return True

    def ended(self) -> None:
        with self.lock:
            self.running -= 1
            self.last_used = time.monotonic()

    def _listen(self) -> socket.socket:
        with suppress(FileNotFoundError):
            self.runtime.address.unlink()  # the lock is ours, so this is left over
        listener = private_socket()
        listener.bind(str(self.runtime.address))
        self.runtime.address.chmod(0o600)
        listener.listen(128)
        return listener

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        if peer_user(connection) not in (this_user(), None):
            log.warning("refused a connection of another user")
            connection.close()
            return
        if len(self.connections) >= _MOST_CONNECTIONS:
            log.warning("refused a connection: there are %d", len(self.connections))
            connection.close()
            return
        made = _Connection(self, connection)
        self.connections.add(made)
        threading.Thread(target=made.run, name="connection", daemon=True).start()

    def _is_idle(self) -> bool:
        with self.lock:
            quiet = not self.running and time.monotonic() - self.last_used >= self.idle_s
        return quiet and not self.service.is_busy()

    def _drain(self) -> None:
        for connection in list(self.connections):
            connection.send({"bye": True})
        self.service.stop()
        deadline = time.monotonic() + _DRAIN_S
        while self.running and time.monotonic() < deadline:
            time.sleep(0.02)
        for connection in list(self.connections):
            connection.close()
        self.workers.shutdown(wait=False, cancel_futures=True)
        log.info("left")


class _Connection:
    """One front. Its calls run side by side; what it cancels, or leaves behind by going, is told to stop."""

    def __init__(self, daemon: Daemon, connection: socket.socket) -> None:
        self.daemon = daemon
        self.connection = connection
        self.sending = threading.Lock()
        self.tasks: dict[Any, Task] = {}
        self.caller = Caller()

    def run(self) -> None:
        try:
            self.connection.settimeout(_HELLO_S)
            messages = received(self.connection)
            if self._greeted(next(messages, {}).get("hello")):
                self.connection.settimeout(None)
                for message in messages:
                    self._hear(message)
        except Exception:
            log.exception("a connection failed")
        finally:
            for task in list(self.tasks.values()):
                task.cancelled.set()
            self.daemon.connections.discard(self)
            self.close()

    def send(self, message: Mapping[str, Any]) -> None:
        data = encode(message)
        with suppress(OSError), self.sending:
            self.connection.sendall(data)

    def close(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)
        self.connection.close()

    def _greeted(self, hello: Any) -> bool:
        if not isinstance(hello, dict) or hello.get("home") != self.daemon.runtime.home:
            return False
        self.caller = Caller.of(hello)
        self.send(
            {
                "hello": {
                    "protocol": PROTOCOL,
                    "version": self.daemon.version,
                    "code": self.daemon.code,
                    "home": self.daemon.runtime.home,
                    "pid": os.getpid(),
                }
            }
        )
        return True

    def _hear(self, message: Mapping[str, Any]) -> None:
        if message.get("retire"):
            log.info("asked to make room for a newer version")
            self.daemon.leave()
            return
        if "cancel" in message:
            task = self.tasks.get(message["cancel"])
            if task is not None:
                task.cancelled.set()
            return
        number, method, params = message.get("id"), message.get("method"), message.get("params")
        if not isinstance(number, int) or not isinstance(method, str) or not isinstance(params, dict):
            return
        if self.daemon.leaving:
            self.send({"id": number, "gone": True})
            return
        if not self.daemon.began():
            self.send({"id": number, "error": {"code": "busy", "message": "Too many calls are waiting."}})
            return
        task = Task(method, params, self.caller, progress=lambda step: self.send({"id": number, "progress": step}))
        self.tasks[number] = task
        self.daemon.workers.submit(self._work, number, task)

    def _work(self, number: int, task: Task) -> None:
        try:
            if not task.cancelled.is_set():
                answer = self.daemon.service.answer(task)
                if not task.cancelled.is_set():
                    self.send({"id": number, **answer})
        finally:
            self.tasks.pop(number, None)
            self.daemon.ended()


def main() -> int:
    """Be the daemon of this home, unless there is one."""
    os.umask(0o077)
    os.closerange(3, 1024)  # whatever the process that started this one had open
    runtime = runtime_of_home()
    lock = held_lock(runtime.lock)
    if lock is None:
        return 0
    write_at_start(lock, f"{os.getpid()}\n".encode())
    os.chdir("/")  # no folder is held, and none decides about anything
    _log_to(runtime)
    import ir
    from ir import telemetry
    from ir.config import Settings

    service = Service()
    daemon = Daemon(runtime, service, version=ir.__version__, idle_s=Settings.load()["daemon_idle_s"])
    stop: Callable[[int, Any], None] = lambda number, frame: daemon.leave()  # noqa: E731
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    daemon.serve(lock)
    telemetry.shutdown()
    logging.shutdown()
    os._exit(0)  # a thread that nobody waits for must not keep the process


def _log_to(runtime: Runtime) -> None:
    """Log what happens, never what was asked or found; a file that has grown long makes way for a new one."""
    from logging.handlers import RotatingFileHandler

    runtime.log.parent.mkdir(parents=True, exist_ok=True)
    handler = RotatingFileHandler(runtime.log, maxBytes=1_000_000, backupCount=1, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False


if __name__ == "__main__":
    sys.exit(main())
