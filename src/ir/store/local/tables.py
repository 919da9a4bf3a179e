"""Reading and writing the tables of a corpus's database."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ir.base import Record
from ir.store.local.faults import parsed

__all__ = ["all_records", "erase_records", "read_record", "read_records", "records_of", "write_records"]

_RECORD = (
    "SELECT r.id, a.id, k.name, r.surface_index, r.text, v.vector, r.metadata FROM records r "
    "JOIN artifacts a ON a.number = r.artifact JOIN kinds k ON k.number = r.kind JOIN vectors v ON v.number = r.number "
)
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
#: SQLite takes so many parameters at least.
_MOST = 900


def read_record(connection: sqlite3.Connection, record_id: str) -> Record | None:
    row = connection.execute(_RECORD + "WHERE r.id = ?", (record_id,)).fetchone()
    return None if row is None else _record(row)


def all_records(connection: sqlite3.Connection) -> list[Record]:
    return [_record(row) for row in connection.execute(_RECORD + "ORDER BY a.id, r.surface_index, r.id")]


def records_of(connection: sqlite3.Connection, condition: str, parameters: Sequence[Any]) -> list[Record]:
    """The records for which a condition on ``r`` holds."""
    return [_record(row) for row in connection.execute(f"{_RECORD}WHERE {condition}", parameters)]


def read_records(connection: sqlite3.Connection, record_ids: Sequence[str]) -> list[Record]:
    """Those of the records that are there."""
    wanted = list(dict.fromkeys(record_ids))
    return [record for marks, part in _parts(wanted) for record in records_of(connection, f"r.id IN ({marks})", part)]


def write_records(connection: sqlite3.Connection, records: Sequence[Record]) -> dict[int, Record]:
    """Write records under new numbers, and return them by number.

    Derived files take a changed record for one gone and one new.
    """
    erase_records(connection, [record.id for record in records])
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
        vectors.append((number, record.vector.astype("<f4", copy=False).tobytes()))
    connection.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
    connection.executemany("INSERT INTO vectors VALUES (?, ?)", vectors)
    return numbered


def erase_records(connection: sqlite3.Connection, record_ids: Sequence[str]) -> bool:
    """Delete those records that are there, leaving their numbers for the derived files; whether there were any."""
    erased = False
    for marks, part in _parts(record_ids):
        numbers = connection.execute(f"SELECT number FROM records WHERE id IN ({marks})", part).fetchall()
        connection.executemany("DELETE FROM records WHERE number = ?", numbers)
        connection.executemany("DELETE FROM vectors WHERE number = ?", numbers)
        connection.executemany("INSERT INTO tombstones VALUES (?, (SELECT seq + 1 FROM state))", numbers)
        erased = erased or bool(numbers)
    return erased


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


def _record(row: Any) -> Record:
    record_id, artifact, kind, index, text, vector, metadata = row
    return Record(record_id, artifact, kind, index, text, np.frombuffer(vector, "<f4").copy(), parsed(metadata))
