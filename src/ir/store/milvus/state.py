"""The one row that says which version a corpus is in; writing it is what makes a transaction seen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ir.analysis import analyzer_for
from ir.errors import CorpusError, FormatMismatch
from ir.store.milvus.connection import Connection
from ir.store.milvus.schema import LONGEST

__all__ = ["FORMAT", "State"]

#: Raised whenever an older ``ir`` could misread what is written.
FORMAT = 1
_NAME = "state"


@dataclass
class State:
    """What is known of a version as a whole.

    ``pivot`` is the average length that the stored term weights were made with, ``paths`` counts the types of values
    at each metadata path (``None`` if there are too many paths), ``commits`` the last versions and when they came.
    """

    version: int = 0
    dim: int | None = None
    records: int = 0
    words: int = 0
    pivot: float = 0.0
    next_ref: int = 1
    next_entry: int = 1
    kinds: dict[str, list[int]] = field(default_factory=dict)
    analyzer: str = ""
    paths: dict[str, dict[str, int]] | None = field(default_factory=dict)
    dims: list[int] = field(default_factory=list)
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
            raise FormatMismatch(
                f"The corpus at {connection.address.label} has format {held.get('format')}; "
                f"this version of ir reads format {FORMAT}.",
                remedy="Upgrade ir-substrate, or build the corpus under another name.",
            )
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

    def lags(self, config: Mapping[str, Any]) -> bool:
        """Whether the terms of the records are not those that the corpus's analyzer gives by now."""
        return self.records > 0 and self.analyzer != analyzer_for(config.get("language") or "english").id

    def kind_number(self, kind: str) -> int:
        """The number of a surface kind, given out on first sight."""
        return self.kinds.setdefault(kind, [len(self.kinds), 0])[0]

    def kind_names(self) -> dict[int, str]:
        return {number: name for name, (number, _) in self.kinds.items()}
