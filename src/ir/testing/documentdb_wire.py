"""MongoDB's wire protocol in front of DocumentDB, for tests: what a driver sends becomes calls of its functions.

DocumentDB is an extension of PostgreSQL whose functions take and give BSON. What stands here is no database: it reads a
message, calls the function of that name, and sends back what it returned.
"""

from __future__ import annotations

import socket
import socketserver
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["forwarding"]

_OP_REPLY, _OP_QUERY, _OP_MSG = 1, 2004, 2013
_MORE_TO_COME = 2
#: What DocumentDB says where MongoDB says 11000: two documents with one key.
_DUPLICATE = (319029277, 11000)
#: Errors of PostgreSQL that a driver knows by MongoDB's number.
_CODES = {"42P01": 26, "23505": 11000}
_UNKNOWN = 8
_HELLO = {
    "helloOk": True,
    "ismaster": True,
    "isWritablePrimary": True,
    "maxBsonObjectSize": 16 * 1024 * 1024,
    "maxMessageSizeBytes": 48_000_000,
    "maxWriteBatchSize": 100_000,
    "minWireVersion": 0,
    "maxWireVersion": 21,
    "readOnly": False,
}
#: Functions that read and give back a first page, with the cursor for the others.
_PAGED = {
    "find": "find_cursor_first_page",
    "aggregate": "aggregate_cursor_first_page",
    "listCollections": "list_collections_cursor_first_page",
    "listIndexes": "list_indexes_cursor_first_page",
}
_API = "documentdb_api"
_BSON = "%b::bytea::documentdb_core.bson"
#: Functions of a database's name and a command that give one document.
_PLAIN = {
    "insert": f"SELECT p_result FROM {_API}.insert(%s, {_BSON})",
    "update": f"SELECT p_result FROM {_API}.update(%s, {_BSON})",
    "delete": f"SELECT p_result FROM {_API}.delete(%s, {_BSON})",
    "findAndModify": f"SELECT p_result FROM {_API}.find_and_modify(%s, {_BSON})",
    "count": f"SELECT document FROM {_API}.count_query(%s, {_BSON})",
    "distinct": f"SELECT document FROM {_API}.distinct_query(%s, {_BSON})",
    "createIndexes": f"SELECT {_API}_internal.create_indexes_non_concurrently(%s, {_BSON}, true)",
}


@contextmanager
def forwarding(dsn: str) -> Iterator[str]:
    """``host:port`` on this machine where drivers of MongoDB reach the DocumentDB that ``dsn`` leads to."""
    with _Forwarder(dsn) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
            server.end_all()


class _Forwarder(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.cursors: dict[int, tuple[Any, bytes]] = {}
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Client)

    def connect(self) -> Any:
        import psycopg

        return psycopg.connect(self.dsn, autocommit=True)

    def hold(self, client: socket.socket) -> None:
        self._open.add(client)

    def let_go(self, client: socket.socket) -> None:
        self._open.discard(client)

    def end_all(self) -> None:
        """Drivers keep connections open; nobody waits for them."""
        for client in list(self._open):
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
        for kept, _ in self.cursors.values():
            if kept is not None:
                kept.close()


