"""Reading and writing the records of a corpus."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ir.base import Record
from ir.errors import InvalidInput
from ir.store.postgres import codec
from ir.store.postgres.connections import Connection
from ir.store.postgres.copying import NULL, big, copy_rows, json_binary, json_text, texts, vectors

__all__ = [
    "all_records",
    "check_vectors",
    "digest",
    "erase_records",
    "insert_records",
    "read_page",
    "read_record",
    "read_records",
]

_COLUMNS = "id, artifact_id, kind, surface_index, text, vector, coalesce(written, metadata::text)"
_TARGET = "records (number, surface_index, id, artifact_id, kind, metadata, written, vector, text)"
#: So many rows are sent in one statement: each has to end before the timeout.
_BATCH = 5000
_MOST_DIMENSIONS = 16_000
_MOST_IN_HALF = 65_504.0


def digest(key: str) -> str:
    """What the index over an id or key holds; the same as the server's ``md5``."""
    return hashlib.md5(key.encode(), usedforsecurity=False).hexdigest()


def check_vectors(records: Sequence[Record], *, half: bool) -> None:
    """Refuse what a vector column cannot hold."""
    size = len(records[0].vector)
    if not 1 <= size <= _MOST_DIMENSIONS:
        raise InvalidInput(f"PostgreSQL keeps vectors of 1 to {_MOST_DIMENSIONS} dimensions, not {size}.")
    if half:
        for record in records:
            if np.abs(record.vector).max() > _MOST_IN_HALF:
                raise InvalidInput(
                    f"The vector of record {record.id!r} holds numbers beyond half precision.",
                    remedy="Keep the corpus with ?vectors=float32.",
                )


def insert_records(connection: Connection, records: Sequence[Record], first: int, *, half: bool) -> None:
    """Copy records in, numbered from ``first``; their ids must not be there."""
    for start in range(0, len(records), _BATCH):
        part = records[start : start + _BATCH]
        copy_rows(connection, _TARGET, _encoded(part, first + start, half=half))


def _encoded(records: Sequence[Record], first: int, *, half: bool) -> Iterator[tuple[bytes, ...]]:
    rows = vectors(np.stack([record.vector for record in records]), half=half)
    for number, (record, vector) in enumerate(zip(records, rows, strict=True), start=first):
        metadata = codec.dumps(record.metadata)
        record_id, artifact, kind, words = texts(record.id, record.artifact_id, record.surface_kind, record.text)
        yield (
            big(number),
            big(record.surface_index),
            record_id,
            artifact,
            kind,
            json_binary(metadata),
            NULL if codec.is_kept(record.metadata) else json_text(metadata),
            vector,
            words,
        )


def erase_records(connection: Connection, record_ids: Sequence[str]) -> list[int]:
    """Delete those records that are there; their numbers."""
    found: list[int] = []
    for start in range(0, len(record_ids), _BATCH):
        part = [codec.packed(record_id) for record_id in record_ids[start : start + _BATCH]]
        rows = connection.execute(
            "DELETE FROM records WHERE md5(id) = ANY(%s::text[]) AND id = ANY(%s::text[]) RETURNING number",
            (codec.as_text_array(map(digest, part)), codec.as_text_array(part)),
        )
        found += [number for (number,) in rows]
    return found


def read_record(connection: Connection, record_id: str) -> Record | None:
    key = codec.packed(record_id)
    with connection.cursor(binary=True) as cursor:
        cursor.execute(f"SELECT {_COLUMNS} FROM records WHERE md5(id) = %s AND id = %s".encode(), (digest(key), key))
        row = cursor.fetchone()
    return None if row is None else _record(row)


def read_records(connection: Connection, record_ids: Sequence[str]) -> list[Record]:
    """Those of the records that are there."""
    keys = [codec.packed(record_id) for record_id in dict.fromkeys(record_ids)]
    condition = "md5(id) = ANY(%s) AND id = ANY(%s)"
    return [_record(row[1:]) for row in _rows(connection, condition, ([digest(key) for key in keys], keys))]


def read_page(connection: Connection, after: int, size: int) -> tuple[int, list[Record]]:
    """Up to ``size`` records whose numbers follow ``after``, and the last of the numbers."""
    rows = _rows(connection, "number > %s ORDER BY number LIMIT %s", (after, size))
    return (rows[-1][0] if rows else after), [_record(row[1:]) for row in rows]


def _rows(connection: Connection, condition: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor(binary=True) as cursor:
        cursor.execute(f"SELECT number, {_COLUMNS} FROM records WHERE {condition}".encode(), parameters)
        return cursor.fetchall()


def all_records(connection: Connection) -> list[Record]:
    """Every record, in an order that depends on the records alone."""
    with connection.cursor(binary=True) as cursor:
        cursor.execute(f"SELECT {_COLUMNS} FROM records".encode())
        found = [_record(row) for row in cursor]
    return sorted(found, key=lambda record: (record.artifact_id, record.surface_index, record.id))


def _record(row: tuple[Any, ...]) -> Record:
    record_id, artifact_id, kind, index, words, raw, metadata = row
    return Record(
        codec.unpacked(record_id),
        codec.unpacked(artifact_id),
        codec.unpacked(kind),
        index,
        codec.unpacked(words),
        decoded(raw),
        codec.loads(metadata),
    )


def decoded(raw: bytes) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A vector as the server sends it: its size, two bytes of nothing, then its numbers."""
    size = int.from_bytes(raw[:2], "big")
    kind = ">f4" if len(raw) == 4 + 4 * size else ">f2"
    return np.frombuffer(raw, kind, offset=4).astype(np.float32)
