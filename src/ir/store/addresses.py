"""What the addresses of servers have in common: options that are numbers, and secrets that stay out of them."""

from __future__ import annotations

import os
from pathlib import Path

from ir.errors import InvalidInput

__all__ = ["option_number", "secret_in"]


def option_number(engine: str, key: str, text: str) -> float:
    """The value of an option that is a number; ``engine`` is whose address it stands in.

    >>> option_number("Milvus", "timeout", "2.5")
    2.5
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6:
        raise InvalidInput(f"The option {key!r} of a {engine} address is a number, not {text!r}.")
    return value


def secret_in(variable: str) -> str:
    """The secret in an environment variable, or in the file that ``<variable>_FILE`` names; empty if there is none."""
    named = os.environ.get(f"{variable}_FILE")
    try:
        return Path(named).read_text("utf-8").strip() if named else os.environ.get(variable, "")
    except OSError as error:
        raise InvalidInput(f"The file {named} that {variable}_FILE names cannot be read: {error.strerror}.") from None
