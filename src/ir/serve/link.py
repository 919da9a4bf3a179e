"""The way from a front to the daemon: finds it, starts it if there is none, and sends again what a dead one left."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from ir.errors import IrError
from ir.serve.frames import encode, received
from ir.serve.runtime import Runtime, code_time, held_lock, runtime_of_home
from ir.system import PRIVATE_SOCKETS, exit_code_of, peer_user, private_socket, start_apart, this_user

__all__ = ["PROTOCOL", "Call", "Link", "NoDaemon", "greeting", "release"]

#: What fronts and daemons of other versions have to agree on.
PROTOCOL = 1
#: How long a daemon may take from its start to its first word; an import of everything takes a second.
_START_S = 15.0
_RETRY_S = 0.01
#: How often a call is sent in all, if daemons die under it.
_SENDS = 3

Result = dict[str, Any]
Greeted = tuple[socket.socket, Iterator[Result]]


class NoDaemon(Exception):
    """There is no daemon and none can be started here."""


class Call:
    """A question on its way. ``done`` hears the answer once: a message with ``result`` or ``error``."""

    def __init__(
        self,
        method: str,
        params: Mapping[str, Any],
        done: Callable[[Result], None],
        *,
        progress: Callable[[Result], None] | None = None,
        repeatable: bool = True,
    ) -> None:
        self.method = method
        self.params = params
        self.done = done
        self.progress = progress
        self.repeatable = repeatable
        self.sent = 0
        self.number = 0


def release(version: str) -> tuple[int, ...]:
    """A version to compare by.

    >>> release("0.10.1") > release("0.9"), release("1.2rc1")
    (True, (1, 2))
    """
    parts = []
    for word in version.split("."):
        digits = word[: next((at for at, letter in enumerate(word) if not letter.isdigit()), len(word))]
        if not digits:
            break
        parts.append(int(digits))
    return tuple(parts)


def greeting() -> Result:
    """What a front says of itself: its version, and where its user works."""
    import ir
    from ir.config.workspace import current_workspace

    return {
        "protocol": PROTOCOL,
        "version": ir.__version__,
        "code": code_time(),
        "workspace": current_workspace(),
        "cwd": _folder(),
    }


def _folder() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109 - pathlib takes longer to say the same
    except OSError:  # it was removed
        return None


class Link:
    """One connection to the daemon, made when it is first needed and again whenever it ends.

    ``start=False`` uses a daemon that runs and never starts one, nor ends one that is old; with ``same`` it has to be
    of the very same version. ``lost`` hears of calls that cannot be brought to any daemon, in place of their ``done``;
    the front then answers them by itself.
    """

    def __init__(
        self,
        *,
        start: bool = True,
        lost: Callable[[list[Call]], Any] | None = None,
        hello: Mapping[str, Any] | None = None,
        same: bool = False,
    ) -> None:
        self._start = start
        self._same = same
        self._lost = lost
        self._hello = dict(hello or greeting())
        self._lock = threading.Condition()
        self._sending = threading.Lock()
        self._calls: dict[int, Call] = {}
        self._number = 0
        self._connection: socket.socket | None = None
        self._leaving = False
        self._closed = False
        self._wanted = False
        self._farewell = threading.Event()
        self._thread: threading.Thread | None = None
        self._child: int | None = None
        self.daemon: Result = {}

    def warm(self) -> None:
        """Have the daemon started in the background, so that it is there when it is needed."""
        with self._lock:
            self._wake()

    def submit(self, call: Call) -> None:
        """Send a call, now or as soon as there is a daemon."""
        with self._lock:
            self._number += 1
            call.number = self._number
            self._calls[call.number] = call
            connection = None if self._leaving else self._connection
            if connection is None:
                self._wake()
                return
            call.sent += 1
        self._send(connection, call)

    def cancel(self, call: Call) -> None:
        """Tell the daemon that nobody waits for the answer; ``done`` is not called any more."""
        with self._lock:
            if self._calls.pop(call.number, None) is None:
                return
            connection = self._connection
        if connection is not None:
            with suppress(OSError), self._sending:
                connection.sendall(encode({"cancel": call.number}))

    def ask(self, method: str, params: Mapping[str, Any], **options: Any) -> Result:
        """Send a call and wait for its answer."""
        arrived = threading.Event()
        answers: list[Result] = []

        def done(answer: Result) -> None:
            answers.append(answer)
            arrived.set()

        self.submit(Call(method, params, done, **options))
        arrived.wait()
        return answers[0]

    def retire(self) -> None:
        """Have the daemon leave; back when it has made room."""
        with self._lock:
            connection = self._connection
            self._farewell.clear()
        if connection is not None:
            with suppress(OSError), self._sending:
                connection.sendall(encode({"retire": True}))
            self._farewell.wait(_START_S)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            connection, self._connection = self._connection, None
            self._lock.notify_all()
        if connection is not None:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _wake(self) -> None:
        self._wanted = True
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="link", daemon=True)
            self._thread.start()
        else:
            self._lock.notify_all()

    def _send(self, connection: socket.socket, call: Call) -> None:
        # Where this fails the reader meets the end of the connection, and the call is sent again.
        with suppress(OSError), self._sending:
            connection.sendall(encode({"id": call.number, "method": call.method, "params": call.params}))

    def _run(self) -> None:
        while True:
            with self._lock:
                while not (self._calls or self._wanted or self._closed):
                    self._lock.wait()
                if self._closed:
                    return
                self._wanted = False
            try:
                connection, messages = self._connect()
            except (NoDaemon, OSError, IrError):
                self._give_up()
                continue
            self._send_waiting(connection)
            for message in messages:
                self._hear(message)
            self._disconnected(connection)

    def _send_waiting(self, connection: socket.socket) -> None:
        with self._lock:
            self._connection, self._leaving = connection, False
            waiting = list(self._calls.values())
            for call in waiting:
                call.sent += 1
        for call in waiting:
            self._send(connection, call)

    def _hear(self, message: Result) -> None:
        if message.get("bye"):  # it finishes what it has, and takes nothing new
            with self._lock:
                self._leaving = True
            self._farewell.set()
            return
        number = message.get("id")
        if not isinstance(number, int):
            return
        if "progress" in message:
            call = self._calls.get(number)
            if call is not None and call.progress is not None:
                call.progress(message["progress"])
            return
        with self._lock:
            if message.get("gone"):  # it never began; the next daemon does it
                call = self._calls.get(number)
                if call is not None:
                    call.sent -= 1
                return
            call = self._calls.pop(number, None)
        if call is not None:
            call.done(message)

    def _disconnected(self, connection: socket.socket) -> None:
        connection.close()
        with self._lock:
            self._connection, self._leaving = None, False
            ended = {
                number: call
                for number, call in self._calls.items()
                if call.sent >= _SENDS or (call.sent and not call.repeatable)
            }
            for number in ended:
                del self._calls[number]
        for call in ended.values():
            call.done({"error": {"code": "interrupted", "message": "The daemon ended before it had answered."}})

    def _give_up(self) -> None:
        with self._lock:
            calls = list(self._calls.values())
            self._calls.clear()
        if self._lost is not None:
            self._lost(calls)
            return
        for call in calls:
            call.done({"error": {"code": "no_daemon", "message": "There is no daemon, and none can be started here."}})

    def _connect(self) -> Greeted:
        """A connection to a daemon that is no older than this front; started, or put in an old one's place."""
        if not PRIVATE_SOCKETS:
            raise NoDaemon
        runtime = runtime_of_home()
        deadline = time.monotonic() + _START_S
        starting: int | None = None
        try:
            while True:
                greeted = self._greet(runtime)
                if greeted is not None:
                    return greeted
                if not self._start or time.monotonic() >= deadline or self._closed:
                    raise NoDaemon
                if starting is None:
                    starting = held_lock(runtime.starting)
                    if starting is not None:
                        self._end_of_child()
                        continue  # whoever had it may have been successful
                elif self._child is None:
                    self._child = _start(runtime)
                elif (self._end_of_child() or 0) > 0:
                    raise NoDaemon
                time.sleep(_RETRY_S)
        finally:
            if starting is not None:
                os.close(starting)

    def _greet(self, runtime: Runtime) -> Greeted | None:
        """A connection on which the daemon has answered; ``None`` if there is none, or it makes room for a newer."""
        connection = private_socket()
        connection.settimeout(_START_S)
        messages = received(connection)
        try:
            connection.connect(str(runtime.address))
            if peer_user(connection) not in (this_user(), None):
                raise NoDaemon
            connection.sendall(encode({"hello": {**self._hello, "home": runtime.home}}))
            heard = next(messages, {}).get("hello")
            if isinstance(heard, dict) and self._same and _age(heard) != _age(self._hello):
                raise NoDaemon
            if isinstance(heard, dict) and heard.get("home") == runtime.home and self._accepts(heard):
                connection.settimeout(None)
                self.daemon = heard
                return connection, messages
            if isinstance(heard, dict) and self._start:
                connection.sendall(encode({"retire": True}))
                next(messages, None)  # its farewell, once its place is free
        except OSError:
            pass
        except NoDaemon:
            connection.close()
            raise
        connection.close()
        return None

    def _accepts(self, heard: Result) -> bool:
        """Whether the daemon that answered is to be used, and not to be replaced because it is old."""
        told = heard.get("protocol")
        if isinstance(told, int) and told > PROTOCOL:
            raise NoDaemon  # it belongs to newer fronts
        return told == PROTOCOL and _age(heard) >= _age(self._hello)

    def _end_of_child(self) -> int | None:
        """The exit code of the daemon that this process started last; ``None`` while it runs.

        One that ends early has found another daemon in its place (0), or cannot run here.
        """
        if self._child is None:
            return None
        code = exit_code_of(self._child)
        if code is not None:
            self._child = None
        return code


def _age(told: Mapping[str, Any]) -> tuple[tuple[int, ...], int]:
    code = told.get("code")
    return release(str(told.get("version"))), code if isinstance(code, int) else 0


def _start(runtime: Runtime) -> int:
    runtime.log.parent.mkdir(parents=True, exist_ok=True)
    # -P, so that no folder named `ir` where an agent works is taken for this package.
    return start_apart([sys.executable, "-P", "-m", "ir.serve.daemon"], os.environ, runtime.log, append=True)
