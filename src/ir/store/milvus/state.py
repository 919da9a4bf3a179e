"""The one row that says which version a corpus is in; writing it is what makes a transaction seen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypedDict

from ir.analysis import analyzer_for
from ir.content import Content
from ir.errors import CorpusError, FormatMismatch
from ir.store.checks import MAIN_SPACE, unknown_space
from ir.store.milvus.connection import Connection
from ir.store.milvus.schema import LONGEST

__all__ = ["FORMAT", "Space", "State"]

#: Raised whenever an older ``ir`` could misread what is written.
FORMAT = 2
_NAME = "state"


class Space(TypedDict):
    """A space of vectors: the collection that holds them, their size, and how many there are."""

    table: str
    dim: int
    count: int


def empty_space() -> Space:
    """A space that has no collection yet."""
    return Space(table="", dim=0, count=0)


@dataclass
class State:
    """What is known of a version as a whole.

    ``tables`` are the collections of vectors, each with the version in which it was given up, 0 while it is in use;
    ``content`` is the sums that :mod:`ir.content` adds up. ``pivot`` is the average length that the stored term weights
    were made with, ``paths`` counts the types of values at each metadata path (``None`` if there are too many paths),
    ``commits`` the last versions and when they came.
    """

    version: int = 0
    records: int = 0
    edges: int = 0
    words: int = 0
    pivot: float = 0.0
    next_ref: int = 1
    next_entry: int = 1
    next_edge: int = 1
    next_table: int = 1
    kinds: dict[str, list[int]] = field(default_factory=dict)
    analyzer: str = ""
    paths: dict[str, dict[str, int]] | None = field(default_factory=dict)
    spaces: dict[str, Space] = field(default_factory=lambda: {MAIN_SPACE: empty_space()})
    default_space: str = MAIN_SPACE
    tables: dict[str, int] = field(default_factory=dict)
    content: str = ""
    commits: list[list[float]] = field(default_factory=list)
    swept: int = 0
    format: int = FORMAT

    @classmethod
    def read(cls, connection: Connection, collection: str) -> State:
        """The present state; that of an empty corpus if nothing was written."""
        rows = connection.query(collection, f'name == "{_NAME}"', ["value"])
        if not rows:
            return cls()
        held: dict[str, Any] = json.loads(rows[0]["value"])
        if held.get("format") != FORMAT:
            raise _other_format(connection.address.label, held.get("format"))
        return cls(**held)

    def write(self, connection: Connection, collection: str) -> None:
        value = json.dumps(asdict(self), separators=(",", ":"))
        if len(value) > LONGEST:
            self.paths = None  # filters then read the records; nothing else depends on it
            value = json.dumps(asdict(self), separators=(",", ":"))
        if len(value) > LONGEST:
            raise CorpusError(
                f"The corpus at {connection.address.label} has {len(self.kinds)} surface kinds; Milvus keeps fewer.",
                remedy="Use a handful of surface kinds, and put what differs into the metadata.",
            )
        connection.upsert(collection, [{"name": _NAME, "value": value, "none": [0.0, 0.0]}])

    def copy(self) -> State:
        copied: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return State(**copied)

    @property
    def average(self) -> float:
        return self.words / self.records if self.records else 0.0

    def space(self, name: str | None) -> Space:
        """A space of vectors, the default one for ``None``."""
        name = self.default_space if name is None else name
        if name not in self.spaces:
            raise unknown_space(name, self.spaces)
        return self.spaces[name]

    def dimension(self, space: str) -> int | None:
        """Of the vectors in a space; ``None`` if it is empty."""
        held = self.space(space)
        return held["dim"] if held["count"] else None

    def content_version(self, config: Mapping[str, Any]) -> str:
        """The version by content of a corpus in this state, with these settings."""
        analyzer = analyzer_for(config.get("language") or "english")
        return Content.loads(self.content).version(config, self.default_space, analyzer.id)

    def lags(self, config: Mapping[str, Any]) -> bool:
        """Whether the terms of the records are not those that the corpus's analyzer gives by now."""
        return self.records > 0 and self.analyzer != analyzer_for(config.get("language") or "english").id

    def kind_number(self, kind: str) -> int:
        """The number of a surface kind, given out on first sight."""
        return self.kinds.setdefault(kind, [len(self.kinds), 0])[0]

    def kind_names(self) -> dict[int, str]:
        return {number: name for name, (number, _) in self.kinds.items()}


def _other_format(label: str, found: Any) -> FormatMismatch:
    if isinstance(found, int) and found < FORMAT:
        remedy = f'Drop it, with ir.store.milvus.MilvusStore("{label}").drop(), and build it again.'
    else:
        remedy = "Upgrade ir-substrate, or build the corpus under another name."
    return FormatMismatch(
        f"The corpus at {label} has format {found}; this version of ir reads format {FORMAT}.", remedy=remedy
    )
