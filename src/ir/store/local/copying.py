"""A second corpus that begins as what another one holds, made of its files."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from ir.store.local.database import DATABASE
from ir.store.local.files import link_tree
from ir.store.local.generation import FOLDER
from ir.store.local.pin import Pin

__all__ = ["BRANCHES", "copy_database"]

#: The folder beside a corpus in which the views of its branches are, each a copy that was changed.
BRANCHES = "branches"


def copy_database(connection: sqlite3.Connection, home: Path, generation: str | None, folder: Path) -> None:
    """Copy what a connection sees to ``folder``, and share the derived files of that version by links.

    Whoever opens the copy makes them again if they are gone by then.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if generation is not None:
        with suppress(FileNotFoundError):
            pin = Pin(home / generation)
            link_tree(home / generation, folder / FOLDER / generation)
            del pin
    with closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as copy:
        connection.backup(copy)
