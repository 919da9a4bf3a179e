"""Which records pass a restriction, and how many of them: few are compared one by one, many found by an index.

Of few, it is remembered where their rows lie (``ctid``) and which numbers they have. A row never changes and so never
moves while its version lasts, unless somebody has the whole table written anew (``VACUUM FULL``): that gives the table
another file, which every query by place is told of and compares.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ir.filters import matches
from ir.protocols import Where
from ir.store.postgres import codec
from ir.store.postgres.connections import Connection
from ir.store.postgres.filters import Condition, condition_of
from ir.store.postgres.row_addresses import Places, places
from ir.store.postgres.spaces import Space
from ir.store.postgres.state import State

__all__ = ["EVERYTHING", "Listed", "Passing", "Passings", "file_of"]

#: As many records as are quickly compared one by one.
FEW = 10_000
_REMEMBERED = 64
#: Up to so many numbers, a set of them is kept as bits.
_MOST_BITS = 1_000_000


@dataclass(frozen=True)
class Listed:
    """Few records: where they lie in which file of the table, and a test of a ``number`` for being one of them."""

    count: int
    places: Places
    file: int
    test: Condition


@dataclass(frozen=True)
class Passing:
    """``count`` is not counted further than a little above :data:`FEW`; up to that, the records are ``listed``."""

    condition: Condition
    count: int
    listed: Listed | None = None

    @property
    def selective(self) -> bool:
        return self.count <= FEW


EVERYTHING = Condition("true")


def file_of(table: str) -> str:
    """The table's file, asked for inside a query that reads the table: while that runs, it stays what it is."""
    return f"(SELECT pg_relation_filenode('{table}')::bigint)"


class Passings:
    """What is known of restrictions, for one version on one server at a time: a replica may lay its rows elsewhere.

    A restriction may be to records that have a vector in a space; the rows that are then listed are those of the
    vectors. Where every record has one in its own row, the same list serves both channels.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version: tuple[Any, ...] = ()
        self._known: OrderedDict[tuple[Where, str | None], Passing] = OrderedDict()

    def of(self, where: Where, state: State, connection: Connection, space: Space | None = None) -> Passing:
        space = _partial(space, state)
        if where.everything:
            return (
                Passing(EVERYTHING, state.records) if space is None else Passing(space.present(EVERYTHING), space.held)
            )
        version = _version(state, connection)
        with self._lock:
            if self._version != version:
                self._version = version
                self._known.clear()
            held = self._known.get(_key(where, space))
        if held is None:
            held = self.anew(where, state, connection, space)
        return held

    def anew(self, where: Where, state: State, connection: Connection, space: Space | None = None) -> Passing:
        """What there is to be known, found out now: at first, or after the table was written anew."""
        space = _partial(space, state)
        found = _look(where, state, connection, space)
        with self._lock:
            if self._version == _version(state, connection):
                self._known[_key(where, space)] = found
                while len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
        return found


def _key(where: Where, space: Space | None) -> tuple[Where, str | None]:
    return where, None if space is None else space.table


def _partial(space: Space | None, state: State) -> Space | None:
    """``None`` for a space whose vectors lie in the records, and in all of them."""
    return None if space is None or (space.is_main and space.held == state.records) else space


def _version(state: State, connection: Connection) -> tuple[Any, ...]:
    return (state.name, connection.info.host, connection.info.port)


def _look(where: Where, state: State, connection: Connection, space: Space | None) -> Passing:
    condition = condition_of(where)
    if condition is None:
        return _listed(_by_reading(where, connection, space), state)
    rows = list(_selected(connection, condition, space, limit=FEW + 1))
    if len(rows) <= FEW:
        return _listed(rows, state)
    return Passing(condition if space is None else space.present(condition), len(rows))


def _selected(
    connection: Connection, condition: Condition, space: Space | None, *, more: str = "", limit: int | None = None
) -> Iterable[tuple[Any, ...]]:
    """Number, place and file of rows: those of the records, or those of their vectors in a space."""
    source, table = ("records", "records") if space is None else (space.with_records, space.table)
    condition = condition if space is None else space.present(condition)
    query = f"SELECT number, {table}.ctid::text, {file_of(table)} {more} FROM {source} WHERE {condition.text} LIMIT %s"
    return connection.execute(query.encode(), (*condition.parameters, limit))


def _listed(rows: Iterable[tuple[Any, ...]], state: State) -> Passing:
    """Records by their places: whoever asks with the same filter again need not read metadata again."""
    rows = sorted(rows)
    numbers = np.array([number for number, _, _ in rows], dtype=np.int64)
    file = rows[0][2] if rows else 0
    listed = Listed(len(rows), places([place for _, place, _ in rows]), file, _test(numbers, state))
    return Passing(listed.test, len(rows), listed)


def _test(numbers: np.ndarray[Any, np.dtype[np.int64]], state: State) -> Condition:
    if state.last_number <= _MOST_BITS:
        # One bit for each record that there ever was: nothing to be parsed, nothing for the planner to weigh.
        bits = np.zeros(state.last_number + 1, dtype=bool)
        bits[numbers] = True
        return Condition("get_bit(%s::bytea, number) = 1", (np.packbits(bits, bitorder="little").tobytes(),))
    # An expression and not the column: thousands of numbers are to be looked up in a hash, not in the index.
    return Condition("number + 0 = ANY(%s::bigint[])", ("{" + ",".join(map(str, numbers.tolist())) + "}",))


def _by_reading(where: Where, connection: Connection, space: Space | None) -> list[tuple[int, str, int]]:
    """For filters that SQL would answer differently: every record's metadata, once for each version."""
    kinds = condition_of(Where(kinds=where.kinds)) or EVERYTHING
    return [
        (number, place, file)
        for number, place, file, metadata in _selected(connection, kinds, space, more=", metadata::text")
        if where.filter is None or matches(where.filter, codec.loads(metadata))
    ]
