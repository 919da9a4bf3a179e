"""The one row that says which version a corpus is in and what is true of all of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from ir.analysis import Analyzer, analyzer_for
from ir.content import Content
from ir.store.checks import MAIN_SPACE, unknown_space
from ir.store.postgres import codec
from ir.store.postgres.address import Address
from ir.store.postgres.connections import Connection
from ir.store.postgres.spaces import MAIN_NUMBER, Space

__all__ = ["State", "content_version"]

_READ = """
SELECT birth, version, last_number, records, config::text, lexical, analyzer, words, indexed, default_space,
       long_types, spaces::text, content,
       (SELECT typname::text FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        WHERE attrelid = 'records'::regclass AND attname = 'vector')
FROM state
"""
_WRITE = """
UPDATE state SET version = %s, last_number = %s, records = %s, config = %s, lexical = %s, analyzer = %s, words = %s,
                 indexed = %s, default_space = %s, long_types = %s, spaces = %s, content = %s
"""


@dataclass
class State:
    """The row as a connection sees it.

    ``indexed`` is the last record that the lexical index knows; ``long_types`` says whether some edge ever had a type
    that is longer than the index of edges knows.
    """

    birth: str
    version: int
    last_number: int
    records: int
    config: str | None
    lexical: str
    analyzer: str | None
    words: int
    indexed: int
    default_space: str
    long_types: bool
    spaces: dict[str, Space]
    content: Content
    vector_type: str = "vector"

    @classmethod
    def read(cls, connection: Connection) -> State:
        row = connection.execute(_READ).fetchone()
        assert row is not None, "the migrations put the row there"
        *plain, written, content, vector_type = row
        spaces = {name: Space(name, **values) for name, values in json.loads(written).items()}
        return cls(*[*plain, spaces, Content.loads(content), vector_type])

    def write(self, connection: Connection) -> None:
        spaces = json.dumps({name: space.values() for name, space in self.spaces.items()})
        values: tuple[Any, ...] = (
            self.version,
            self.last_number,
            self.records,
            self.config,
            self.lexical,
            self.analyzer,
            self.words,
        )
        values += (self.indexed, self.default_space, self.long_types, spaces, self.content.dumps())
        connection.execute(_WRITE, values)

    def copy(self, birth: str) -> State:
        """The state as it is now, for somebody who goes on looking at it, under another name."""
        spaces = {name: replace(space) for name, space in self.spaces.items()}
        return replace(self, birth=birth, spaces=spaces, content=self.content.copy())

    @property
    def name(self) -> str:
        """Names the version; another corpus of the same name that was there before had other names."""
        return f"{self.birth[:8]}-{self.version}"

    @property
    def content_version(self) -> str:
        return content_version(self.content, self.settings(), self.default_space)

    @property
    def half(self) -> bool:
        return self.vector_type == "halfvec"

    @property
    def average_length(self) -> float:
        return self.words / self.records if self.records else 0.0

    def settings(self) -> dict[str, Any]:
        return codec.loads(self.config) if self.config else {}

    def space(self, name: str | None = None) -> Space:
        """The space of that name, the default one for ``None``."""
        found = self.spaces.get(self.default_space if name is None else name)
        if found is None:
            raise unknown_space(name, self.spaces)
        return found

    def add_space(self, name: str, number: int) -> None:
        self.spaces[name] = Space(name, MAIN_NUMBER if name == MAIN_SPACE else number)

    def wanted_analyzer(self) -> Analyzer:
        return _analyzer(self.settings())

    def wanted_lexical(self, address: Address) -> str:
        """The lexical ranking that the address asks for, else the one that is there, else BM25."""
        return address.lexical or (self.lexical if self.analyzer is not None else "bm25")

    def lags(self, address: Address) -> bool:
        """Whether the lexical index is not the one that it should be."""
        wanted = (self.wanted_lexical(address), self.wanted_analyzer().id, self.last_number)
        return self.records > 0 and (self.lexical, self.analyzer, self.indexed) != wanted


def content_version(content: Content, settings: dict[str, Any], default_space: str) -> str:
    """The version by content of a corpus with these settings."""
    return content.version(settings, default_space, _analyzer(settings).id)


def _analyzer(settings: dict[str, Any]) -> Analyzer:
    return analyzer_for(settings.get("language") or "english")
