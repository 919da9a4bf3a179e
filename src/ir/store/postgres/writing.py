"""One open write transaction: what was changed in it, and what has to follow before it may be committed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from psycopg import errors

from ir.base import Record
from ir.store.postgres import codec
from ir.store.postgres.address import Address
from ir.store.postgres.connections import Connection
from ir.store.postgres.faults import busy
from ir.store.postgres.lexicon import clear_lexical, forget_records, index_records
from ir.store.postgres.nearest import make_index
from ir.store.postgres.state import State
from ir.store.postgres.tables import check_vectors, digest, erase_records, insert_records

__all__ = ["Writing"]

#: Ledger entries and links are written in batches of so many.
_HELD = 5000
#: A transaction that changes more than this, and more than a fifth of the corpus, leaves statistics behind.
_MANY = 5000
#: A row has to fit on a page; vectors of more bytes are kept beside the table.
_MOST_IN_ROW = 7000

#: The index over metadata takes entries in bulk from a long list of pending ones, which is emptied after the commit.
_LOCK = """
SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0)), set_config('gin_pending_list_limit', '1048576', true)
"""
_HOLDER = """
SELECT coalesce(nullif(a.application_name, ''), 'session ' || a.pid), a.usename, host(a.client_addr)
FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE l.locktype = 'advisory' AND l.granted
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended(%s, 0)
"""


class Writing:
    """The transaction of one writer, who holds the corpus's lock. Its state is written at its end."""

    def __init__(self, connection: Connection, address: Address) -> None:
        self.connection = connection
        self.address = address
        self.state = State.read(connection)
        self.writes = 0
        self.moved = 0
        self.indexed_anew = False
        self._held: dict[str, dict[str, str]] = {}

    @classmethod
    def begin(cls, connection: Connection, address: Address, patience: float) -> Writing:
        """Begin, once no other session writes the corpus; ``CorpusBusy`` names the one that does."""
        # Said, as a database may have another default: whoever waited for the lock must see what the holder wrote.
        connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        row = connection.execute(_LOCK, (address.schema,)).fetchone()
        if not (row and row[0]):
            cls._wait(connection, address, patience)
        return cls(connection, address)

    @staticmethod
    def _wait(connection: Connection, address: Address, patience: float) -> None:
        try:
            if patience <= 0:
                raise errors.LockNotAvailable
            connection.execute(
                "SELECT set_config('lock_timeout', %s, true), set_config('statement_timeout', '0', true)",
                (str(max(1, int(patience * 1000))),),
            )
            connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (address.schema,))
            connection.execute(
                "SELECT set_config('lock_timeout', '0', true), set_config('statement_timeout', %s, true)",
                (str(int(address.timeout * 1000)),),
            )
        except errors.LockNotAvailable:
            connection.execute("ROLLBACK")
            row = connection.execute(_HOLDER, (address.schema,)).fetchone()
            holder = " by ".join(str(part) for part in row[:2]) + (f" from {row[2]}" if row[2] else "") if row else ""
            raise busy(address, holder) from None

    # -- records -----------------------------------------------------------------------------------------------

    def put(self, records: Sequence[Record]) -> None:
        check_vectors(records, half=self.state.half)
        latest = list({record.id: record for record in records}.values())
        if self.state.records:
            self.erase([record.id for record in latest])
        self._prepare(latest)
        insert_records(self.connection, latest, self.state.last_number + 1, half=self.state.half)
        self.state.last_number += len(latest)
        self.state.records += len(latest)
        self.state.dim = len(latest[0].vector)
        self.moved += len(latest)
        self.writes += 1

    def _prepare(self, records: Sequence[Record]) -> None:
        """Fit the column to the vectors that come first; later it stays as it is."""
        dim = len(records[0].vector)
        if not self.state.records and not self.state.analyzer and self.address.vectors == "half":
            self.connection.execute("ALTER TABLE records ALTER COLUMN vector TYPE halfvec")
            self.connection.execute("ALTER TABLE records ALTER COLUMN vector SET STORAGE PLAIN")
            self.state.vector_type = "halfvec"
            check_vectors(records, half=True)
        if dim != self.state.dim and dim * (2 if self.state.half else 4) > _MOST_IN_ROW:
            self.connection.execute("ALTER TABLE records ALTER COLUMN vector SET STORAGE EXTERNAL")

    def erase(self, record_ids: Sequence[str]) -> None:
        numbers = erase_records(self.connection, record_ids)
        if numbers:
            forget_records(self.connection, self.state, numbers)
            self.state.records -= len(numbers)
            self.moved += len(numbers)
            self.writes += 1

    # -- the other views ---------------------------------------------------------------------------------------

    def configure(self, settings: Any) -> None:
        self.state.config = codec.dumps(settings)
        self.writes += 1

    def write(self, view: str, key: str, value: Any) -> None:
        held = self._held.setdefault(view, {})
        held[codec.packed(key)] = codec.dumps(value)
        self.writes += 1
        if len(held) >= _HELD:
            self.flush()

    def held(self, view: str, key: str) -> str | None:
        """What was written under a key and not sent yet."""
        return self._held.get(view, {}).get(codec.packed(key))

    def remove(self, view: str, key: str) -> None:
        name = codec.packed(key)
        waiting = self._held.get(view, {}).pop(name, None)
        query = f"DELETE FROM {view} WHERE md5(key) = %s AND key = %s"
        gone = self.connection.execute(query.encode(), (digest(name), name)).rowcount
        if waiting is not None or gone:
            self.writes += 1

    def flush(self) -> None:
        """Send what is held back."""
        for view, entries in self._held.items():
            query = (
                f"INSERT INTO {view} (key, value) SELECT k, v::json FROM unnest(%s::text[], %s::text[]) AS u (k, v) "
                "ON CONFLICT (md5(key)) DO UPDATE SET value = excluded.value"
            )
            if entries:
                self.connection.execute(query.encode(), (list(entries), list(entries.values())))
        self._held.clear()

    # -- the end -----------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Make everything that is derived true of what was written; more may be written afterwards."""
        self.flush()
        state = self.state
        analyzer, lexical = state.wanted_analyzer(), state.wanted_lexical(self.address)
        if state.records and (state.analyzer, state.lexical) != (analyzer.id, lexical):
            if state.analyzer is not None:
                clear_lexical(self.connection, state)
            state.analyzer, state.lexical = analyzer.id, lexical
        if state.indexed < state.last_number:
            index_records(self.connection, state, analyzer)
        state.write(self.connection)

    def commit(self, *, thorough: bool) -> None:
        """Keep everything. ``thorough``, for a build, also makes the index that a grown corpus needs."""
        if self.writes or self.state.lags(self.address):
            self.settle()
            if thorough and self.large:
                self.connection.execute("ANALYZE records, postings, documents, terms")
            if thorough:
                before = self.state.near
                make_index(self.connection, self.state)
                self.indexed_anew = self.state.near != before
            row = self.connection.execute("SELECT nextval('versions')").fetchone()
            self.state.version = int(row[0]) if row else self.state.version + 1
            self.state.write(self.connection)
        self.connection.execute("COMMIT")

    @property
    def large(self) -> bool:
        return self.moved > max(_MANY, self.state.records // 5)
