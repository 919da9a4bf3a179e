"""Connections to one corpus, lent out one user at a time.

A pool with threads of its own would hide why a server cannot be reached until a timeout has passed. Here the caller
connects, so that a refusal is told at once, and a connection that died while nobody used it is never lent.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from ir.store.postgres.address import Address
from ir.store.postgres.faults import full_pool, translated, unreachable
from ir.store.postgres.row_addresses import Places, PlacesDumper
from ir.system import has_news

__all__ = ["Connection", "Connections"]

Connection = psycopg.Connection[tuple[Any, ...]]

_CONNECT_SECONDS = 10
_RETRY_SECONDS = 0.1
#: How many candidates an index scan looks at; the recall of near neighbours rests on it.
EF_SEARCH = 300


class Connections:
    """At most ``address.pool`` connections; a user waits up to the statement timeout for one."""

    def __init__(self, address: Address, check: Callable[[Connection, Address], object] | None = None) -> None:
        self.address = address
        self._check = check
        self._idle: deque[Connection] = deque()
        weakref.finalize(self, _close_all, self._idle, os.getpid())
        self._free = threading.BoundedSemaphore(address.pool)
        self._process = os.getpid()

    @contextmanager
    def lend(self) -> Iterator[Connection]:
        """A connection for one user; a transaction left open is rolled back."""
        self._after_fork()
        if not self._free.acquire(timeout=self.address.timeout):
            raise full_pool(self.address)
        try:
            with translated(self.address):
                connection = self._take()
                try:
                    yield connection
                finally:
                    self._give_back(connection)
        finally:
            self._free.release()

    def close(self) -> None:
        """Close the connections that nobody uses."""
        self._after_fork()
        while self._idle:
            self._idle.pop().close()

    def _take(self) -> Connection:
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return self._connect()
            if _is_alive(connection):
                return connection
            connection.close()

    def _give_back(self, connection: Connection) -> None:
        if connection.info.transaction_status not in (TransactionStatus.IDLE, TransactionStatus.UNKNOWN):
            with suppress(psycopg.Error):
                connection.execute("ROLLBACK")
        if connection.info.transaction_status is TransactionStatus.IDLE:
            self._idle.append(connection)
        else:
            connection.close()

    def _connect(self) -> Connection:
        given = {
            "connect_timeout": _CONNECT_SECONDS,
            "application_name": f"ir process {os.getpid()} on {socket.gethostname()}",
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": int(self.address.timeout * 1000) + 5000,
            **self.address.parameters,
        }
        deadline = time.monotonic() + _CONNECT_SECONDS
        while True:
            try:
                connection: Connection = psycopg.connect(autocommit=True, **given)
                break
            except psycopg.OperationalError as error:
                # A server that recovers from a crash says so, and is soon back.
                text = str(error)
                recovering = "starting up" in text or "recovery mode" in text or "shutting down" in text
                if not recovering or time.monotonic() > deadline:
                    raise unreachable(error, self.address) from error
                time.sleep(_RETRY_SECONDS)
        try:
            self._configure(connection)
            if self._check is not None:
                self._check(connection, self.address)
        except BaseException:
            connection.close()
            raise
        return connection

    def _configure(self, connection: Connection) -> None:
        connection.adapters.register_dumper(Places, PlacesDumper)
        connection.execute(
            """SELECT set_config('search_path', quote_ident(%s) || coalesce((
                   SELECT ', ' || quote_ident(nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = extnamespace
                   WHERE extname = 'vector'), ', public'), false),
               set_config('statement_timeout', %s, false), set_config('jit', 'off', false),
               set_config('plan_cache_mode', 'force_custom_plan', false), set_config('client_encoding', 'UTF8', false),
               set_config('hnsw.iterative_scan', 'strict_order', false), set_config('hnsw.ef_search', %s, false)""",
            (self.address.schema, str(int(self.address.timeout * 1000)), str(EF_SEARCH)),
        )

    def _after_fork(self) -> None:
        if self._process != os.getpid():
            # A connection must not be used, not even closed, on both sides of a fork.
            self._process = os.getpid()
            _inherited.extend(self._idle)
            self._idle = deque()
            self._free = threading.BoundedSemaphore(self.address.pool)


def _close_all(idle: deque[Connection], process: int) -> None:
    """Close what a store left open that nobody holds any more."""
    while idle and process == os.getpid():
        idle.pop().close()


#: Connections of a parent process, kept from being collected, which would close them.
_inherited: list[Connection] = []


def _is_alive(connection: Connection) -> bool:
    """Whether the server has neither closed an unused connection nor said anything on it. No question is sent."""
    if connection.closed or connection.broken:
        return False
    return not has_news(connection.fileno())
