"""One table of a TOML text changed; its comments, order and line ends stay as their author wrote them.

Every edit is read again before it is handed out: it says what the text said, but for the table, or it is not made.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ir.clients.jsonc import Unreadable

__all__ = ["literal", "parse", "with_table", "without_table"]

_NAME = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_KEY = re.compile(rf"\s*({_NAME}(?:[ \t]*\.[ \t]*{_NAME})*)")
_HEADER = re.compile(rf"\s*\[(\[?)[ \t]*({_NAME}(?:[ \t]*\.[ \t]*{_NAME})*)[ \t]*\]")
_COMMENT = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^"'#])*(\s#.*)""")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BOM = "\ufeff"


@dataclass(frozen=True)
class _Statement:
    """Lines ``first`` to ``last`` (excluded): the header of a table, or a key with its value, by its whole name."""

    name: tuple[str, ...]
    first: int
    last: int
    header: bool


def parse(text: str) -> dict[str, Any]:
    """What the text says."""
    try:
        return tomllib.loads(text.removeprefix(_BOM))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise Unreadable(str(error)) from error


def with_table(text: str, path: Sequence[str], values: Mapping[str, Any]) -> str:
    """The text with ``values`` in the table ``path``; what else the table holds stays."""
    if text.startswith(_BOM):
        return _BOM + with_table(text[1:], path, values)
    before = parse(text)
    held = _at(before, path)
    missing = {key: value for key, value in values.items() if not isinstance(held, dict) or held.get(key) != value}
    if isinstance(held, dict) and not missing:
        return text
    wanted = {**(held if isinstance(held, dict) else {}), **values}
    if held is None:
        after = _appended(text, path, values)
    else:
        after = text
        for key, value in missing.items():
            after = _with_value(after, tuple(path), key, value)
    return _checked(after, before, path, wanted)


def without_table(text: str, path: Sequence[str]) -> str:
    """The text without the table ``path`` and all tables below it."""
    if text.startswith(_BOM):
        return _BOM + without_table(text[1:], path)
    before = parse(text)
    if _at(before, path) is None:
        return text
    lines, name = _lines(text), tuple(path)
    gone: set[int] = set()
    inside = False
    for statement in _statements(text):
        if statement.header:
            inside = statement.name[: len(name)] == name
        if not inside and statement.name[: len(name)] != name:
            continue
        gone.update(range(statement.first, statement.last))
        if statement.header and statement.first and not lines[statement.first - 1].strip():
            gone.add(statement.first - 1)  # the blank line that keeps it apart
    left = "".join(line for number, line in enumerate(lines) if number not in gone)
    if lines and len(lines) - 1 in gone and not text.endswith("\n"):
        left = left.removesuffix("\n").removesuffix("\r")
    return _checked(left, before, path, None)


# -- reading ---------------------------------------------------------------------------------------------------------


def _lines(text: str) -> list[str]:
    """The lines with their ends; only those of TOML."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _statements(text: str) -> Iterator[_Statement]:
    lines = _lines(text)
    table: tuple[str, ...] = ()
    at = 0
    while at < len(lines):
        line, header = lines[at], _HEADER.match(lines[at])
        first = at
        at += 1
        if header:
            table = _names(header[2])
            yield _Statement(table, first, at, header=True)
        elif line.strip() and not line.lstrip().startswith("#"):
            while not _complete("".join(lines[first:at])) and at < len(lines):
                at += 1
            key = _KEY.match(line)
            yield _Statement((*table, *_names(key[1])) if key else table, first, at, header=False)


def _complete(statement: str) -> bool:
    try:
        tomllib.loads(statement)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _names(dotted: str) -> tuple[str, ...]:
    found = re.findall(_NAME, dotted)
    return tuple(json.loads(name) if name[0] == '"' else name.strip("'") for name in found)


def _at(document: Any, path: Sequence[str]) -> Any:
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document


# -- writing ---------------------------------------------------------------------------------------------------------


def _appended(text: str, path: Sequence[str], values: Mapping[str, Any]) -> str:
    end = "\r\n" if "\r\n" in text else "\n"
    block = end.join([f"[{'.'.join(map(_name, path))}]", *(f"{_name(key)} = {literal(values[key])}" for key in values)])
    if not text:
        return f"{block}{end}"
    return f"{text}{end}{block}{end}" if text.endswith("\n") else f"{text}{end}{end}{block}"


def _with_value(text: str, path: tuple[str, ...], key: str, value: Any) -> str:
    lines, statements = _lines(text), list(_statements(text))
    end = "\r\n" if "\r\n" in text else "\n"
    for statement in statements:
        if statement.header:
            continue
        if statement.name == (*path, key):
            return _replaced(lines, statement, value, end)
        if statement.name == path:  # the whole table in one line
            held = {**_at(parse(text), path), key: value}
            return _replaced(lines, statement, held, end)
    homes = [statement for statement in statements if statement.header and statement.name == path]
    if not homes:
        raise Unreadable(f"{'.'.join(path)} is written in a way that cannot be changed here")
    if lines[homes[-1].last - 1].endswith("\n"):
        lines.insert(homes[-1].last, f"{_name(key)} = {literal(value)}{end}")
    else:
        lines.append(f"{end}{_name(key)} = {literal(value)}")
    return "".join(lines)


def _replaced(lines: list[str], statement: _Statement, value: Any, end: str) -> str:
    old = "".join(lines[statement.first : statement.last])
    head = old[: old.index("=") + 1]
    comment = _COMMENT.fullmatch(old.rstrip("\r\n")[len(head) :]) if statement.last - statement.first == 1 else None
    new = f"{head} {literal(value)}{comment[1] if comment else ''}{end if old.endswith(chr(10)) else ''}"
    return "".join([*lines[: statement.first], new, *lines[statement.last :]])


def _name(key: str) -> str:
    return key if _BARE.fullmatch(key) else literal(key)


def literal(value: Any) -> str:
    """A value as TOML writes it: JSON has the same strings, numbers and lists."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_name(key)} = {literal(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(literal, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _checked(text: str, before: dict[str, Any], path: Sequence[str], wanted: Any) -> str:
    """``text`` if it holds ``wanted`` under ``path``, and for the rest what was there before."""
    try:
        after = parse(text)
    except Unreadable:
        after = {}
    if _at(after, path) == wanted and _rest(after, path) == _rest(before, path):
        return text
    raise Unreadable("it is written in a way that cannot be changed without harm to the rest")


def _rest(document: Any, path: Sequence[str]) -> Any:
    """A document without ``path``, and without tables that this leaves empty."""
    first, *rest = path
    others = {key: value for key, value in document.items() if key != first}
    inner = document.get(first)
    if not rest or not isinstance(inner, dict):
        return others if not rest else {**others, **({first: inner} if first in document else {})}
    below = _rest(inner, rest)
    return {**others, **({first: below} if below else {})}
