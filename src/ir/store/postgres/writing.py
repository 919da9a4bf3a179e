"""One open write transaction: what was changed in it, and what has to follow before it may be committed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from psycopg import errors

from ir.base import Record
from ir.content import record_sum, vector_sum
from ir.store.postgres import codec
from ir.store.postgres.address import Address
from ir.store.postgres.connections import Connection
from ir.store.postgres.faults import busy
from ir.store.postgres.lexicon import clear_lexical, forget_records, index_records
from ir.store.postgres.nearest import make_index
from ir.store.postgres.pending import PendingGraph
from ir.store.postgres.spaces import Space
from ir.store.postgres.state import State
from ir.store.postgres.tables import (
    check_vectors,
    digest,
    erase_records,
    insert_records,
    insert_vectors,
    numbers_of,
    update_vectors,
)

if TYPE_CHECKING:
    from ir.base import Vector

__all__ = ["Writing"]

#: Ledger entries and symbols are written in batches of so many.
_HELD = 5000
#: A transaction that changes more than this, and more than a fifth of the corpus, leaves statistics behind.
_MANY = 5000
#: So many records are forgotten at a time.
_ERASED = 5000
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
        self.graph = PendingGraph(connection, self.state)
        self._writes = 0
        self.moved = 0
        #: Whether an index or a table is left that nothing refers to any more.
        self.litters = False
        self._held: dict[str, dict[str, str]] = {}

    @classmethod
    def begin(cls, connection: Connection, address: Address, patience: float) -> Writing:
        """Begin, once no other session writes the corpus; ``CorpusBusy`` names the one that does."""
        # Said, as a database may have another default: whoever waited for the lock must see what the holder wrote.
        connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        if not cls.lock(connection, address):
            cls._wait(connection, address, patience)
        return cls(connection, address)

    @staticmethod
    def lock(connection: Connection, address: Address) -> bool:
        """Take the corpus's lock for the open transaction, if nobody has it; whether it was taken."""
        row = connection.execute(_LOCK, (address.schema,)).fetchone()
        return bool(row and row[0])

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

    @property
    def writes(self) -> int:
        """Another number after everything that changed the corpus, as far as it was sent."""
        return self._writes + self.graph.changed

    # -- records -----------------------------------------------------------------------------------------------

    def put(self, records: Sequence[Record], space: Space) -> None:
        """Keep records, with such vectors as they have in the space; a vector of length 0 is none."""
        latest = list({record.id: record for record in records}.values())
        vectors = {record.id: record.vector for record in latest if len(record.vector)}
        check_vectors(vectors, half=self.state.half)
        if self.state.records:
            self.erase([record.id for record in latest])
        first = self.state.last_number + 1
        self._choose_precision(vectors)
        if vectors:
            self._prepare(space, len(next(iter(vectors.values()))))
        insert_records(self.connection, latest, first, half=self.state.half, embedded=space.is_main)
        if not space.is_main:
            numbered = {first + at: record.vector for at, record in enumerate(latest) if len(record.vector)}
            insert_vectors(self.connection, space, numbered, half=self.state.half)
        self.state.last_number += len(latest)
        self.state.records += len(latest)
        space.held += len(vectors)
        self.state.content.change("records", record_sum(latest))
        self.state.content.change_vectors(space.name, vector_sum(vectors))
        self._moved(len(latest))

    def erase(self, record_ids: Sequence[str]) -> None:
        """Forget those records that are there; what they held is read, some at a time, to take it from the sums."""
        for start in range(0, len(record_ids), _ERASED):
            self._erase(record_ids[start : start + _ERASED])

    def _erase(self, record_ids: Sequence[str]) -> None:
        gone = erase_records(self.connection, record_ids)
        if not gone:
            return
        numbers = list(gone)
        forget_records(self.connection, self.state, numbers)
        self.state.records -= len(gone)
        self.state.content.change("records", -record_sum(record for record, _ in gone.values()))
        for space in self.state.spaces.values():
            if space.is_main:
                self._forget_vectors(space, [record.id for record, embedded in gone.values() if embedded])
            elif space.held:
                query = f"DELETE FROM {space.table} WHERE number = ANY(%s::bigint[]) RETURNING number"
                found = self.connection.execute(query.encode(), (codec.as_array(numbers),)).fetchall()
                self._forget_vectors(space, [gone[number][0].id for (number,) in found])
        self._moved(len(gone))

    def _forget_vectors(self, space: Space, record_ids: Sequence[str]) -> None:
        space.held -= len(record_ids)
        self.state.content.change_vectors(space.name, -vector_sum(record_ids))

    def _moved(self, count: int) -> None:
        self.moved += count
        self._writes += 1

    # -- spaces of vectors -------------------------------------------------------------------------------------

    def add_space(self, name: str) -> None:
        row = self.connection.execute("SELECT nextval('spaces')").fetchone()
        assert row is not None
        self.state.add_space(name, int(row[0]))
        self._writes += 1

    def drop_space(self, space: Space) -> None:
        """Nothing refers to its table any more, which is removed when nobody reads it."""
        if space.is_main:
            self.connection.execute("SET LOCAL statement_timeout = 0")
            self.connection.execute("UPDATE records SET vector = NULL WHERE vector IS NOT NULL")
            self.moved += space.held
        del self.state.spaces[space.name]
        self.state.content.vectors.pop(space.name, None)
        self.litters = True
        self._writes += 1

    def switch_space(self, space: Space) -> None:
        self.state.default_space = space.name
        self._writes += 1

    def put_vectors(self, space: Space, vectors: Mapping[str, Vector]) -> None:
        """Keep the vectors of records that are all there."""
        check_vectors(vectors, half=self.state.half)
        self._prepare(space, len(next(iter(vectors.values()))))
        ids = {number: record_id for record_id, number in numbers_of(self.connection, list(vectors)).items()}
        given = {number: vectors[record_id] for number, record_id in ids.items()}
        held = self._held_among(space, list(ids))
        if space.is_main:
            update_vectors(self.connection, given, self.state.vector_type)
        else:
            if held:
                query = f"DELETE FROM {space.table} WHERE number = ANY(%s::bigint[])"
                self.connection.execute(query.encode(), (codec.as_array(held),))
            insert_vectors(self.connection, space, given, half=self.state.half)
        space.held += len(given) - len(held)
        new = ids.keys() - held
        self.state.content.change_vectors(space.name, vector_sum(ids[number] for number in new))
        self._moved(len(given))

    def _held_among(self, space: Space, numbers: Sequence[int]) -> set[int]:
        """Which of the records have a vector in a space."""
        query = f"SELECT number FROM {space.table} WHERE number = ANY(%s::bigint[]) AND {space.column} IS NOT NULL"
        rows = self.connection.execute(query.encode(), (codec.as_array(numbers),)) if space.held else ()
        return {number for (number,) in rows}

    def _choose_precision(self, vectors: Mapping[str, Vector]) -> None:
        """Once, with the first records: the columns of vectors stay what they are then."""
        if (
            not self.state.records
            and not self.state.analyzer
            and self.address.vectors == "half"
            and not self.state.half
        ):
            self.connection.execute("ALTER TABLE records ALTER COLUMN vector TYPE halfvec")
            self.connection.execute("ALTER TABLE records ALTER COLUMN vector SET STORAGE PLAIN")
            self.state.vector_type = "halfvec"
            check_vectors(vectors, half=True)

    def _prepare(self, space: Space, dim: int) -> None:
        """Make a space's table, if it has none, and fit it to the size of its vectors."""
        if not space.is_main and space.dim is None:
            kind = self.state.vector_type
            self.connection.execute(
                f"CREATE TABLE {space.table} (number bigint PRIMARY KEY, embedding {kind} NOT NULL)".encode()
            )
            self._set_storage(space, "PLAIN")
        if dim != space.dim and dim * (2 if self.state.half else 4) > _MOST_IN_ROW:
            self._set_storage(space, "EXTERNAL")
        space.dim = dim

    def _set_storage(self, space: Space, storage: str) -> None:
        self.connection.execute(f"ALTER TABLE {space.table} ALTER COLUMN {space.column} SET STORAGE {storage}".encode())

    # -- the other views ---------------------------------------------------------------------------------------

    def configure(self, settings: Any) -> None:
        self.state.config = codec.dumps(settings)
        self._writes += 1

    def write(self, view: str, key: str, value: Any) -> None:
        held = self._held.setdefault(view, {})
        held[codec.packed(key)] = codec.dumps(value)
        self._writes += 1
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
            self._writes += 1

    def flush(self) -> None:
        """Send what is held back."""
        self.graph.flush()
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

    def commit(self, *, thorough: bool, ask: Callable[[], None]) -> None:
        """Keep everything. ``thorough``, for a build, also makes the indexes that a grown corpus needs. ``ask`` may
        object to what was written."""
        self.flush()
        if self.writes or self.state.lags(self.address):
            self.settle()
            if thorough:
                self._learn_sizes()
                for space in self.state.spaces.values():
                    self.litters |= make_index(self.connection, self.state, space)
            row = self.connection.execute("SELECT nextval('versions')").fetchone()
            self.state.version = int(row[0]) if row else self.state.version + 1
            self.state.write(self.connection)
            ask()
        self.connection.execute("COMMIT")

    def _learn_sizes(self) -> None:
        """Let the server look at what has changed much, so that it chooses well how to read it."""
        tables = ["records", "postings", "documents", "terms"] if self.large else []
        tables += [
            space.table for space in self.state.spaces.values() if space.held and self.large and not space.is_main
        ]
        tables += ["nodes", "edges", "ledger"] if self.graph.changed > _MANY else []
        if tables:
            self.connection.execute(f"ANALYZE {', '.join(tables)}".encode())

    @property
    def large(self) -> bool:
        return self.moved > max(_MANY, self.state.records // 5)
