"""The word that a client over HTTP has to know: kept in a file that only its owner can read."""

from __future__ import annotations

import os
import secrets
import stat
from hmac import compare_digest
from pathlib import Path

from ir.config import config_dir
from ir.errors import InvalidInput, StoreUnwritable

__all__ = ["VARIABLE", "is_right", "the_token", "token_file"]

#: Where a token may be given instead of the file.
VARIABLE = "IR_MCP_TOKEN"
_SHORTEST = 16


def token_file() -> Path:
    """The file that holds the token of this user."""
    return config_dir() / "mcp-token"


def the_token() -> str:
    """The token of the environment, else that of the file, which is made if there is none."""
    given = os.environ.get(VARIABLE)
    if given is not None:
        return _checked(given.strip(), VARIABLE)
    path = token_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            if stat.S_IMODE(path.stat().st_mode) & 0o077:
                path.chmod(0o600)
            return _checked(path.read_text("utf-8").strip(), str(path))
        made = secrets.token_urlsafe(32)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(made + "\n")
        return made
    except OSError as error:
        raise StoreUnwritable(
            f"The token file {path} cannot be used: {error.strerror or error}.",
            remedy=f"Make its folder writable, or give a token in {VARIABLE}.",
        ) from error


def is_right(header: str | None, token: str) -> bool:
    """Whether an ``Authorization`` header carries the token; it takes as long for any wrong one."""
    scheme, _, given = (header or "").partition(" ")
    return scheme.lower() == "bearer" and compare_digest(given.strip().encode(), token.encode())


def _checked(token: str, where: str) -> str:
    if len(token) < _SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise InvalidInput(
            f"The token in {where} is too short to be one.",
            remedy=f"Use at least {_SHORTEST} letters and digits; without {VARIABLE} and the file one is made for you.",
        )
    return token
