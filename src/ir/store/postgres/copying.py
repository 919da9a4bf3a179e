"""Rows in PostgreSQL's binary COPY format: the fastest way in, written for the few types that are needed."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ir.store.postgres.codec import encoded
from ir.store.postgres.connections import Connection

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "NULL",
    "big",
    "copy_rows",
    "copy_table",
    "integers",
    "json_binary",
    "json_text",
    "lexemes",
    "small",
    "text",
    "texts",
    "vectors",
]

_HEADER = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
_TRAILER = b"\xff\xff"
#: So many rows are joined before they are sent.
_CHUNK = 200
_INT4_OID = 23
_MOST_POSITIONS = 255
_LAST_POSITION = 16383

NULL = b"\xff\xff\xff\xff"

_int4 = struct.Struct(">ii").pack
_int8 = struct.Struct(">iq").pack
_length = struct.Struct(">i").pack
_fields = struct.Struct(">h").pack
_dimensions = struct.Struct(">iHH").pack


def big(value: int) -> bytes:
    return _int8(8, value)


def small(value: int) -> bytes:
    return _int4(4, value)


def text(value: str) -> bytes:
    data = encoded(value)
    return _length(len(data)) + data


def texts(*values: str) -> list[bytes]:
    """Several texts; quickly where nothing in them needs packing, as is nearly always so."""
    whole = "".join(values)
    if not whole.isascii() or "\x00" in whole or "\x01" in whole:
        return [text(value) for value in values]
    return [_length(len(value)) + value.encode() for value in values]


def json_text(value: str) -> bytes:
    """JSON whose strings were packed before."""
    data = value.encode()
    return _length(len(data)) + data


def json_binary(value: str) -> bytes:
    data = value.encode()
    return _length(len(data) + 1) + b"\x01" + data


def integers(values: Sequence[int]) -> bytes:
    """An array of 4-byte integers."""
    if not len(values):
        return struct.pack(">iiiI", 12, 0, 0, _INT4_OID)
    array = np.empty((len(values), 2), dtype=">i4")
    array[:, 0] = 4
    array[:, 1] = values
    data = array.tobytes()
    return struct.pack(">iiiIii", 20 + len(data), 1, 0, _INT4_OID, len(values), 1) + data


def vectors(rows: NDArray[np.float32], *, half: bool) -> Iterator[bytes]:
    """Each row of a matrix."""
    size = rows.shape[1]
    width = size * (2 if half else 4)
    data = rows.astype(">f2" if half else ">f4").tobytes()
    head = _dimensions(4 + width, size, 0)
    for start in range(0, len(data), width):
        yield head + data[start : start + width]


def lexemes(terms: Sequence[str]) -> bytes:
    """A ``tsvector``: each term once, with the places where it stands."""
    places: dict[str, list[int]] = {}
    for at, term in enumerate(terms, start=1):
        found = places.setdefault(term, [])
        if len(found) < _MOST_POSITIONS and at <= _LAST_POSITION:
            found.append(at)
    parts = [struct.pack(">i", len(places))]
    for word in sorted(term.encode() for term in places):
        found = places[word.decode()] or [_LAST_POSITION]
        parts.append(word + b"\x00" + struct.pack(f">H{len(found)}H", len(found), *found))
    data = b"".join(parts)
    return _length(len(data)) + data


def copy_table(connection: Connection, target: str, columns: Sequence[tuple[NDArray[np.int64], int]]) -> None:
    """Write columns of integers, each with its width in bytes, without a look at any single row."""
    layout: list[tuple[str, str]] = [("fields", ">i2")]
    for at, (_, width) in enumerate(columns):
        layout += [(f"width{at}", ">i4"), (f"value{at}", f">i{width}")]
    rows = np.empty(len(columns[0][0]), dtype=layout)
    rows["fields"] = len(columns)
    for at, (values, width) in enumerate(columns):
        rows[f"width{at}"] = width
        rows[f"value{at}"] = values
    with connection.cursor() as cursor, cursor.copy(f"COPY {target} FROM STDIN (FORMAT binary)".encode()) as copy:
        copy.write(_HEADER + rows.tobytes() + _TRAILER)


def copy_rows(connection: Connection, target: str, rows: Iterable[Sequence[bytes]]) -> None:
    """Write rows of encoded fields into ``target``, a table with its columns."""
    with connection.cursor() as cursor, cursor.copy(f"COPY {target} FROM STDIN (FORMAT binary)".encode()) as copy:
        held, size = [_HEADER], 0
        for row in rows:
            held.append(_fields(len(row)))
            held.extend(row)
            size += 1
            if size == _CHUNK:
                copy.write(b"".join(held))
                held, size = [], 0
        copy.write(b"".join([*held, _TRAILER]))
