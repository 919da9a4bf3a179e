"""One value of a TOML text changed, everything else of it left as its author wrote it."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from ir.errors import InvalidInput

__all__ = ["with_value", "without_value"]

_HEADER = re.compile(r"^\s*\[\s*([^\[\]]+?)\s*\]\s*(#.*)?$")


def with_value(text: str, name: str, value: Any, path: Path) -> str:
    """``text`` with ``name`` (dotted for a table's key) set to ``value``."""
    table, _, key = name.rpartition(".")
    literal = json.dumps(value, ensure_ascii=False)
    lines = text.splitlines()
    line, found = _find(lines, name)
    if line is not None:
        edited = [*lines[:line], _replaced(lines[line], found, literal), *lines[line + 1 :]]
        return _verified(edited, text, name, value, path)
    attempts = []
    if table:
        end = _end_of(lines, table)
        fresh = [*lines, *([""] if lines else []), f"[{table}]", f"{key} = {literal}"]
        attempts.append([*lines[:end], f"{key} = {literal}", *lines[end:]] if end is not None else fresh)
    top = _end_of(lines, "") or 0
    attempts.append([*lines[:top], f"{name} = {literal}", *lines[top:]])
    for attempt in attempts[:-1]:
        if _holds(attempt, text, name, value):
            return "\n".join(attempt) + "\n"
    return _verified(attempts[-1], text, name, value, path)


def without_value(text: str, name: str, path: Path) -> str:
    """``text`` without ``name``."""
    lines = text.splitlines()
    line, _ = _find(lines, name)
    if line is None:
        raise _by_hand(name, path)
    return _verified([*lines[:line], *lines[line + 1 :]], text, name, None, path)


def _find(lines: list[str], name: str) -> tuple[int | None, str]:
    """The line that sets ``name``, and the key as it is written there."""
    table = ""
    for number, line in enumerate(lines):
        header = _HEADER.match(line)
        if header:
            table = header[1]
            continue
        written = line.partition("=")[0].strip()
        if "=" in line and f"{table}.{written}".lstrip(".") == name:
            return number, written
    return None, ""


def _end_of(lines: list[str], table: str) -> int | None:
    """Where a key of ``table`` can be added: after its last line that is not blank."""
    current, end = "", 0 if table == "" else None
    for number, line in enumerate(lines):
        header = _HEADER.match(line)
        if header or line.lstrip().startswith("["):
            current = header[1] if header else line
        if current == table and line.strip():
            end = number + 1
    return end


def _replaced(line: str, key: str, literal: str) -> str:
    indent = line[: len(line) - len(line.lstrip())]
    comment = re.search(r"""=\s*(?:"[^"\\]*"|'[^']*'|[^"'#]*?)(\s*#.*)$""", line)
    return f"{indent}{key} = {literal}{comment[1] if comment else ''}"


def _holds(lines: list[str], before: str, name: str, value: Any) -> bool:
    """Whether ``lines`` say what ``before`` said, but for ``name``."""
    try:
        now, wanted = tomllib.loads("\n".join(lines) + "\n"), tomllib.loads(before)
    except tomllib.TOMLDecodeError:
        return False
    _take(wanted, name)
    return _take(now, name) == value and now == wanted


def _take(table: dict[str, Any], name: str) -> Any:
    """Remove ``name``, and a table that this leaves empty; its value."""
    first, _, rest = name.partition(".")
    inner = table.get(first)
    if not rest:
        return table.pop(first, None)
    taken = _take(inner, rest) if isinstance(inner, dict) else None
    if inner == {}:
        del table[first]
    return taken


def _verified(lines: list[str], before: str, name: str, value: Any, path: Path) -> str:
    if not _holds(lines, before, name, value):
        raise _by_hand(name, path)
    return "\n".join(lines) + "\n" if lines else ""


def _by_hand(name: str, path: Path) -> InvalidInput:
    return InvalidInput(
        f"{path} is written in a way that {name} cannot be changed in without harm to the rest.",
        remedy="Change it with a text editor.",
    )
