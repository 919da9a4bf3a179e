"""Keyed JSON values with versions: ledger, symbols, settings, calibrations, nodes, frequencies, long bodies."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ir.errors import InvalidInput
from ir.store.milvus.connection import Connection
from ir.store.milvus.rows import mark_of, marked, pages_of
from ir.store.milvus.schema import ALIVE, LONGEST, visible
from ir.store.milvus.state import State
from ir.store.milvus.versions import ENTRY_FIELDS, end_rows

__all__ = ["BODY", "EDGE_BODY", "FREQUENCY", "NODE", "Entries", "body_of"]

#: The views that the store keeps for itself: how many records hold a term, declared nodes, bodies too long for a field.
FREQUENCY = "frequency"
NODE = "node"
BODY = "body"
EDGE_BODY = "edge body"


class Entries:
    """The values of a corpus. A long value is kept as several rows, its pages."""

    def __init__(self, connection: Connection, collection: str) -> None:
        self._connection = connection
        self._collection = collection

    def read(self, view: str, key: str, version: int) -> Any:
        """The value, ``None`` if there is none."""
        return self.read_some(view, [key], version).get(key)

    def read_some(self, view: str, keys: Sequence[str], version: int) -> dict[str, Any]:
        """The values of those keys that have one."""
        rows: list[dict[str, Any]] = []
        for expr in _marked(view, keys):
            rows += self._connection.query(self._collection, f"{expr} and {visible(version)}", ["key", "page", "value"])
        return dict(_values(rows))

    def known(self, view: str, keys: Sequence[str], version: int) -> set[str]:
        """Those of the keys that have a value."""
        rows: list[dict[str, Any]] = []
        for expr in _marked(view, keys):
            rows += self._connection.query(self._collection, f"{expr} and page == 0 and {visible(version)}", ["key"])
        return {row["key"] for row in rows}

    def keys(self, view: str, version: int, end: int) -> list[str]:
        """Every key of a view; ``end`` is the state's ``next_entry``."""
        expr = f'view == "{view}" and page == 0 and {visible(version)}'
        windows = self._connection.windows(self._collection, expr, ["key"], end)
        return [row["key"] for rows in windows for row in rows]

    def read_all(self, view: str, version: int, end: int) -> Iterator[tuple[str, Any]]:
        """Every value of a view, in bounded memory; ``end`` is the state's ``next_entry``."""
        expr = f'view == "{view}" and {visible(version)}'
        waiting: list[dict[str, Any]] = []
        for rows in self._connection.windows(self._collection, expr, ["key", "page", "value"], end):
            waiting += rows
            # The pages of a value have refs in a row: only the last one may go on in the next window.
            last = waiting[-1]["key"]
            yield from _values(row for row in waiting if row["key"] != last)
            waiting = [row for row in waiting if row["key"] == last]
        yield from _values(waiting)

    def write(self, view: str, values: Mapping[str, Any], state: State) -> None:
        """Set values, or remove those given as ``None``, in the version that ``state`` is to become."""
        self._end(view, list(values), state.version)
        rows = []
        for key, value in values.items():
            if value is None:
                continue
            if len(key.encode("utf-8", "surrogatepass")) > LONGEST:
                raise InvalidInput(f"The key {key[:60]!r}… of the {view} is longer than the {LONGEST} bytes allowed.")
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
            for page, part in enumerate(pages_of(text)):
                rows.append(_row(state.next_entry, view, key, page, part, state.version))
                state.next_entry += 1
        self._connection.upsert(self._collection, rows, new=True)

    def _end(self, view: str, keys: Sequence[str], version: int) -> None:
        """Let what is there die with ``version``; what was born in it was never seen and goes at once."""
        for expr in _marked(view, keys):
            fields = ["ref", *ENTRY_FIELDS]
            rows = self._connection.query(self._collection, f"{expr} and {visible(version)}", fields)
            end_rows(self._connection, self._collection, rows, version)


def body_of(row: Mapping[str, Any], entries: Entries, version: int, view: str = BODY) -> str:
    """The whole body of a row, of which a field may hold only the first page."""
    if row["pages"] == 1:
        return str(row["body"])
    rest = entries.read(view, str(row["ref"]), version)
    return str(row["body"]) + str(rest or "")


def _row(ref: int, view: str, key: str, page: int, value: str, version: int) -> dict[str, Any]:
    return {
        "ref": ref,
        "mark": mark_of(view, key),
        "born": version,
        "died": ALIVE,
        "view": view,
        "key": key,
        "page": page,
        "value": value,
        "none": [0.0, 0.0],
    }


def _marked(view: str, keys: Sequence[str]) -> Iterator[str]:
    return marked([mark_of(view, key) for key in keys])


def _values(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    pages: dict[str, dict[int, str]] = {}
    for row in rows:
        pages.setdefault(row["key"], {})[int(row["page"])] = row["value"]
    for key, parts in pages.items():
        yield key, json.loads("".join(parts[page] for page in sorted(parts)))
