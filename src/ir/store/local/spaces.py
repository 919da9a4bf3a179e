"""Which spaces of vectors a corpus has, and the table that holds the vectors of each."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.content import vector_sum
from ir.store.checks import MAIN_SPACE, unknown_space

if TYPE_CHECKING:
    from ir.base import Vector

__all__ = [
    "MADE_ANEW",
    "SpaceTable",
    "SpaceTables",
    "dimension",
    "read_vectors",
    "without_vector",
    "write_vectors",
]

#: Stands among the late vectors of a space for: what was derived from them is not true any more.
MADE_ANEW = -1
_MOST = 900


@dataclass(frozen=True)
class SpaceTable:
    """A space by its name and its number, which stands in the name of its table and is never given out twice."""

    name: str
    number: int

    @property
    def table(self) -> str:
        return f"vectors_{self.number}"


@dataclass
class SpaceTables:
    """What the row of state says of spaces."""

    default: str = MAIN_SPACE
    numbers: dict[str, int] = field(default_factory=lambda: {MAIN_SPACE: 0})
    following: int = 1

    @classmethod
    def parse(cls, text: str | None) -> SpaceTables:
        return cls(**json.loads(text)) if text else cls()

    def dumps(self) -> str:
        return json.dumps(vars(self), separators=(",", ":"))

    def of(self, name: str | None) -> SpaceTable:
        """The space of that name; the default one for ``None``."""
        name = self.default if name is None else name
        if name not in self.numbers:
            raise unknown_space(name, self.numbers)
        return SpaceTable(name, self.numbers[name])

    def all(self) -> list[SpaceTable]:
        return [SpaceTable(name, number) for name, number in self.numbers.items()]

    def add(self, connection: sqlite3.Connection, name: str) -> None:
        self.numbers[name] = self.following
        self.following += 1
        connection.execute(f"CREATE TABLE {self.of(name).table} (number INTEGER PRIMARY KEY, vector BLOB NOT NULL)")

    def drop(self, connection: sqlite3.Connection, name: str) -> None:
        space = self.of(name)
        connection.execute(f"DROP TABLE {space.table}")
        connection.execute("DELETE FROM late WHERE space = ?", (space.number,))
        del self.numbers[name]


def dimension(connection: sqlite3.Connection, space: SpaceTable) -> int | None:
    """Of the vectors in a space; ``None`` if it is empty."""
    row = connection.execute(f"SELECT length(vector) / 4 FROM {space.table} LIMIT 1").fetchone()
    return None if row is None else int(row[0])


def write_vectors(connection: sqlite3.Connection, space: SpaceTable, vectors: Mapping[str, Vector]) -> int:
    """Keep the vectors of stored records; by how much the sum of the space changes.

    What is derived learns of them from the list of late ones: their records may have been indexed long ago.
    """
    found = _by_id(connection, "SELECT id, number FROM records WHERE id IN ({})", list(vectors))
    numbers: dict[str, int] = dict(found)
    held = {
        record_id
        for (record_id,) in _by_id(
            connection,
            f"SELECT r.id FROM records r JOIN {space.table} v ON v.number = r.number WHERE r.id IN ({{}})",
            list(vectors),
        )
    }
    rows = [(numbers[record_id], vector.astype("<f4").tobytes()) for record_id, vector in vectors.items()]
    connection.executemany(f"INSERT OR REPLACE INTO {space.table} VALUES (?, ?)", rows)
    late = [number for number, _ in rows] + ([MADE_ANEW] if held else [])
    connection.executemany("INSERT OR IGNORE INTO late VALUES (?, ?)", [(space.number, number) for number in late])
    return vector_sum(record_id for record_id in vectors if record_id not in held)


def read_vectors(connection: sqlite3.Connection, space: SpaceTable, record_ids: Sequence[str]) -> dict[str, Vector]:
    """The vectors of those of the records that have one."""
    query = f"SELECT r.id, v.vector FROM records r JOIN {space.table} v ON v.number = r.number WHERE r.id IN ({{}})"
    rows = _by_id(connection, query, record_ids)
    return {record_id: np.frombuffer(vector, "<f4").copy() for record_id, vector in rows}


def without_vector(connection: sqlite3.Connection, space: SpaceTable, limit: int | None) -> list[str]:
    """The ids of records that have none, in the order of ids."""
    query = (
        f"SELECT id FROM records r WHERE NOT EXISTS (SELECT 1 FROM {space.table} v WHERE v.number = r.number) "
        "ORDER BY id LIMIT ?"
    )
    return [record_id for (record_id,) in connection.execute(query, (-1 if limit is None else limit,))]


def _by_id(connection: sqlite3.Connection, query: str, record_ids: Sequence[str]) -> list[Any]:
    rows: list[Any] = []
    for start in range(0, len(record_ids), _MOST):
        part = list(record_ids[start : start + _MOST])
        rows += connection.execute(query.format(",".join("?" * len(part))), part).fetchall()
    return rows
