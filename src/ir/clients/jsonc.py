"""One entry of a JSON text changed; its comments, commas, order and line ends stay as their author wrote them.

Comments and trailing commas are read, as the settings of editors have them. Every edit is read again before it is
handed out: it says what the text said, but for the entry, or it is not made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

__all__ = ["Unreadable", "parse", "with_entry", "without_entry"]

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_COMMENT = r"//[^\r\n]*|/\*.*?\*/"
_BLANK = r"[ \t\r\n]"
_TOKEN = re.compile(rf"(?:{_BLANK}+|{_COMMENT})*({_STRING}|[{{}}\[\],:]|[^\s\"{{}}\[\],:/]+)", re.DOTALL)
#: What counts when brackets are.
_BRACKET = re.compile(rf"{_STRING}|{_COMMENT}|[{{}}\[\]]", re.DOTALL)
_STRING_OR_COMMENT = re.compile(rf"({_STRING})|{_COMMENT}", re.DOTALL)
#: Commas that stand before the end of a list or an object; one that nothing stands before is an error.
_STRING_OR_COMMA = re.compile(rf"({_STRING})|([{{\[,:]{_BLANK}*,)|,(?={_BLANK}*[}}\]])", re.DOTALL)
#: What may stand behind a value on its line and belongs to it.
_REMARK = re.compile(r"(?:[ \t]*/\*[^\r\n]*?\*/)*(?:[ \t]*//[^\r\n]*)?")
_BOM = "\ufeff"


class Unreadable(ValueError):
    """The text is no JSON with comments, or cannot take the entry; the message says where and why."""


class _Token(NamedTuple):
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class _Member:
    """A key and its value in an object; ``comma`` is the place of the one behind it."""

    key: str
    start: int
    value: int
    end: int
    comma: int | None = None


@dataclass(frozen=True)
class _Object:
    """An object from its opening brace to its closing one."""

    start: int
    end: int
    members: tuple[_Member, ...]

    def find(self, key: str) -> _Member | None:
        """The member of that key; of two, the last one is what counts."""
        return next((member for member in reversed(self.members) if member.key == key), None)


def parse(text: str) -> Any:
    """What the text says; ``None`` if it holds nothing but blanks and comments."""
    try:
        return json.loads(text, parse_constant=str)  # most files have no comments, and some are large
    except (ValueError, RecursionError):
        bare = _without_comments(text)
    if not bare.strip():
        return None
    try:
        return json.loads(bare, parse_constant=str)
    except json.JSONDecodeError as error:
        raise Unreadable(f"line {error.lineno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise Unreadable(str(error)) from error


def with_entry(text: str, path: Sequence[str], value: Any) -> str:
    """The text with ``value`` under the keys of ``path``; objects that are missing on the way are made."""
    before = parse(text)
    if before is None:
        return _document(text, path, value)
    if not isinstance(before, dict):
        raise Unreadable("it holds no object")
    wanted = _set(before, path, value)
    if wanted == before:
        return text
    return _first_that_says(wanted, [_placed(text, path, value)])


def without_entry(text: str, path: Sequence[str]) -> str:
    """The text without what is under ``path``, and without the objects that this leaves empty."""
    before = parse(text)
    while _holds(before, path):
        text = _taken_out(text, path)
        before = parse(text)
    return text


# -- reading ---------------------------------------------------------------------------------------------------------


def _tokens(text: str, at: int) -> Iterator[_Token]:
    """The tokens from ``at`` on, without blanks and comments."""
    while found := _TOKEN.match(text, at):
        yield _Token(found[1], found.start(1), found.end())
        at = found.end()


def _without_comments(text: str) -> str:
    """The text as strict JSON, with every line where it was."""

    def blank(found: re.Match[str]) -> str:
        return found[1] or "\n" * found[0].count("\n") or " "

    def without_comma(found: re.Match[str]) -> str:
        return found[1] or found[2] or " "

    return _STRING_OR_COMMA.sub(without_comma, _STRING_OR_COMMENT.sub(blank, text.removeprefix(_BOM)))


def _object_at(text: str, start: int) -> _Object:
    members: list[_Member] = []
    at = start + 1
    while True:
        token = next(_tokens(text, at))
        at = token.end
        if token.text == "}":
            return _Object(start, token.start, tuple(members))
        if token.text == ",":
            members[-1] = replace(members[-1], comma=token.start)
            continue
        tokens = _tokens(text, at)
        next(tokens)  # the colon
        value = next(tokens)
        at = _end_of(text, value)
        members.append(_Member(json.loads(token.text), token.start, value.start, at))


def _end_of(text: str, value: _Token) -> int:
    if value.text not in ("{", "["):
        return value.end
    depth = 0
    for found in _BRACKET.finditer(text, value.start):
        depth += (found[0] in ("{", "[")) - (found[0] in ("}", "]"))
        if not depth:
            return found.end()
    return len(text)


@lru_cache(maxsize=4)
def _root(text: str) -> _Object:
    return _object_at(text, next(_tokens(text, int(text.startswith(_BOM)))).start)


# -- writing ---------------------------------------------------------------------------------------------------------


def _document(text: str, path: Sequence[str], value: Any) -> str:
    """A new object, behind what comments there are."""
    made = json.dumps(_nested(path, value), indent=2, ensure_ascii=False).replace("\n", _line_end(text)) + _line_end(
        text
    )
    if text.strip(" \t\r\n" + _BOM) and not text.endswith("\n"):
        made = _line_end(text) + made
    return _first_that_says(_nested(path, value), [text + made])


def _placed(text: str, path: Sequence[str], value: Any) -> str:
    home = _root(text)
    for depth, key in enumerate(path):
        member, rest = home.find(key), path[depth + 1 :]
        if member is None:
            return _inserted(text, home, key, _nested(rest, value))
        if not rest or text[member.value : member.end] == "null":
            written = _written(text, home, _nested(rest, value), _indent_of(text, home))
            return text[: member.value] + written + text[member.end :]
        if text[member.value] != "{":
            raise Unreadable(f"{'.'.join(path[: depth + 1])} is not an object")
        home = _object_at(text, member.value)
    return text


def _inserted(text: str, home: _Object, key: str, value: Any) -> str:
    """A new member behind all others, written as they are."""
    if not home.members:
        return _first_member(text, home, key, value)
    last = home.members[-1]
    indent = _indent_of(text, home)
    member = f"{json.dumps(key)}{_colon(text, home)}{_written(text, home, value, indent)}"
    at = last.end if last.comma is None else last.comma + 1
    if indent is None:
        gap = " " if _colon(text, home) != ":" else ""
        between = f",{gap}{member}" if last.comma is None else f"{gap}{member},"
        return text[:at] + between + text[at:]
    found = _REMARK.match(text, at)
    remark = text[at : found.end() if found else at]
    member = f"{_line_end(text)}{indent}{member}"
    if last.comma is None:
        return f"{text[:at]},{remark}{member}{text[at + len(remark) :]}"
    return f"{text[:at]}{remark}{member},{text[at + len(remark) :]}"


def _first_member(text: str, home: _Object, key: str, value: Any) -> str:
    line_end, outer = _line_end(text), _line_indent(text, home.start)
    indent = outer + _unit(text)
    inside = text[home.start + 1 : home.end].rstrip()
    member = f"{json.dumps(key)}: {_written(text, home, value, indent)}"
    return f"{text[: home.start + 1]}{inside}{line_end}{indent}{member}{line_end}{outer}{text[home.end :]}"


def _written(text: str, home: _Object, value: Any, indent: str | None) -> str:
    """A value as its object is written: over several lines, or, without an ``indent``, in one."""
    if indent is None:
        separators = (",", ":") if _colon(text, home) == ":" else (", ", ": ")
        return json.dumps(value, ensure_ascii=False, separators=separators)
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return f"{_line_end(text)}{indent}".join(lines)


def _taken_out(text: str, path: Sequence[str]) -> str:
    """The text without the member that ``path`` leads to, or without the one above it that it would leave empty."""
    home = _root(text)
    steps: list[tuple[_Object, _Member]] = []
    for key in path:
        member = home.find(key)
        if member is None:
            return text
        steps.append((home, member))
        if len(steps) < len(path):
            home = _object_at(text, member.value)
    while len(steps) > 1 and len(steps[-1][0].members) == 1 and not _has_comments(text, *steps[-1]):
        steps.pop()
    home, member = steps[-1]
    same = [one for one in home.members if one.key == member.key]
    before = parse(text)
    # Of members with one key the last counts, so that the others can go first without a change of meaning.
    wanted = before if len(same) > 1 else _unset(before, path[: len(steps)])
    return _first_that_says(wanted, _cuts(text, home, same[0]))


def _cuts(text: str, home: _Object, member: _Member) -> list[str]:
    """The text without ``member``: as if it had never been there, else with a break that a comment needs."""
    place = home.members.index(member)
    start = len(text[: member.start].rstrip(" \t\r\n"))
    end = member.end if member.comma is None else member.comma + 1
    if len(home.members) == 1 and not _has_comments(text, home, member):
        return [f"{text[: home.start]}{{}}{text[home.end + 1 :]}"]
    results = []
    for begin in (start, member.start):
        head = text[:begin]
        before = home.members[place - 1] if place else None
        if before is not None and before.comma is not None and member.comma is None:
            head = head[: before.comma] + head[before.comma + 1 :]
        results.append(head + text[end:])
    return results


def _has_comments(text: str, home: _Object, member: _Member) -> bool:
    inside = text[home.start + 1 : member.start] + text[member.end : home.end]
    return bool(inside.replace(",", "").strip())


def _first_that_says(wanted: Any, attempts: Sequence[str]) -> str:
    for attempt in attempts:
        try:
            if parse(attempt) == wanted:
                return attempt
        except Unreadable:
            continue
    raise Unreadable("it is written in a way that cannot be changed without harm to the rest")


# -- the author's style ----------------------------------------------------------------------------------------------


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at].lstrip(_BOM)
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indent_of(text: str, home: _Object) -> str | None:
    """How far the members of an object are moved in; ``None`` if they share a line with its brace."""
    if not home.members:
        return _line_indent(text, home.start) + _unit(text)
    first = home.members[0]
    if "\n" not in text[home.start : first.start]:
        return None
    return _line_indent(text, first.start)


def _unit(text: str) -> str:
    """By how much this author moves things in."""
    root = _root(text)
    indent = _indent_of(text, root) if root.members else None
    return indent.removeprefix(_line_indent(text, root.start)) or "  " if indent else "  "


def _colon(text: str, home: _Object) -> str:
    """What stands between a key and its value; without a blank only where this author saves them."""
    if not home.members:
        return ": "
    first = home.members[0]
    return ":" if text[first.value - 1] == ":" else ": "


# -- values ----------------------------------------------------------------------------------------------------------


def _nested(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _holds(document: Any, path: Sequence[str]) -> bool:
    for key in path:
        if not isinstance(document, dict) or key not in document:
            return False
        document = document[key]
    return True


def _set(document: dict[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    first, *rest = path
    inner = document.get(first)
    return {**document, first: _set(inner if isinstance(inner, dict) else {}, rest, value) if rest else value}


def _unset(document: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    first, *rest = path
    if rest:
        return {**document, first: _unset(document[first], rest)}
    return {key: value for key, value in document.items() if key != first}
