"""Strings and JSON as PostgreSQL can keep them, and back.

The server keeps neither the character NUL nor halves of surrogate pairs. Each is written as a mark and four characters
of a private plane that nobody types, so that texts come back just as they were given.
"""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["dumps", "is_plain", "loads", "packed", "unpacked"]

_MARK = "\U0010f8f0"
_DIGITS = 0x10F8E0
_UNKEPT = re.compile(f"[\x00\ud800-\udfff{_MARK}]")
_WRITTEN = re.compile(f"{_MARK}(....)", re.DOTALL)


def is_plain(text: str) -> bool:
    """Whether the server keeps the text as it is."""
    return _UNKEPT.search(text) is None


def packed(text: str) -> str:
    """The text in characters that the server keeps."""
    return text if is_plain(text) else _UNKEPT.sub(_write, text)


def unpacked(text: str) -> str:
    """The text that was packed."""
    return _WRITTEN.sub(_read, text) if _MARK in text else text


def dumps(value: Any) -> str:
    """JSON that the server keeps."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if "\\u0000" not in text and is_plain(text):
        return text
    return json.dumps(_each(value, packed), ensure_ascii=False, separators=(",", ":"))


def loads(text: str) -> Any:
    """The value that was dumped."""
    value = json.loads(text)
    return _each(value, unpacked) if _MARK in text else value


def _each(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_each(item, change) for item in value]
    if isinstance(value, dict):
        return {change(key): _each(item, change) for key, item in value.items()}
    return value


def _write(match: re.Match[str]) -> str:
    code = ord(match.group())
    # The mark itself lies beyond four digits and is written as a code that no unkept character has.
    digits = f"{code:04x}" if code < 0x10000 else "ffff"
    return _MARK + "".join(chr(_DIGITS + int(digit, 16)) for digit in digits)


def _read(match: re.Match[str]) -> str:
    digits = "".join(f"{ord(character) - _DIGITS:x}" for character in match.group(1))
    return _MARK if digits == "ffff" else chr(int(digits, 16))
