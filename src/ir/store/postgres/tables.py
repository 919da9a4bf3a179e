"""Reading and writing the records of a corpus."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.base import Record
from ir.errors import InvalidInput
from ir.store.postgres import codec
from ir.store.postgres.connections import Connection
from ir.store.postgres.copying import NULL, big, copy_rows, json_binary, json_text, texts, vectors
from ir.store.postgres.spaces import Space

if TYPE_CHECKING:
    from ir.base import Vector

__all__ = [
    "all_records",
    "check_vectors",
    "decoded",
    "digest",
    "erase_records",
    "insert_records",
    "insert_vectors",
    "numbers_of",
    "read_page",
    "read_record",
    "read_records",
    "read_vectors",
    "update_vectors",
    "written_vector",
]

_COLUMNS = "id, artifact_id, kind, surface_index, text, {vector}, coalesce(written, metadata::text)"
_AMONG = "md5(id) = ANY(%s::text[]) AND id = ANY(%s::text[])"
_TARGET = "records (number, surface_index, id, artifact_id, kind, metadata, written, vector, text)"
#: So many rows are sent in one statement: each has to end before the timeout.
_BATCH = 5000
#: Vectors that are written as text are longer.
_UPDATED = 500
_MOST_DIMENSIONS = 16_000
_MOST_IN_HALF = 65_504.0


def digest(key: str) -> str:
    """What the index over an id or key holds; the same as the server's ``md5``."""
    return hashlib.md5(key.encode(), usedforsecurity=False).hexdigest()


def check_vectors(given: Mapping[str, Vector], *, half: bool) -> None:
    """Refuse what a vector column cannot hold; all have the same size."""
    if not given:
        return
    size = len(next(iter(given.values())))
    if not 1 <= size <= _MOST_DIMENSIONS:
        raise InvalidInput(f"PostgreSQL keeps vectors of 1 to {_MOST_DIMENSIONS} dimensions, not {size}.")
    if half:
        for record_id, vector in given.items():
            if np.abs(vector).max() > _MOST_IN_HALF:
                raise InvalidInput(
                    f"The vector of record {record_id!r} holds numbers beyond half precision.",
                    remedy="Keep the corpus with ?vectors=float32.",
                )


# -- records -----------------------------------------------------------------------------------------------------


def insert_records(
    connection: Connection, records: Sequence[Record], first: int, *, half: bool, embedded: bool
) -> None:
    """Copy records in, numbered from ``first``; their ids must not be there.

    ``embedded`` if such vectors as they have go into the same rows.
    """
    for start in range(0, len(records), _BATCH):
        part = records[start : start + _BATCH]
        copy_rows(connection, _TARGET, _encoded(part, first + start, half=half, embedded=embedded))


def _encoded(records: Sequence[Record], first: int, *, half: bool, embedded: bool) -> Iterator[tuple[bytes, ...]]:
    given = [record.vector for record in records if embedded and len(record.vector)]
    rows = vectors(np.stack(given), half=half) if given else iter(())
    for number, record in enumerate(records, start=first):
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
            next(rows) if embedded and len(record.vector) else NULL,
            words,
        )


def erase_records(connection: Connection, record_ids: Sequence[str]) -> dict[int, tuple[Record, bool]]:
    """Delete those records that are there: by their numbers, without vectors, but with whether they had one."""
    found: dict[int, tuple[Record, bool]] = {}
    columns = _COLUMNS.format(vector="NULL::bytea")
    query = f"DELETE FROM records WHERE {_AMONG} RETURNING number, vector IS NOT NULL, {columns}"
    for names in _parts(record_ids):
        for number, embedded, *row in connection.execute(query.encode(), names):
            found[number] = (_record(row), embedded)
    return found


def read_record(connection: Connection, record_id: str, space: Space) -> Record | None:
    return next(iter(read_records(connection, [record_id], space)), None)


def read_records(connection: Connection, record_ids: Sequence[str], space: Space) -> list[Record]:
    """Those of the records that are there, with the vectors that they have in a space."""
    rows = [row for names in _parts(record_ids) for row in _rows(connection, space, _AMONG, names)]
    return [_record(row[1:]) for row in rows]


