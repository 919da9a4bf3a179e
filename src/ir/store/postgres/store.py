"""A corpus in a schema of a PostgreSQL database: records, indexes, graph, ledger and settings in one transaction."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.errors import UndefinedTable

from ir.base import Record, storable
from ir.content import Content
from ir.errors import CorpusBusy, CorpusError, IrError, StoreUnwritable
from ir.links import Edge, Node
from ir.store.base import DFLT_BATCH, MAIN_SPACE, BaseStore, View
from ir.store.mapping import CorpusStore
from ir.store.postgres import codec
from ir.store.postgres.address import Address
from ir.store.postgres.connections import Connection, Connections
from ir.store.postgres.edges import edge_pages, node_pages, read_edges, read_nodes
from ir.store.postgres.faults import is_passing, removed
from ir.store.postgres.filtered import Passings
from ir.store.postgres.schema import LATEST, applied_version, check_version, create_schema, migrate
from ir.store.postgres.snapshot import PostgresSnapshot
from ir.store.postgres.spaces import MAIN_NUMBER, Space
from ir.store.postgres.state import State, content_version
from ir.store.postgres.tables import (
    all_records,
    digest,
    numbers_of,
    read_page,
    read_record,
    read_records,
    read_vectors,
)
from ir.store.postgres.tidying import tidy
from ir.store.postgres.writing import Writing

if TYPE_CHECKING:
    from ir.base import Vector
    from ir.protocols import Snapshot

__all__ = ["PostgresStore"]

_log = logging.getLogger(__name__)
_TRIES = 3
_EMPTY = "empty"


class _Own(threading.local):
    """What this thread is writing, if it is."""

    writing: Writing | None = None


class PostgresStore(BaseStore):
    """A corpus at a PostgreSQL address (see :class:`Address`). Many may read while one writes.

    Nothing is connected to before it is needed, and nothing is made in the database before the first write.
    """

    def __init__(self, url: str | Address, *, lock_timeout: float | None = None) -> None:
        self.address = Address.parse(url) if isinstance(url, str) else url
        self.lock_timeout = self.address.lock_timeout if lock_timeout is None else lock_timeout
        self._primary = Connections(self.address, check_version)
        self._replica = Connections(self.address.replica, check_version) if self.address.replica else None
        self._behind: int | None = None
        self._own = _Own()
        self._passings = Passings()
        self._gave_up = ""
        self._found = False

    def __repr__(self) -> str:
        return f"PostgresStore({self.address.label!r})"

    @classmethod
    def migrate(cls, url: str | Address) -> tuple[int, int]:
        """Bring the tables of a corpus up to date: the version before (0 if there was none) and now."""
        address = Address.parse(url) if isinstance(url, str) else url
        connections = Connections(address)
        try:
            with connections.lend() as connection:
                before = applied_version(connection, address) or 0
                migrate(connection, address)
        finally:
            connections.close()
        store = cls(address)
        try:
            store._catch_up(store.lock_timeout)
        finally:
            store.close()
        return before, LATEST

    def exists(self) -> bool:
        """Whether anything was ever written here."""
        with self._primary.lend() as connection:
            return applied_version(connection, self.address) is not None

    def drop(self) -> None:
        """Remove the corpus with all that belongs to it."""
        from psycopg import sql

        with self._primary.lend() as connection:
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(self.address.schema)))
        self._found = False

    def own_parts(self) -> list[str]:
        """The schema that holds the corpus."""
        return [self.address.schema]

    def workspace_parts(self) -> list[str]:
        """The schemas of all corpora that the workspace has in this database, also of those that have no name left."""
        start = self.address.workspace_prefix
        with self._primary.lend() as connection:
            rows = connection.execute(
                "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s) ORDER BY 1", (start,)
            ).fetchall()
        return [str(name) for (name,) in rows]

    def drop_parts(self, parts: Sequence[str]) -> None:
        """Remove schemas of the workspace."""
        from psycopg import sql

        with self._primary.lend() as connection:
            for name in parts:
                if name.startswith(self.address.workspace_prefix):
                    connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))

    def close(self) -> None:
        """Let go of connections; the store can be used again."""
        self._primary.close()
        if self._replica is not None:
            self._replica.close()

    # -- writing -----------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make all writes inside one, indexes included; inner blocks join the outer."""
        with self._writing(self.lock_timeout, thorough=True):
            yield

    @contextmanager
    def _write_scope(self) -> Iterator[None]:
        with self._writing(self.lock_timeout, thorough=False):
            yield

    @contextmanager
    def _writing(self, patience: float, *, thorough: bool) -> Iterator[None]:
        if self._own.writing is not None:
            yield
            return
        with self._primary.lend() as connection:
            create_schema(connection, self.address)
            writing = self._own.writing = Writing.begin(connection, self.address, patience)
            try:
                yield
                writing.commit(thorough=thorough, ask=self._ask_before_commit)
            finally:
                self._own.writing = None
            if writing.writes and self._replica is not None:
                self._behind = writing.state.version
        if writing.litters or (thorough and writing.large):
            self._tidy()

    def taken_up(self) -> int:
        """The tables of the corpus with their indexes, as the server has them on its disk."""
        rows = self._rows(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = %s AND relkind IN ('r', 'm')",
            self.address.schema,
        )
        return int(rows[0][0]) if rows else 0

    def _tidy(self) -> None:
        with suppress(psycopg.Error, IrError), self._primary.lend() as connection:
            try:
                tidy(connection, self.address)
            finally:
                connection.close()

    # A write that stands by itself is done again if it only collided with another.

    def put_records(self, records: Sequence[Record], *, space: str | None = None) -> None:
        self._again(lambda: super(PostgresStore, self).put_records(records, space=space))

    def delete_records(self, record_ids: Sequence[str]) -> None:
        self._again(lambda: super(PostgresStore, self).delete_records(record_ids))

    def put_vectors(self, space: str, vectors: Mapping[str, Vector]) -> None:
        self._again(lambda: super(PostgresStore, self).put_vectors(space, vectors))

    def put_nodes(self, nodes: Iterable[Node]) -> None:
        given = list(nodes)
        self._again(lambda: super(PostgresStore, self).put_nodes(given))

    def delete_nodes(self, node_ids: Sequence[str]) -> None:
        self._again(lambda: super(PostgresStore, self).delete_nodes(node_ids))

    def set_edges(self, edges: Mapping[str, Sequence[Edge]]) -> None:
        self._again(lambda: super(PostgresStore, self).set_edges(edges))

    def _again(self, write: Callable[[], None]) -> None:
        """Do a write that stands by itself, again if it only collided with another."""
        for left in reversed(range(_TRIES)):
            try:
                write()
                return
            except CorpusBusy as error:
                if not left or self._own.writing is not None or not is_passing(error.__cause__ or error):
                    raise

    # -- searching ---------------------------------------------------------------------------------------------

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """The corpus as it is now, and stays in the block whatever is written meanwhile."""
        if self._own.writing is not None:
            self._own.writing.settle()
            yield PostgresSnapshot(self._own.writing.connection, self._unfinished(), Passings())
            return
        with self._reading() as connection:
            state = self._seen(connection)
            if state is None:
                with CorpusStore.memory().snapshot() as empty:
                    empty.version = _EMPTY  # type: ignore[misc]
                    yield empty
            else:
                yield PostgresSnapshot(connection, state, self._passings)

    def _seen(self, connection: Connection) -> State | None:
        """Begin a transaction that sees one version; ``None`` if there is no corpus."""
        while True:
            state = self._pinned(connection)
            if state is None or not state.lags(self.address) or self._gave_up == state.name:
                return state
            connection.execute("ROLLBACK")
            self._gave_up = state.name  # once: on a replica, what was made may not have arrived yet
            self._catch_up(0.0)

    def _catch_up(self, patience: float) -> None:
        """Make the lexical index that the address or a new analyzer asks for, if this user may write now."""
        with suppress(CorpusBusy, StoreUnwritable):
            if self.exists():
                with self._writing(patience, thorough=True):
                    pass

    def _unfinished(self) -> State:
        writing = self._open()
        return writing.state.copy(f"{writing.state.birth[:8]}+{id(writing):x}.{writing.writes}"[-40:])

    # -- where things are kept ---------------------------------------------------------------------------------

    @property
    def version(self) -> str:
        writing = self._own.writing
        if writing is not None:
            return f"{writing.state.name}+{id(writing):x}.{writing.writes}" if writing.writes else writing.state.name
        rows = self._rows("SELECT left(birth, 8), version FROM state")
        return f"{rows[0][0]}-{rows[0][1]}" if rows else _EMPTY

    @property
    def content_version(self) -> str:
        if self._own.writing is not None:
            self._own.writing.flush()
        state = self._state()
        return content_version(Content(), {}, MAIN_SPACE) if state is None else state.content_version

    def __len__(self) -> int:
        if self._own.writing is not None:
            return self._own.writing.state.records
        rows = self._rows("SELECT records FROM state")
        return int(rows[0][0]) if rows else 0

    def record_ids(self) -> list[str]:
        """The ids of all records, in the order in which they were written."""
        return [codec.unpacked(key) for (key,) in self._rows("SELECT id FROM records ORDER BY number")]

    def get_records(self, record_ids: Sequence[str]) -> list[Record]:
        """Those of the records that are there, in no particular order."""
        with self._looking() as (connection, state):
            return read_records(connection, [*dict.fromkeys(map(storable, record_ids))], state.space()) if state else []

    def iter_records(self, batch: int = DFLT_BATCH) -> Iterator[list[Record]]:
        """Every record in the order of writing, ``batch`` at a time; no connection is held between two of them."""
        last = 0
        while True:
            page: list[Record] = []
            with self._looking() as (connection, state):
                if state is not None:
                    last, page = read_page(connection, last, batch, state.space())
            if not page:
                return
            yield page

    def iter_entries(self, view: View, batch: int = DFLT_BATCH) -> Iterator[list[tuple[str, Any]]]:
        """Every ``(key, value)`` of the ledger or of the symbols, in the same way."""
        self._flush()
        last = ""
        query = f"SELECT md5(key), key, value::text FROM {view} WHERE md5(key) > %s ORDER BY md5(key) LIMIT %s"
        while rows := self._rows(query, last, batch):
            yield [(codec.unpacked(key), codec.loads(value)) for _, key, value in rows]
            last = rows[-1][0]

    def ledger_fields(self, *names: str) -> list[tuple[Any, ...]]:
        """The named fields of every ledger entry, without the rest of it."""
        columns = ", ".join("(value -> %s)::text" for _ in names)
        rows = self._rows(f"SELECT {columns} FROM ledger", *names)
        return [tuple(None if text is None else codec.loads(text) for text in row) for row in rows]

    def _known_records(self, record_ids: Sequence[str]) -> set[str]:
        with self._reading() as connection, self._maybe_missing():
            return set(numbers_of(connection, record_ids))
        return set()

    def _read_record(self, record_id: str) -> Record | None:
        with self._looking() as (connection, state):
            return None if state is None else read_record(connection, record_id, state.space())

    def _all_records(self) -> Iterator[Record]:
        with self._looking() as (connection, state):
            return iter(() if state is None else all_records(connection, state.space()))

    def _write_records(self, records: Sequence[Record], space: str) -> None:
        self._open().put(records, self._open().state.space(space))

    def _erase_records(self, record_ids: Sequence[str]) -> None:
        self._open().erase(record_ids)

    # -- spaces

    def _default_space(self) -> str:
        state = self._state()
        return MAIN_SPACE if state is None else state.default_space

    def _space_names(self) -> list[str]:
        return list(self._spaces())

    def _spaces(self) -> dict[str, Space]:
        state = self._state()
        return {MAIN_SPACE: Space(MAIN_SPACE, MAIN_NUMBER)} if state is None else state.spaces

    def spaces(self) -> dict[str, int | None]:
        return {name: space.size for name, space in self._spaces().items()}

    def _dimension(self, space: str) -> int | None:
        return self._spaces()[space].size

    def _write_space(self, name: str) -> None:
        self._open().add_space(name)

    def _erase_space(self, name: str) -> None:
        self._open().drop_space(self._open().state.space(name))

    def _switch_space(self, name: str) -> None:
        self._open().switch_space(self._open().state.space(name))

    def _write_vectors(self, space: str, vectors: Mapping[str, Vector]) -> None:
        self._open().put_vectors(self._open().state.space(space), vectors)

    def _read_vectors(self, space: str, record_ids: Sequence[str]) -> dict[str, Vector]:
        with self._looking() as (connection, state):
            return {} if state is None else read_vectors(connection, state.space(space), record_ids)

    def _without_vector(self, space: str, limit: int | None) -> list[str]:
        with self._looking() as (connection, state):
            if state is None or (asked := state.space(space)).held == state.records:
                return []
            query = (
                f'SELECT id FROM {asked.beside_records} WHERE {asked.beside} IS NULL ORDER BY id COLLATE "C" LIMIT %s'
            )
            return [codec.unpacked(key) for (key,) in connection.execute(query.encode(), (limit,))]

    # -- nodes and edges

    def iter_nodes(self, batch: int = DFLT_BATCH) -> Iterator[list[Node]]:
        last = ""
        while True:
            self._flush()
            page: list[Node] = []
            with self._reading() as connection, self._maybe_missing():
                page = node_pages(connection, last, batch)
            if not page:
                return
            yield page
            last = page[-1].id

    def iter_edges(self, batch: int = DFLT_BATCH) -> Iterator[list[tuple[str, list[Edge]]]]:
        self._flush()
        return edge_pages(self._rows, batch)

    def _read_nodes(self, node_ids: Sequence[str]) -> dict[str, Node]:
        if self._own.writing is not None:
            return self._own.writing.graph.nodes(node_ids)
        with self._reading() as connection, self._maybe_missing():
            return read_nodes(connection, node_ids)
        return {}

    def _read_edges(self, node_ids: Sequence[str]) -> dict[str, list[Edge]]:
        if self._own.writing is not None:
            return self._own.writing.graph.edges(node_ids)
        with self._reading() as connection, self._maybe_missing():
            return read_edges(connection, node_ids)
        return {}

    def _write_nodes(self, nodes: Sequence[Node]) -> None:
        self._open().graph.put_nodes({node.id: node for node in nodes})

    def _erase_nodes(self, node_ids: Sequence[str]) -> None:
        self._open().graph.put_nodes(dict.fromkeys(node_ids))

    def _write_edges(self, edges: Mapping[str, Sequence[Edge]]) -> None:
        self._open().graph.put_edges(edges)

    # -- the other views

    def _read(self, view: View, key: str) -> Any:
        writing = self._own.writing
        if view == "config":
            text = writing.state.config if writing else self._one("SELECT config::text FROM state")
        else:
            text = writing.held(view, key) if writing else None
            if text is None:
                name = codec.packed(key)
                query = f"SELECT value::text FROM {view} WHERE md5(key) = %s AND key = %s"
                text = self._one(query, digest(name), name)
        return None if text is None else codec.loads(text)

    def _read_all(self, view: View) -> list[tuple[str, Any]]:
        self._flush()
        rows = self._rows(f'SELECT key, value::text FROM {view} ORDER BY key COLLATE "C"')
        return [(codec.unpacked(key), codec.loads(value)) for key, value in rows]

    def _write(self, view: View, key: str, value: Any) -> None:
        def write() -> None:
            with self._write_scope():
                if view == "config":
                    self._open().configure(value)
                else:
                    self._open().write(view, key, value)

        self._again(write)

    def _erase(self, view: View, key: str) -> None:
        def erase() -> None:
            with self._write_scope():
                self._open().remove(view, key)

        self._again(erase)

    def _open(self) -> Writing:
        assert self._own.writing is not None, "writes happen inside a transaction"
        return self._own.writing

    def _flush(self) -> None:
        """Let queries see what an open transaction holds back."""
        if self._own.writing is not None:
            self._own.writing.flush()

    # -- connections -------------------------------------------------------------------------------------------

    def _state(self) -> State | None:
        """What is true of the corpus now; ``None`` if there is none."""
        if self._own.writing is not None:
            return self._own.writing.state
        with self._reading() as connection, self._maybe_missing():
            return State.read(connection)
        return None

    @contextmanager
    def _looking(self) -> Iterator[tuple[Connection, State | None]]:
        """A connection that sees one version, and what is true of that; ``None`` if there is no corpus."""
        if self._own.writing is not None:
            yield self._own.writing.connection, self._own.writing.state
            return
        with self._reading() as connection:
            yield connection, self._pinned(connection)

    def _pinned(self, connection: Connection) -> State | None:
        """Begin a transaction that sees one version; ``None`` if there is no corpus."""
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        with self._maybe_missing():
            return State.read(connection)
        return None

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """The open transaction's connection, else one to read with: the replica's, once it has our own writes."""
        if self._own.writing is not None:
            yield self._own.writing.connection
            return
        with ExitStack() as stack:
            connection = self._from_replica(stack)
            yield stack.enter_context(self._primary.lend()) if connection is None else connection

    def _from_replica(self, stack: ExitStack) -> Connection | None:
        if self._replica is None:
            return None
        try:
            connection = stack.enter_context(self._replica.lend())
            if self._behind is not None:
                row = connection.execute("SELECT version FROM state").fetchone()
                if row is None or int(row[0]) < self._behind:
                    return None
                self._behind = None
            return connection
        except UndefinedTable:
            return None
        except CorpusError as error:
            _log.warning("Reading from the primary: %s", error)
            return None

    @contextmanager
    def _maybe_missing(self) -> Iterator[None]:
        """A read of what may not be there yet, which is nothing; what was there and is gone was removed by others."""
        try:
            yield
            self._found = self._found or self._own.writing is None
        except UndefinedTable:
            if self._own.writing is not None:
                raise
            if self._found:
                raise removed(self.address) from None

    def _rows(self, query: str, *parameters: Any) -> list[Any]:
        with self._reading() as connection, self._maybe_missing():
            return connection.execute(query.encode(), parameters).fetchall()
        return []

    def _one(self, query: str, *parameters: Any) -> Any:
        rows = self._rows(query, *parameters)
        return rows[0][0] if rows else None
