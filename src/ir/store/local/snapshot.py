"""What a search sees of a local store: one version, for as long as it looks."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.base import Row
from ir.links import Direction, Neighbour, Node
from ir.protocols import Ranking, TermStats, Where
from ir.store.checks import fits
from ir.store.local.edges import degrees, neighbours, nodes_here
from ir.store.local.faults import parsed
from ir.store.local.view import View
from ir.store.vectors import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ir.protocols import Refs, Scores, Vector

__all__ = ["LocalSnapshot"]

_ROWS = (
    "SELECT r.number, r.id, a.id, k.name, r.surface_index, r.text, r.metadata FROM records r "
    "JOIN artifacts a ON a.number = r.artifact JOIN kinds k ON k.number = r.kind WHERE r.number IN ({})"
)
#: How many records a process keeps at hand. A number stands for the same record for ever, so they never go stale.
_REMEMBERED = 8192
#: ``Row._make`` without its check that there are six: ten rows are made for every search.
_as_row: Callable[[tuple[Any, ...]], Row] = partial(tuple.__new__, Row)
#: SQLite takes so many parameters at least.
_MOST = 900


class LocalSnapshot:
    """A view with the database connection whose read transaction it belongs to."""

    def __init__(self, view: View, connection: sqlite3.Connection) -> None:
        self._view = view
        self._connection = connection

    @property
    def version(self) -> str:
        return str(self._view.seq)

    @property
    def content_version(self) -> str:
        return self._view.content_version

    @property
    def dim(self) -> int | None:
        return self._view.space(None).dim

    @property
    def default_space(self) -> str:
        return self._view.space_tables.default

    def spaces(self) -> Mapping[str, int | None]:
        return {name: self._view.space(name).dim for name in self._view.space_tables.numbers}

    def unembedded(self, space: str | None = None) -> int:
        return len(self._view) - len(self._view.space(space))

    def __len__(self) -> int:
        return len(self._view)

    def config(self) -> Mapping[str, Any]:
        return self._view.config

    def kinds(self) -> frozenset[str]:
        return self._view.kinds_present

    def dense(self, vector: Vector, limit: int, where: Where, space: str | None = None) -> Ranking:
        return self._view.dense(vector, limit, where, self._connection, space)

    def lexical(self, terms: Mapping[str, float], limit: int, where: Where) -> Ranking:
        return self._view.rank(terms, limit, where, self._connection)

    def dense_scores(self, vector: Vector, refs: Refs, space: str | None = None) -> Scores:
        held = self._view.space(space)
        fits(vector, held.dim)
        return held.scores(vector, refs)

    def vectors(self, refs: Refs, space: str | None = None) -> list[Vector | None]:
        table, numbers = self._view.space_tables.of(space).table, refs.tolist()
        found: dict[int, Vector] = {}
        for start in range(0, len(numbers), _MOST):
            part = numbers[start : start + _MOST]
            query = f"SELECT number, vector FROM {table} WHERE number IN ({','.join('?' * len(part))})"
            for number, vector in self._connection.execute(query, part):
                found[number] = unit_rows(np.frombuffer(vector, "<f4"))
        return [found.get(number) for number in numbers]

    def lexical_scores(self, terms: Mapping[str, float], refs: Refs) -> Scores:
        return self._view.lexical_scores(terms, refs)

    def grouping(self, refs: Refs) -> tuple[NDArray[np.int64], Sequence[str]]:
        return self._view.grouping(refs)

    def rows(self, refs: Refs) -> list[Row]:
        numbers = refs.tolist()
        held = self._view.remembered_rows
        missing = [number for number in numbers if number not in held]
        if missing:
            if len(held) + len(missing) > _REMEMBERED:
                held = {number: held[number] for number in numbers if number in held}
                self._view.remembered_rows = held
            for start in range(0, len(missing), _MOST):
                part = missing[start : start + _MOST]
                for number, *row, metadata in self._connection.execute(_ROWS.format(",".join("?" * len(part))), part):
                    held[number] = (row, _reader(metadata))
            if not held.keys() >= set(missing):
                # The index is made of this very version, so it was the database that lost them.
                raise sqlite3.DatabaseError("malformed: records are missing that the index names")
        return [_as_row((*row, metadata())) for row, metadata in [held[number] for number in numbers]]

    def refs_of(self, record_ids: Sequence[str]) -> dict[str, int]:
        found: dict[str, int] = {}
        for start in range(0, len(record_ids), _MOST):
            part = record_ids[start : start + _MOST]
            query = f"SELECT id, number FROM records WHERE id IN ({','.join('?' * len(part))})"
            found.update(self._connection.execute(query, part))
        return found

    def nodes(self, node_ids: Sequence[str]) -> dict[str, Node]:
        return nodes_here(self._connection, node_ids)

    def neighbours(
        self,
        node_ids: Sequence[str],
        *,
        types: Collection[str] | None = None,
        direction: Direction = "out",
        limit: int | None = None,
    ) -> list[list[Neighbour]]:
        name = self._view.config.get("name")
        return neighbours(self._connection, node_ids, types=types, direction=direction, limit=limit, name=name)

    def degrees(
        self, node_ids: Sequence[str], *, types: Collection[str] | None = None, direction: Direction = "out"
    ) -> list[int]:
        name = self._view.config.get("name")
        return degrees(self._connection, node_ids, types=types, direction=direction, name=name)

    def term_stats(self, terms: Sequence[str]) -> TermStats:
        return self._view.term_stats(terms)


def _reader(metadata: str) -> Callable[[], dict[str, Any]]:
    """What makes a record's metadata anew: a hit is the caller's to change."""
    known: dict[str, Any] = parsed(metadata)
    lists = [(key, value) for key, value in known.items() if isinstance(value, list)]
    if any(isinstance(value, dict) for value in known.values()):
        return partial(json.loads, metadata)
    if any(isinstance(item, (list, dict)) for _, value in lists for item in value):
        return partial(json.loads, metadata)
    return partial(_with_lists, known, lists) if lists else known.copy


def _with_lists(known: dict[str, Any], lists: Sequence[tuple[str, list[Any]]]) -> dict[str, Any]:
    made = known.copy()
    for key, value in lists:
        made[key] = value[:]
    return made
