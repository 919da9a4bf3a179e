"""The one row that says which version a corpus is in and what is true of all of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ir.analysis import Analyzer, analyzer_for
from ir.store.postgres import codec
from ir.store.postgres.address import Address
from ir.store.postgres.connections import Connection

__all__ = ["State"]

_READ = """
SELECT birth, version, last_number, records, dim, config::text, lexical, analyzer, words, indexed, near,
       (SELECT typname::text FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        WHERE attrelid = 'records'::regclass AND attname = 'vector')
FROM state
"""
_WRITE = """
UPDATE state SET version = %s, last_number = %s, records = %s, dim = %s, config = %s, lexical = %s, analyzer = %s,
                 words = %s, indexed = %s, near = %s
"""


@dataclass
class State:
    """The row as a connection sees it. ``indexed`` is the last record that the lexical index knows."""

    birth: str
    version: int
    last_number: int
    records: int
    dim: int | None
    config: str | None
    lexical: str
    analyzer: str | None
    words: int
    indexed: int
    near: int | None
    vector_type: str = "vector"

    @classmethod
    def read(cls, connection: Connection) -> State:
        row = connection.execute(_READ).fetchone()
        assert row is not None, "the migrations put the row there"
        return cls(*row)

    def write(self, connection: Connection) -> None:
        values = (self.version, self.last_number, self.records, self.dim, self.config, self.lexical, self.analyzer)
        connection.execute(_WRITE, (*values, self.words, self.indexed, self.near))

    @property
    def name(self) -> str:
        """Names the version; another corpus of the same name that was there before had other names."""
        return f"{self.birth[:8]}-{self.version}"

    @property
    def half(self) -> bool:
        return self.vector_type == "halfvec"

    @property
    def average_length(self) -> float:
        return self.words / self.records if self.records else 0.0

    def settings(self) -> dict[str, Any]:
        return codec.loads(self.config) if self.config else {}

    def wanted_analyzer(self) -> Analyzer:
        return analyzer_for(self.settings().get("language") or "english")

    def wanted_lexical(self, address: Address) -> str:
        """The lexical ranking that the address asks for, else the one that is there, else BM25."""
        return address.lexical or (self.lexical if self.analyzer is not None else "bm25")

    def lags(self, address: Address) -> bool:
        """Whether the lexical index is not the one that it should be."""
        wanted = (self.wanted_lexical(address), self.wanted_analyzer().id, self.last_number)
        return self.records > 0 and (self.lexical, self.analyzer, self.indexed) != wanted
