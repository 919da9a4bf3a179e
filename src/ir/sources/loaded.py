"""Items that are loaded all at once, as a mapping."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ir.base import json_clean, text_size
from ir.errors import SourceError
from ir.sources.skipped import Skip, Skipped

__all__ = ["LoadedScope", "Loader", "Placed"]


class Placed(NamedTuple):
    """An item as a loader yields it; ``place`` says where it was found, for messages.

    ``body`` is the whole that the item is part of, disclosed after selection; it cannot be read again elsewhere.
    """

    id: str
    raw: Any
    place: str
    body: Mapping[str, Any] | None = None


#: Yields items and calls ``skip`` for what it leaves out.
Loader = Callable[[Skip], Iterable[Placed]]


class LoadedScope(Mapping[str, Any]):
    """What ``load`` yields, by id. Iterating loads anew; an id that comes twice is an error that names both places.

    ``bodies`` says where whole items can be read again: the ``file`` of JSON lines and the ``id_key`` of its records.
    """

    def __init__(self, load: Loader, *, bodies: Mapping[str, str | None] | None = None) -> None:
        self._load = load
        self.bodies = bodies
        self._items: dict[str, Any] | None = None
        self._bodies: dict[str, Mapping[str, Any]] = {}
        self._skipped: list[Skipped] = []

    def __iter__(self) -> Iterator[str]:
        self._refresh()
        return iter(list(self._known()))

    def __len__(self) -> int:
        return len(self._known())

    def __contains__(self, key: object) -> bool:
        return key in self._known()

    def __getitem__(self, key: str) -> Any:
        return self._known()[key]

    def size_of(self, key: str) -> int | None:
        """About how much text an item is."""
        return text_size(self._known().get(key))

    def body_of(self, key: str) -> str | None:
        """The whole item as JSON, for an index to keep; ``None`` for one that can be read again."""
        body = self._bodies.get(key)
        return None if body is None else json.dumps(json_clean(body), ensure_ascii=False, indent=2)

    def skipped(self) -> list[Skipped]:
        """What the last load left out, and why."""
        self._known()
        return list(self._skipped)

    def _known(self) -> dict[str, Any]:
        if self._items is None:
            self._refresh()
        return self._items or {}

    def _refresh(self) -> None:
        skipped: list[Skipped] = []
        items: dict[str, Any] = {}
        bodies: dict[str, Mapping[str, Any]] = {}
        places: dict[str, str] = {}

        def skip(id: str, reason: str, below: str | None = None) -> None:
            skipped.append(Skipped(id, reason, below))

        for item in self._load(skip):
            if item.id in items:
                raise SourceError(
                    f"The id {item.id!r} comes twice: {places[item.id]} and {item.place}.",
                    remedy="Every item needs an id of its own; of records, id_key= names the key that holds it.",
                )
            items[item.id], places[item.id] = item.raw, item.place
            if item.body is not None:
                bodies[item.id] = item.body
        self._items, self._bodies, self._skipped = items, bodies, skipped