def read_page(connection: Connection, after: int, size: int, space: Space) -> tuple[int, list[Record]]:
    """Up to ``size`` records whose numbers follow ``after``, and the last of the numbers."""
    rows = _rows(connection, space, "number > %s ORDER BY number LIMIT %s", (after, size))
    return (rows[-1][0] if rows else after), [_record(row[1:]) for row in rows]


def all_records(connection: Connection, space: Space) -> list[Record]:
    """Every record, in an order that depends on the records alone."""
    found = [_record(row[1:]) for row in _rows(connection, space, "true", ())]
    return sorted(found, key=lambda record: (record.artifact_id, record.surface_index, record.id))


def numbers_of(connection: Connection, record_ids: Sequence[str]) -> dict[str, int]:
    """The numbers of those records that are there."""
    query = f"SELECT id, number FROM records WHERE {_AMONG}".encode()
    found = [row for names in _parts(record_ids) for row in connection.execute(query, names)]
    return {codec.unpacked(record_id): number for record_id, number in found}


def _parts(record_ids: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Ids as the parameters of :data:`_AMONG`, as many as are asked for at a time."""
    for start in range(0, len(record_ids), _BATCH):
        part = [codec.packed(record_id) for record_id in record_ids[start : start + _BATCH]]
        yield codec.as_text_array(map(digest, part)), codec.as_text_array(part)


def _rows(connection: Connection, space: Space, condition: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    columns = _COLUMNS.format(vector=space.beside)
    with connection.cursor(binary=True) as cursor:
        cursor.execute(f"SELECT number, {columns} FROM {space.beside_records} WHERE {condition}".encode(), parameters)
        return cursor.fetchall()


def _record(row: Sequence[Any]) -> Record:
    record_id, artifact_id, kind, index, words, raw, metadata = row
    return Record(
        codec.unpacked(record_id),
        codec.unpacked(artifact_id),
        codec.unpacked(kind),
        index,
        codec.unpacked(words),
        np.empty(0, dtype=np.float32) if raw is None else decoded(raw),
        codec.loads(metadata),
    )


# -- vectors -----------------------------------------------------------------------------------------------------


def insert_vectors(connection: Connection, space: Space, given: Mapping[int, Vector], *, half: bool) -> None:
    """Copy vectors by record number into the table of a space; none of them may be there."""
    numbers = list(given)
    for start in range(0, len(numbers), _BATCH):
        part = numbers[start : start + _BATCH]
        rows = vectors(np.stack([given[number] for number in part]), half=half)
        encoded = ((big(number), vector) for number, vector in zip(part, rows, strict=True))
        copy_rows(connection, f"{space.table} (number, {space.column})", encoded)


def update_vectors(connection: Connection, given: Mapping[int, Vector], vector_type: str) -> None:
    """Write vectors by record number into records that are there."""
    numbers = list(given)
    query = (
        f"UPDATE records SET vector = u.vector::{vector_type} "
        "FROM unnest(%s::bigint[], %s::text[]) AS u (number, vector) WHERE records.number = u.number"
    ).encode()
    for start in range(0, len(numbers), _UPDATED):
        part = numbers[start : start + _UPDATED]
        written = [written_vector(given[number]) for number in part]
        connection.execute(query, (codec.as_array(part), codec.as_text_array(written)))


def read_vectors(connection: Connection, space: Space, record_ids: Sequence[str]) -> dict[str, Vector]:
    """The vectors that some records have in a space."""
    if not space.held:
        return {}
    found: dict[str, Vector] = {}
    query = f"SELECT id, {space.column} FROM {space.with_records} WHERE {_AMONG} AND {space.column} IS NOT NULL"
    for names in _parts(record_ids):
        with connection.cursor(binary=True) as cursor:
            cursor.execute(query.encode(), names)
            found.update((codec.unpacked(record_id), decoded(raw)) for record_id, raw in cursor)
    return found


def written_vector(vector: Vector) -> str:
    """A vector as the server reads it."""
    return "[" + ",".join(map(repr, np.asarray(vector, dtype=np.float32).tolist())) + "]"


def decoded(raw: bytes) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A vector as the server sends it: its size, two bytes of nothing, then its numbers."""
    size = int.from_bytes(raw[:2], "big")
    kind = ">f4" if len(raw) == 4 + 4 * size else ">f2"
    return np.frombuffer(raw, kind, offset=4).astype(np.float32)
