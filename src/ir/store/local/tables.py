"""Reading and writing the records of a corpus's database."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ir.base import Record, Row
from ir.content import Content, record_sum, vector_sum
from ir.store.local.faults import parsed
from ir.store.local.spaces import SpaceTable, SpaceTables

__all__ = [
    "all_records",
    "erase_records",
    "forget_unused",
    "known_ids",
    "read_record",
    "read_records",
    "records_of",
    "write_records",
]

_ROW = "r.id, a.id, k.name, r.surface_index, r.text, r.metadata"
_JOINED = "FROM records r JOIN artifacts a ON a.number = r.artifact JOIN kinds k ON k.number = r.kind "
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
#: SQLite takes so many parameters at least.
_MOST = 900


def read_record(connection: sqlite3.Connection, space: SpaceTable, record_id: str) -> Record | None:
    row = connection.execute(_records(space) + "WHERE r.id = ?", (record_id,)).fetchone()
    return None if row is None else _record(row)


def all_records(connection: sqlite3.Connection, space: SpaceTable) -> list[Record]:
    return [_record(row) for row in connection.execute(_records(space) + "ORDER BY a.id, r.surface_index, r.id")]


def records_of(
    connection: sqlite3.Connection, space: SpaceTable, condition: str, parameters: Sequence[Any]
) -> list[Record]:
    """The records for which a condition on ``r`` holds."""
    return [_record(row) for row in connection.execute(f"{_records(space)}WHERE {condition}", parameters)]


def read_records(connection: sqlite3.Connection, space: SpaceTable, record_ids: Sequence[str]) -> list[Record]:
    """Those of the records that are there."""
    found: list[Record] = []
    for marks, part in _parts(list(dict.fromkeys(record_ids))):
        found += records_of(connection, space, f"r.id IN ({marks})", part)
    return found


def known_ids(connection: sqlite3.Connection, record_ids: Sequence[str]) -> set[str]:
    """Those of the ids that are a record's."""
    query = "SELECT id FROM records WHERE id IN ({})"
    return {held for marks, part in _parts(record_ids) for (held,) in connection.execute(query.format(marks), part)}


def write_records(
    connection: sqlite3.Connection, records: Sequence[Record], space: SpaceTable, spaces: SpaceTables, content: Content
) -> dict[int, Record]:
    """Write records under new numbers, and return them by number.

    Derived files take a changed record for one gone and one new.
    """
    erase_records(connection, [record.id for record in records], spaces, content)
    latest = {record.id: record for record in records}
    artifacts = _numbers(connection, "artifacts", "id", {record.artifact_id for record in records})
    kinds = _numbers(connection, "kinds", "name", {record.surface_kind for record in records})
    (last,) = connection.execute(
        "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'records'), 0)"
    ).fetchone()
    numbered = dict(enumerate(latest.values(), start=last + 1))
    rows, vectors = [], []
    for number, record in numbered.items():
        metadata = _json(record.metadata) if record.metadata else "{}"
        artifact, kind = artifacts[record.artifact_id], kinds[record.surface_kind]
        rows.append((number, record.id, artifact, kind, record.surface_index, metadata, record.text))
        if len(record.vector):
            vectors.append((number, record.vector.astype("<f4", copy=False).tobytes()))
    connection.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    connection.executemany(f"INSERT INTO {space.table} VALUES (?, ?)", vectors)
    content.change("records", record_sum(latest.values()))
    content.change_vectors(space.name, vector_sum(record.id for record in latest.values() if len(record.vector)))
    return numbered


def erase_records(
    connection: sqlite3.Connection, record_ids: Sequence[str], spaces: SpaceTables, content: Content
) -> bool:
    """Delete those records that are there, leaving their numbers for the derived files; whether there were any."""
    erased = False
    for marks, part in _parts(record_ids):
        found = connection.execute(f"SELECT r.number, {_ROW} {_JOINED}WHERE r.id IN ({marks})", part).fetchall()
        if not found:
            continue
        erased = True
        numbers = [(row[0],) for row in found]
        content.change("records", -record_sum(Row._make((*row[1:6], parsed(row[6]))) for row in found))
        for space in spaces.all():
            _erase_vectors(connection, space, {row[0]: row[1] for row in found}, content)
        connection.executemany("DELETE FROM records WHERE number = ?", numbers)
        connection.executemany("INSERT INTO tombstones VALUES (?, (SELECT seq + 1 FROM state))", numbers)
    return erased


def forget_unused(connection: sqlite3.Connection) -> None:
    """Drop the names of artifacts and kinds that no record has any more."""
    connection.execute("DELETE FROM artifacts WHERE number NOT IN (SELECT artifact FROM records)")
    connection.execute("DELETE FROM kinds WHERE number NOT IN (SELECT kind FROM records)")


def _erase_vectors(connection: sqlite3.Connection, space: SpaceTable, ids: dict[int, str], content: Content) -> None:
    marks = ",".join("?" * len(ids))
    held = connection.execute(f"SELECT number FROM {space.table} WHERE number IN ({marks})", list(ids)).fetchall()
    connection.executemany(f"DELETE FROM {space.table} WHERE number = ?", held)
    content.change_vectors(space.name, -vector_sum(ids[number] for (number,) in held))


def _numbers(connection: sqlite3.Connection, table: str, column: str, names: set[str]) -> dict[str, int]:
    """The number of each name, given out on first sight."""
    ordered = sorted(names)
    connection.executemany(f"INSERT OR IGNORE INTO {table} ({column}) VALUES (?)", [(name,) for name in ordered])
    held: dict[str, int] = {}
    for marks, part in _parts(ordered):
        held.update(connection.execute(f"SELECT {column}, number FROM {table} WHERE {column} IN ({marks})", part))
    return held


def _parts(values: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    for start in range(0, len(values), _MOST):
        part = list(values[start : start + _MOST])
        yield ",".join("?" * len(part)), part


def _records(space: SpaceTable) -> str:
    """Records with their vectors in a space, which some may lack."""
    return f"SELECT {_ROW}, v.vector {_JOINED}LEFT JOIN {space.table} v ON v.number = r.number "


def _record(row: Any) -> Record:
    record_id, artifact, kind, index, text, metadata, vector = row
    numbers = np.empty(0, dtype=np.float32) if vector is None else np.frombuffer(vector, "<f4").copy()
    return Record(record_id, artifact, kind, index, text, numbers, parsed(metadata))
