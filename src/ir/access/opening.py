"""Where access is kept: a file beside the user's configuration, or a PostgreSQL database."""

from __future__ import annotations

from pathlib import Path

from ir.access.access import Access
from ir.access.sqlite import SqliteTables
from ir.config import config_dir
from ir.config.settings import user_setting
from ir.errors import InvalidInput, MissingExtra

__all__ = ["access_file", "open_access"]


def access_file() -> Path:
    """The file that keeps the access of this machine."""
    return config_dir() / "access.db"


def open_access(address: str | None = None) -> Access:
    """What is kept at an address: a file's path, or ``postgresql://…``; without one, where ``serve.access`` says.

    Nothing is opened or made before it is used.
    """
    word = user_setting("serve.access") if address is None else address
    if word is None:
        return Access(SqliteTables(access_file()))
    if word.startswith(("postgresql:", "postgres:")):
        try:
            from ir.access.postgres import PostgresTables
        except ImportError as error:
            raise MissingExtra("psycopg", "postgres", "Access kept in PostgreSQL") from error
        return Access(PostgresTables(word))
    if "://" in word:
        raise InvalidInput(
            "Access is kept in a file, or in a PostgreSQL database.",
            remedy="Set serve.access to a path or to postgresql://user@host/database.",
        )
    return Access(SqliteTables(Path(word).expanduser()))
