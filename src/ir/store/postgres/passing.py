"""Which records pass a restriction, and how many of them: few are compared one by one, many found by an index."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

from ir.filters import matches
from ir.protocols import Where
from ir.store.postgres import codec
from ir.store.postgres.connections import Connection
from ir.store.postgres.filters import Condition, condition_of
from ir.store.postgres.state import State

__all__ = ["EVERYTHING", "Passing", "Passings"]

#: As many records as are quickly compared one by one.
FEW = 10_000
_REMEMBERED = 64


@dataclass(frozen=True)
class Passing:
    """``count`` is not counted further than a little above :data:`FEW`; ``listed`` are the numbers, if they are few."""

    condition: Condition
    count: int
    listed: str | None = None

    @property
    def selective(self) -> bool:
        return self.count <= FEW


EVERYTHING = Condition("true")


class Passings:
    """What is known of restrictions, for one version at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version = ""
        self._known: OrderedDict[Where, Passing] = OrderedDict()

    def of(self, where: Where, state: State, connection: Connection) -> Passing:
        if where.everything:
            return Passing(EVERYTHING, state.records)
        with self._lock:
            if self._version != state.name:
                self._version = state.name
                self._known.clear()
            held = self._known.get(where)
        if held is None:
            held = _look(where, connection)
            with self._lock:
                if self._version == state.name:
                    self._known[where] = held
                    while len(self._known) > _REMEMBERED:
                        self._known.popitem(last=False)
        return held


def _look(where: Where, connection: Connection) -> Passing:
    condition = condition_of(where)
    if condition is None:
        return _listed(_by_reading(where, connection))
    query = f"SELECT number FROM records WHERE {condition.text} LIMIT {FEW + 1}"
    numbers = [number for (number,) in connection.execute(query.encode(), condition.parameters)]
    return _listed(numbers) if len(numbers) <= FEW else Passing(condition, len(numbers))


def _listed(numbers: list[int]) -> Passing:
    """Records by their numbers: whoever asks with the same filter again need not read metadata again."""
    # As text, made once: encoding the numbers for each query would take longer than the query.
    written = "{" + ",".join(map(str, sorted(numbers))) + "}"
    return Passing(Condition("number = ANY(%s::bigint[])", (written,)), max(len(numbers), 1), written)


def _by_reading(where: Where, connection: Connection) -> list[int]:
    """For filters that SQL would answer differently: every record's metadata, once for each version."""
    kinds = condition_of(Where(kinds=where.kinds)) or EVERYTHING
    query = f"SELECT number, metadata::text FROM records WHERE {kinds.text}"
    return [
        number
        for number, metadata in connection.execute(query.encode(), kinds.parameters)
        if where.filter is None or matches(where.filter, codec.loads(metadata))
    ]
