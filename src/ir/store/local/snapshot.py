"""What a search sees of a local store: one version, for as long as it looks."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ir.base import Row
from ir.protocols import Ranking, TermStats, Where
from ir.store.checks import fits
from ir.store.local.faults import parsed
from ir.store.local.view import View

if TYPE_CHECKING:
    import numpy as np
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
    def dim(self) -> int | None:
        return self._view.manifest.dim or None

    def __len__(self) -> int:
        return len(self._view)

    def config(self) -> Mapping[str, Any]:
        return self._view.config

    def kinds(self) -> frozenset[str]:
        return self._view.kinds_present

    def dense(self, vector: Vector, limit: int, where: Where) -> Ranking:
        fits(vector, self.dim)
        return self._view.dense(vector, limit, where, self._connection)

    def lexical(self, terms: Mapping[str, float], limit: int, where: Where) -> Ranking:
        return self._view.rank(terms, limit, where, self._connection)

    def dense_scores(self, vector: Vector, refs: Refs) -> Scores:
        fits(vector, self.dim)
        return self._view.dense_scores(vector, refs)

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
