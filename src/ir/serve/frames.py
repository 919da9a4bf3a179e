"""Messages as they travel: one JSON document to a line, of a size that nobody can fill the memory with."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

__all__ = ["LONGEST", "encode", "received"]

#: The longest line that is read; a longer one ends the connection.
LONGEST = 32 * 1024 * 1024
_AT_ONCE = 256 * 1024


def encode(message: Any) -> bytes:
    """A message as a line; a character that UTF-8 cannot hold is written in JSON's own way.

    >>> encode({"id": 1, "text": "ä"})
    b'{"id":1,"text":"\\xc3\\xa4"}\\n'
    """
    try:
        return json.dumps(message, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"
    except (UnicodeEncodeError, ValueError):
        return json.dumps(message, separators=(",", ":"), default=str).encode() + b"\n"


def received(connection: socket.socket) -> Iterator[dict[str, Any]]:
    """The messages of a connection until it ends; what is no message ends it."""
    held = bytearray()
    while True:
        try:
            block = connection.recv(_AT_ONCE)
        except OSError:
            return
        if not block:
            return
        start = len(held)
        held += block
        while (end := held.find(b"\n", start)) >= 0:
            line = bytes(held[:end])
            del held[: end + 1]
            start = 0
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                return
            if not isinstance(message, dict):
                return
            yield message
        if len(held) > LONGEST:
            return