class _Client(socketserver.BaseRequestHandler):
    """One connection of a driver, with one of its own to PostgreSQL."""

    server: _Forwarder
    _connection: Any = None

    def handle(self) -> None:
        self.server.hold(self.request)
        try:
            while (message := self._message()) is not None:
                self._answer(*message)
        except OSError:
            pass  # the driver went away
        finally:
            self.server.let_go(self.request)
            if self._connection is not None:
                self._connection.close()

    def _message(self) -> tuple[int, int, bytes] | None:
        head = self._exactly(16)
        if head is None:
            return None
        length, number, _, kind = struct.unpack("<iiii", head)
        body = self._exactly(length - 16)
        return None if body is None else (number, kind, body)

    def _exactly(self, count: int) -> bytes | None:
        parts, missing = [], count
        while missing:
            part = self.request.recv(min(missing, 1 << 20))
            if not part:
                return None
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _answer(self, number: int, kind: int, body: bytes) -> None:
        import bson

        if kind == _OP_QUERY:  # a driver's first words, before it knows what the server understands
            at = body.index(b"\0", 4) + 9
            command = bson.decode(body[at : at + struct.unpack_from("<i", body, at)[0]])
            reply = bson.encode(self._done(command))
            self._send(number, _OP_REPLY, struct.pack("<iqii", 8, 0, 0, 1) + reply)
            return
        flags = struct.unpack_from("<I", body)[0]
        reply = self._performed(_command(body))
        if not flags & _MORE_TO_COME:
            self._send(number, _OP_MSG, struct.pack("<IB", 0, 0) + reply)

    def _send(self, number: int, kind: int, body: bytes) -> None:
        self.request.sendall(struct.pack("<iiii", 16 + len(body), 0, number, kind) + body)

    def _performed(self, command: dict[str, Any]) -> bytes:
        import bson
        import psycopg

        try:
            done = self._done(command)
        except psycopg.Error as error:
            said, state = str(error.diag.message_primary or error), error.sqlstate or ""
            done = {"ok": 0.0, "errmsg": said, "code": _CODES.get(state, _UNKNOWN), "codeName": state}
        return done if isinstance(done, bytes) else bson.encode(done)

    def _done(self, command: dict[str, Any]) -> Any:
        name, database = next(iter(command)), str(command.get("$db", "admin"))
        if name in ("hello", "ismaster", "isMaster"):
            return {**_HELLO, "ok": 1.0}
        if name == "ping":
            return {"ok": 1.0}
        if name == "buildInfo":
            return {"version": "7.0.0", "versionArray": [7, 0, 0, 0], "ok": 1.0}
        if name == "killCursors":
            for cursor in command["cursors"]:
                self._forget(int(cursor))
            return {"cursorsKilled": command["cursors"], "ok": 1.0}
        command = {key: value for key, value in command.items() if key not in ("$db", "lsid", "$readPreference")}
        special: Callable[[str, dict[str, Any]], Any] | None = getattr(self, f"_{name}", None)
        if special is not None:
            return special(database, command)
        if name in _PAGED:
            return self._first_page(name, database, command)
        if name in _PLAIN:
            return _with_known_codes(self._one(_PLAIN[name], database, command))
        return {"ok": 0.0, "errmsg": f"no such command: '{name}'", "code": 59, "codeName": "CommandNotFound"}

    def _one(self, query: str, database: str, command: dict[str, Any]) -> bytes:
        return bytes(self._row(self._sql(), query, database, command)[0])

    def _row(self, connection: Any, query: str, *values: Any) -> Any:
        import bson

        given = [bson.encode(value) if isinstance(value, dict) else value for value in values]
        with connection.cursor(binary=True) as cursor:
            return cursor.execute(query, given).fetchone()

    def _sql(self) -> Any:
        if self._connection is None:
            self._connection = self.server.connect()
        return self._connection

    # -- commands that take more than a call ---------------------------------------------------------------------

    def _first_page(self, name: str, database: str, command: dict[str, Any]) -> bytes:
        query = f"SELECT * FROM {_API}.{_PAGED[name]}(%s, {_BSON})"
        page, continuation, persist, cursor = self._row(self._sql(), query, database, command)
        if continuation is not None and cursor:
            # A driver may ask for the rest on another connection; what stays open on this one goes with the cursor.
            kept = None
            if persist:
                kept, self._connection = self._connection, None
            self.server.cursors[int(cursor)] = (kept, bytes(continuation))
        return bytes(page)

    def _getMore(self, database: str, command: dict[str, Any]) -> Any:  # noqa: N802 - the command's name
        number = int(command["getMore"])
        if number not in self.server.cursors:
            return {"ok": 0.0, "errmsg": f"cursor id {number} not found", "code": 43, "codeName": "CursorNotFound"}
        kept, continuation = self.server.cursors[number]
        query = f"SELECT * FROM {_API}.cursor_get_more(%s, {_BSON}, {_BSON})"
        page, continuation = self._row(kept or self._sql(), query, database, command, continuation)
        if continuation is None:
            self._forget(number)
        else:
            self.server.cursors[number] = (kept, bytes(continuation))
        return bytes(page)

    def _forget(self, cursor: int) -> None:
        kept, _ = self.server.cursors.pop(cursor, (None, b""))
        if kept is not None:
            kept.close()

    def _create(self, database: str, command: dict[str, Any]) -> Any:
        query = f"SELECT {_API}.create_collection(%s, %s)"
        self._row(self._sql(), query, database, command["create"])
        return {"ok": 1.0}

    def _drop(self, database: str, command: dict[str, Any]) -> Any:
        self._row(self._sql(), f"SELECT {_API}.drop_collection(%s, %s)", database, command["drop"])
        return {"ok": 1.0}

    def _dropDatabase(self, database: str, command: dict[str, Any]) -> Any:  # noqa: N802 - the command's name
        self._row(self._sql(), f"SELECT {_API}.drop_database(%s)", database)
        return {"ok": 1.0}


def _command(body: bytes) -> dict[str, Any]:
    """The command of a message, with the documents that were sent beside it in their place."""
    import bson
    from bson.raw_bson import RawBSONDocument

    options = bson.CodecOptions(document_class=RawBSONDocument)
    command: dict[str, Any] = {}
    at = 4
    end = len(body) - (4 if struct.unpack_from("<I", body)[0] & 1 else 0)
    beside: dict[str, list[Any]] = {}
    while at < end:
        kind, size = body[at], struct.unpack_from("<i", body, at + 1)[0]
        if kind == 0:
            command = dict(bson.decode(body[at + 1 : at + 1 + size], options).items())
        else:
            closing = body.index(b"\0", at + 5)
            documents = beside.setdefault(body[at + 5 : closing].decode(), [])
            one = closing + 1
            while one < at + 1 + size:
                length = struct.unpack_from("<i", body, one)[0]
                documents.append(RawBSONDocument(body[one : one + length]))
                one += length
        at += 1 + size
    return {**command, **beside}


def _with_known_codes(reply: bytes) -> bytes:
    """The reply with MongoDB's number for a duplicate key: a driver tells it from other errors by that alone."""
    import bson

    theirs, ours = _DUPLICATE
    if struct.pack("<i", theirs) not in reply:
        return reply
    done = bson.decode(reply)
    for error in done.get("writeErrors", ()):
        error["code"] = ours if error.get("code") == theirs else error.get("code")
    return bson.encode(done)
