"""What a corpus holds as documents, each born in one version and dead from another on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

from ir.store.mongo.connection import Connection, driver, translated
from ir.store.mongo.state import State

__all__ = ["ALIVE", "VECTORS", "Change", "Rows"]

#: When a row dies that nobody has ended.
ALIVE = 2**53
#: How the view of a space's vectors is called: this, then the space.
VECTORS = "vector:"
#: A document holds 16 MB; a longer value is cut into several.
_PAGE = 3_000_000
_BATCH = 1000
_BYTES = 8_000_000
_FIELDS = {"_id": 0, "view": 1, "key": 1, "born": 1, "page": 1, "value": 1}
#: A view, a key in it, and the new value; ``None`` if there is none any more.
Change = tuple[str, str, Any]


class Rows:
    """The collection of a corpus's rows. Everything here is what MongoDB and DocumentDB both do."""

    def __init__(self, connection: Connection, name: str) -> None:
        self._connection = connection
        self._name = name

    @property
    def _collection(self) -> Any:
        return self._connection.database[self._name]

    def make(self) -> None:
        """The indexes, and with them the collection."""
        with translated(self._connection.address):
            fields = (["mark"], ["born"], ["died"], ["view", "died"])
            self._collection.create_indexes([driver().IndexModel([(name, 1) for name in names]) for names in fields])

    def drop(self) -> None:
        with translated(self._connection.address):
            self._collection.drop()

    # -- reading -----------------------------------------------------------------------------------------------

    def load(self, view: str, state: State) -> dict[str, Any]:
        """What a view holds in a version."""
        if not state.counts.get(view):
            return {}
        alive: dict[str, Any] = {"view": view, "born": {"$lte": state.version}, "died": {"$gt": state.version}}
        if state.open:
            alive["born"]["$nin"] = list(state.open)
            del alive["died"]
            alive["$or"] = [{"died": {"$gt": state.version}}, {"died": {"$in": list(state.open)}}]
        return self._values(alive).get(view, {})

    def changes(self, views: Sequence[str], former: State, state: State) -> dict[str, dict[str, Any]]:
        """What became of keys of some views between two versions, ``None`` for those that are gone."""
        since = {"$gt": former.version, "$lte": state.version, "$nin": list(state.open)}
        found: dict[str, dict[str, Any]] = {}
        with translated(self._connection.address):
            gone = self._collection.find({"view": {"$in": list(views)}, "died": since}, {"view": 1, "key": 1})
            for row in gone:
                found.setdefault(row["view"], {})[row["key"]] = None
        alive = {"view": {"$in": list(views)}, "born": since, "died": {"$gt": state.version}}
        if state.open:
            del alive["died"]
            alive["$or"] = [{"died": {"$gt": state.version}}, {"died": {"$in": list(state.open)}}]
        for view, values in self._values(alive).items():
            found.setdefault(view, {}).update(values)
        return found

    def _values(self, query: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        pages: dict[tuple[str, str], dict[int, str]] = {}
        with translated(self._connection.address):
            for row in self._collection.find(dict(query), _FIELDS).batch_size(_BATCH):
                view, key, value = row["view"], row["key"], row["value"]
                if row["page"]:
                    pages.setdefault((view, key), {})[row["page"]] = value
                else:
                    found.setdefault(view, {})[key] = value
        for (view, key), rest in pages.items():
            found[view][key] += "".join(rest[page] for page in sorted(rest))
        return {view: {key: _decoded(view, value) for key, value in values.items()} for view, values in found.items()}

    # -- writing -----------------------------------------------------------------------------------------------

    def write(self, changes: Iterable[Change], number: int, state: State) -> None:
        """Write the rows of an attempt, and let those die that they replace. Nobody sees either yet."""
        errors = driver().errors
        ended: list[str] = []
        with translated(self._connection.address):
            for batch in _batches(_born(changes, number, ended)):
                try:
                    self._collection.insert_many(batch, ordered=False)
                except errors.BulkWriteError as error:  # says in full what it could not write
                    raise errors.OperationFailure(str(error.details.get("writeErrors", ""))[:200]) from None
            for start in range(0, len(ended), _BATCH):
                marks = {"$in": ended[start : start + _BATCH]}
                alive = {"mark": marks, "born": {"$lt": number}, "died": {"$in": [ALIVE, *state.open]}}
                self._collection.update_many(alive, {"$set": {"died": number}})

    def undo(self, numbers: Sequence[int]) -> None:
        """Take back what attempts wrote that did not get to their commit."""
        if numbers:
            with translated(self._connection.address):
                self._collection.delete_many({"born": {"$in": list(numbers)}})
                self._collection.update_many({"died": {"$in": list(numbers)}}, {"$set": {"died": ALIVE}})

    def sweep(self, horizon: int, unfinished: Sequence[int]) -> None:
        """Remove what no version from ``horizon`` on shows."""
        with translated(self._connection.address):
            self._collection.delete_many({"died": {"$lte": horizon, "$nin": list(unfinished)}})


def _born(changes: Iterable[Change], number: int, ended: list[str]) -> Iterator[dict[str, Any]]:
    for view, key, value in changes:
        mark = blake2b(f"{view}\0{key}".encode(), digest_size=16).hexdigest()
        ended.append(mark)
        if value is None:
            continue
        for page, part in enumerate(_encoded(view, value)):
            yield {
                "_id": f"{mark}.{number}.{page}",
                "mark": mark,
                "view": view,
                "key": key,
                "born": number,
                "died": ALIVE,
                "page": page,
                "value": part,
            }


def _encoded(view: str, value: Any) -> list[Any]:
    if view.startswith(VECTORS):
        return [np.ascontiguousarray(value, dtype="<f4").tobytes()]
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return [text[start : start + _PAGE] for start in range(0, len(text), _PAGE)]


def _decoded(view: str, value: Any) -> Any:
    if view.startswith(VECTORS):
        return np.frombuffer(value, dtype="<f4").astype(np.float32)
    return json.loads(value)


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Some rows at a time, few if they are large: a message has a limit of its own."""
    batch: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        batch.append(row)
        size += len(row["value"])
        if len(batch) >= _BATCH or size >= _BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
