"""The one row that says which version a corpus is in and which generation belongs to it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ir.analysis import Analyzer, analyzer_for
from ir.content import Content
from ir.store.local.faults import parsed
from ir.store.local.files import is_intact
from ir.store.local.generation import Manifest, make_generation
from ir.store.local.spaces import SpaceTables
from ir.store.local.term_cache import Remembered

__all__ = ["State", "derive_from"]


@dataclass(frozen=True)
class State:
    """The row as a connection sees it."""

    seq: int
    generation: str | None
    config: str | None
    content: str | None
    _spaces: str | None

    @classmethod
    def read(cls, connection: sqlite3.Connection) -> State:
        return cls(*connection.execute("SELECT seq, generation, config, content, spaces FROM state").fetchone())

    def spaces(self) -> SpaceTables:
        return SpaceTables.parse(self._spaces)

    def content_version(self) -> str:
        sums = Content.loads(self.content)
        return sums.version(self.settings(), self.spaces().default, self.analyzer().id)

    def settings(self) -> dict[str, Any]:
        return parsed(self.config) if self.config else {}

    def analyzer(self) -> Analyzer:
        return analyzer_for(self.settings().get("language") or "english")

    def kinds(self, connection: sqlite3.Connection) -> dict[int, str]:
        return dict(connection.execute("SELECT number, name FROM kinds").fetchall())

    def current(self, connection: sqlite3.Connection) -> Manifest | None:
        """The manifest, if no record or vector was written after its generation was made, nor the language changed."""
        manifest = Manifest.parse(self.generation)
        if manifest is None or manifest.analyzer != self.analyzer().id:
            return None
        if not manifest.spaces.keys() >= {str(number) for number in self.spaces().numbers.values()}:
            return None
        (last,) = connection.execute("SELECT coalesce(max(number), 0) FROM records").fetchone()
        (gone,) = connection.execute(
            "SELECT (SELECT count(*) FROM tombstones) + (SELECT count(*) FROM late)"
        ).fetchone()
        return manifest if last <= manifest.last and not gone else None


def derive_from(
    connection: sqlite3.Connection,
    state: State,
    home: Path,
    target: Path,
    *,
    durable: bool,
    remembered: Remembered | None = None,
    anew: bool = False,
) -> Manifest:
    """Make the generation of what the connection sees below ``target``.

    It builds upon the last one if that is whole, unless all of it is to be made ``anew``.
    """
    base = None if anew else Manifest.parse(state.generation)
    folder = home / base.name if base is not None and is_intact(home / base.name, base.files) else None
    make = partial(
        make_generation,
        connection,
        target,
        seq=state.seq,
        spaces=state.spaces().all(),
        analyzer=state.analyzer(),
        durable=durable,
        remembered=remembered or Remembered(),
    )
    try:
        return make(base, folder)
    except (FileNotFoundError, ValueError, RuntimeError):
        # What was to be built upon could not be read after all; the truth can.
        if folder is None:
            raise
        return make(None, None)
