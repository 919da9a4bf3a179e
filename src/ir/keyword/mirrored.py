"""What a mirror remembers: which records are on the engine, and in which form."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path

from ir.errors import StoreUnwritable

__all__ = ["Mirrored"]

_TABLES = """
CREATE TABLE IF NOT EXISTS told (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS items (key TEXT PRIMARY KEY, stamp TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS records (id TEXT PRIMARY KEY, item TEXT NOT NULL, hash TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS records_item ON records (item);
"""


#: No stamp and no hash is like this.
_DOUBT = "?"


class Mirrored:
    """Notes in a small database; without a path they are in memory, and empty."""

    def __init__(self, path: Path | None) -> None:
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(":memory:" if path is None else path, timeout=30)
            self._connection.executescript(_TABLES)
        except (OSError, sqlite3.Error) as error:
            raise StoreUnwritable(
                f"What is mirrored cannot be noted down in {path}: {error}.",
                remedy="Make the folder writable; a file that is broken may be removed, and all is sent anew.",
            ) from error

    def close(self) -> None:
        self._connection.close()

    @property
    def mark(self) -> str:
        """What the collection is marked by; empty if nothing was ever sent."""
        return self._told("mark") or ""

    @property
    def version(self) -> str | None:
        """The content version of the corpus that the engine is at; ``None`` while it is on the way to one."""
        return self._told("version")

    @version.setter
    def version(self, version: str | None) -> None:
        if version is None:
            self._connection.execute("DELETE FROM told WHERE name = 'version'")
        else:
            self._tell("version", version)
        self._connection.commit()

    def begin(self, mark: str) -> None:
        """Forget everything."""
        for table in ("told", "items", "records"):
            self._connection.execute(f"DELETE FROM {table}")
        self._tell("mark", mark)
        self._connection.commit()

    def stamps(self) -> dict[str, str]:
        """The stamp of each item."""
        return dict(self._connection.execute("SELECT key, stamp FROM items"))

    def records(self, item: str) -> dict[str, str]:
        """The hashes of the records of an item."""
        return dict(self._connection.execute("SELECT id, hash FROM records WHERE item = ?", (item,)))

    def elsewhere(self, record_id: str, item: str) -> bool:
        """Whether a record belongs to another item."""
        query = "SELECT 1 FROM records WHERE id = ? AND item != ?"
        return self._connection.execute(query, (record_id, item)).fetchone() is not None

    def doubt(self, item: str, record_ids: Iterable[str]) -> None:
        """Note that records of an item may be there or not, in whatever form."""
        self._connection.execute("INSERT OR REPLACE INTO items VALUES (?, ?)", (item, _DOUBT))
        rows = [(record_id, item, _DOUBT) for record_id in record_ids]
        self._connection.executemany("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", rows)

    def keep(self, item: str, stamp: str | None, records: Mapping[str, str]) -> None:
        """Note what is there of an item, in place of what was; without a stamp it is gone."""
        run = self._connection
        run.execute("DELETE FROM records WHERE item = ?", (item,))
        run.execute("DELETE FROM items WHERE key = ?", (item,))
        if stamp is not None:
            run.execute("INSERT INTO items VALUES (?, ?)", (item, stamp))
        rows = [(record_id, item, hashed) for record_id, hashed in records.items()]
        run.executemany("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", rows)

    def commit(self) -> None:
        self._connection.commit()

    def _told(self, name: str) -> str | None:
        row = self._connection.execute("SELECT value FROM told WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def _tell(self, name: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO told VALUES (?, ?)", (name, value))
