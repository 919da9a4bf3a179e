"""Vectors kept between runs, by the content of their texts.

One SQLite file for each model id. Every operation opens the file, is one transaction, and closes it: so it may be
used by many threads and processes, also after a fork, and a killed process leaves nothing behind. A cache is never
worth an error: if anything goes wrong, it is logged and the vectors are computed again.
"""

from __future__ import annotations

import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ir import config
from ir.system import replace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

__all__ = ["VectorCache"]

DFLT_MAX_BYTES = 2 * 1024**3
_SCHEMA = """
CREATE TABLE vectors (
    id INTEGER PRIMARY KEY,
    space TEXT NOT NULL,
    key BLOB NOT NULL,
    used INTEGER NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (space, key)
);
CREATE INDEX vectors_by_use ON vectors (used);
PRAGMA user_version = 1;
"""
_KEYS_PER_QUERY = 500
_EVICTED_AT_ONCE = 1000
_SECONDS_PER_DAY = 86_400
_BROKEN = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_PASSING = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})

Result = TypeVar("Result")


class VectorCache:
    """Vectors by ``(space, text)``, where a space is the fingerprint of what made them.

    The file stays below ``max_bytes`` by dropping what was not used for the longest time (to the day).
    """

    def __init__(self, path: Path, *, max_bytes: int = DFLT_MAX_BYTES, timeout: float = 30.0) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self.disabled = False
        self._timeout = timeout

    @classmethod
    def for_model(cls, model_id: str) -> VectorCache:
        """The cache of a model, in the user's cache directory."""
        return cls(config.embeddings_cache_dir(model_id) / "vectors.db")

    def get(self, space: str, texts: Sequence[str]) -> dict[str, Vector]:
        """The vectors of those texts that have one."""
        nothing: tuple[dict[str, Vector], list[int]] = ({}, [])
        found, long_unused = self._safely(lambda db: _get(db, space, texts), nothing)
        if long_unused:
            self._safely(lambda db: _touch(db, long_unused), None)
        return found

    def holds(self, space: str, texts: Sequence[str]) -> set[str]:
        """Those texts that have a vector; it is not read for that."""
        return self._safely(lambda db: _holds(db, space, texts), set())

    def put(self, space: str, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors, all or none of them."""
        if vectors:
            self._safely(lambda db: _transact(db, lambda held: self._put(held, space, vectors)), None)

    def spaces(self) -> list[str]:
        """The spaces that hold vectors."""
        return self._safely(_spaces, [])

    def forget(self, space: str) -> None:
        """Drop all vectors of a space."""
        self._safely(lambda db: _forget(db, space), None)

    def _safely(self, action: Callable[[sqlite3.Connection], Result], otherwise: Result) -> Result:
        if self.disabled:
            return otherwise
        try:
            return self._run(action)
        except sqlite3.Error as error:
            code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
            if code in _PASSING:
                _warn("The embedding cache %s is busy; going on without it this time.", self.path)
                return otherwise
            if code in _BROKEN and self._set_aside(error):
                return otherwise
            self._disable(error)
        except OSError as error:
            self._disable(error)
        return otherwise

    def _run(self, action: Callable[[sqlite3.Connection], Result]) -> Result:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(self.path, timeout=self._timeout, isolation_level=None)) as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")
            if db.execute("PRAGMA user_version").fetchone()[0] == 0:
                _transact(db, _create)
            return action(db)

    def _put(self, db: sqlite3.Connection, space: str, vectors: Mapping[str, Vector]) -> None:
        today = _today()
        db.executemany(
            "INSERT OR REPLACE INTO vectors (space, key, used, vector) VALUES (?, ?, ?, ?)",
            ((space, _key(text), today, _packed(vector)) for text, vector in vectors.items()),
        )
        while _bytes_used(db) > self.max_bytes:
            oldest = "SELECT id FROM vectors ORDER BY used, id LIMIT ?"
            if not db.execute(f"DELETE FROM vectors WHERE id IN ({oldest})", (_EVICTED_AT_ONCE,)).rowcount:
                break

    def _set_aside(self, error: Exception) -> bool:
        """Move a broken file out of the way, so that a new one is begun; whether that worked."""
        aside = self.path.with_name(f"{self.path.name}.broken-{os.getpid()}-{time.time_ns()}")
        try:
            replace(self.path, aside)
            for suffix in ("-wal", "-shm"):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        except OSError:
            return False
        _warn("The embedding cache %s is broken (%s); moved to %s and started afresh.", self.path, error, aside.name)
        return True

    def _disable(self, error: Exception) -> None:
        self.disabled = True
        _warn("The embedding cache %s cannot be used (%s); going on without it.", self.path, error)


def _transact(db: sqlite3.Connection, action: Callable[[sqlite3.Connection], object]) -> None:
    db.execute("BEGIN IMMEDIATE")
    try:
        action(db)
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _create(db: sqlite3.Connection) -> None:
    # Another process may have got here first, between our check and our lock.
    if db.execute("PRAGMA user_version").fetchone()[0] == 0:
        for statement in _SCHEMA.split(";"):
            db.execute(statement)


def _get(db: sqlite3.Connection, space: str, texts: Sequence[str]) -> tuple[dict[str, Vector], list[int]]:
    """The vectors that are there, and the rows among them that were not used today yet."""
    found: dict[str, Vector] = {}
    long_unused: list[int] = []
    today = _today()
    by_key = {_key(text): text for text in texts}
    for keys in _batches(by_key, _KEYS_PER_QUERY):
        chosen = f"key IN ({','.join('?' * len(keys))})"
        rows = db.execute(f"SELECT id, key, used, vector FROM vectors WHERE space = ? AND {chosen}", (space, *keys))
        for number, key, used, blob in rows:
            vector = _unpacked(blob)
            if vector is None:
                continue
            found[by_key[key]] = vector
            if used < today:
                long_unused.append(number)
    return found, long_unused


def _holds(db: sqlite3.Connection, space: str, texts: Sequence[str]) -> set[str]:
    found: set[str] = set()
    by_key = {_key(text): text for text in texts}
    for keys in _batches(by_key, _KEYS_PER_QUERY):
        chosen = f"key IN ({','.join('?' * len(keys))})"
        rows = db.execute(f"SELECT key FROM vectors WHERE space = ? AND {chosen}", (space, *keys))
        found.update(by_key[key] for (key,) in rows)
    return found


def _touch(db: sqlite3.Connection, rows: Sequence[int]) -> None:
    today = _today()
    _transact(
        db, lambda held: held.executemany("UPDATE vectors SET used = ? WHERE id = ?", [(today, row) for row in rows])
    )


def _forget(db: sqlite3.Connection, space: str) -> None:
    db.execute("DELETE FROM vectors WHERE space = ?", (space,))


def _spaces(db: sqlite3.Connection) -> list[str]:
    """Skip from one space to the next along the index; DISTINCT would read every vector."""
    found: list[str] = []
    while row := db.execute(
        "SELECT space FROM vectors WHERE space > ? ORDER BY space LIMIT 1", (found[-1] if found else "",)
    ).fetchone():
        found.append(str(row[0]))
    return found


def _warn(message: str, *details: Any) -> None:
    import logging  # importing it takes longer than opening a corpus

    logging.getLogger(__name__).warning(message, *details)


def _today() -> int:
    return int(time.time() // _SECONDS_PER_DAY)


def _key(text: str) -> bytes:
    import hashlib  # as above: `light` needs neither

    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _packed(vector: Vector) -> bytes:
    body = np.ascontiguousarray(vector, dtype="<f4").tobytes()
    return zlib.crc32(body).to_bytes(4, "little") + body


def _unpacked(blob: bytes) -> Vector | None:
    """The vector in a blob, unless the blob was damaged: SQLite does not check the content of its pages."""
    body = blob[4:]
    if len(body) < 4 or len(body) % 4 or zlib.crc32(body).to_bytes(4, "little") != blob[:4]:
        return None
    return np.frombuffer(body, dtype="<f4").astype(np.float32)


def _bytes_used(db: sqlite3.Connection) -> int:
    pages, free, size = (
        int(db.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def _batches(keys: Iterable[bytes], size: int) -> Iterable[list[bytes]]:
    remaining = iter(keys)
    while batch := list(islice(remaining, size)):
        yield batch
