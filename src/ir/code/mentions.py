"""The names that a file calls or refers to, whether or not anybody knows what they stand for.

Links are drawn where a name was resolved. For the rest there is only the name: a corpus keeps, for each name, the files
that mention it and in which ways, and what is kept of those files says where. So same-name sites are found by a lookup
when they are asked for, and nothing that was guessed is stored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ir.code.facts import Facts
from ir.code.linking import symbol_key

__all__ = ["Mention", "calls_inside", "calls_of", "mentioned_by", "name_key", "references_of", "ways"]

#: The ways in which a file mentions a name: it calls it, or refers to it; by itself, or as a member of something.
CALLED, CALLED_MEMBER, REFERRED, REFERRED_MEMBER = "cmrn"
_DECODER = json.JSONDecoder()


class Mention(NamedTuple):
    """The definition ``key`` mentions a name on ``line``; ``of_member``: as a member of something."""

    key: str
    name: str
    line: int
    of_member: bool = False


def name_key(name: str) -> str:
    """What the files that mention a name are kept under."""
    return f"mention:{name}"


def mentioned_by(facts: Facts) -> dict[str, list[str]]:
    """The names that a file mentions, each with the ways; no lines are among it, so moved lines change nothing."""
    found: dict[str, set[str]] = {}
    for call in facts.calls:
        found.setdefault(call.name, set()).add(CALLED_MEMBER if _is_member(call.callee) else CALLED)
    for one in facts.references:
        found.setdefault(_last(one.target), set()).add(REFERRED_MEMBER if _is_member(one.target) else REFERRED)
    return {name_key(name): ["".join(sorted(ways))] for name, ways in found.items() if name}


def ways(*, member: bool, call: bool) -> frozenset[str]:
    """The ways in which a definition can be mentioned: a method is only ever a member of something."""
    if call:
        return frozenset({CALLED_MEMBER} if member else {CALLED, CALLED_MEMBER})
    return frozenset({REFERRED_MEMBER} if member else {REFERRED, REFERRED_MEMBER})


def calls_of(payload: str, name: str) -> Iterator[Mention]:
    """Where a file calls something by a name, from what is kept of it.

    That is a long text of which a few places matter, so it is looked through and not read as a whole.
    """
    start, end = _parts(payload)[:2]
    found = list(re.compile(rf"\[(\d+),\d+,{re.escape(_packed(name))},(\d+),").finditer(payload, start, end))
    keys = _Keys(payload) if found else None
    for match in found:
        assert keys is not None
        yield Mention(keys[int(match[1])], name, int(match[2]))


def references_of(payload: str, name: str) -> Iterator[Mention]:
    """Where a file refers to something by a name, without calling it."""
    _, start, end = _parts(payload)
    if f"{_packed(name)}]" not in payload[end:]:
        return
    expressions: list[Any] = _DECODER.raw_decode(payload, end + len('"expressions":'))[0]
    wanted = {number: one for number, one in enumerate(expressions) if _last(one) == name}
    keys = _Keys(payload) if wanted else None
    for match in re.compile(r"\[(\d+),(\d+),(\d+)\]").finditer(payload, start, end) if wanted else ():
        if int(match[2]) in wanted:
            assert keys is not None
            yield Mention(keys[int(match[1])], name, int(match[3]), _is_member(wanted[int(match[2])]))


def calls_inside(payload: str, symbols: frozenset[str]) -> Iterator[Mention]:
    """What some definitions of a file call, by name."""
    kept = json.loads(payload)
    expressions = kept["expressions"]
    for scope, callee, name, line, *_ in kept["calls"]:
        symbol = kept["symbols"][scope]
        if symbol in symbols and name:
            key = symbol_key(kept["family"], kept["path"], symbol)
            yield Mention(key, name, line, _is_member(expressions[callee]))


class _Keys:
    """The keys of a file's definitions by their numbers."""

    def __init__(self, payload: str) -> None:
        self._symbols: list[str] = _value(payload, "symbols")
        self._path: str = _value(payload, "path")
        self._family: str = _value(payload, "family")

    def __getitem__(self, number: int) -> str:
        return symbol_key(self._family, self._path, self._symbols[number])


def _value(payload: str, name: str) -> Any:
    """A value near the beginning of what is kept."""
    return _DECODER.raw_decode(payload, payload.index(f'"{name}":') + len(name) + 3)[0]


def _parts(payload: str) -> tuple[int, int, int]:
    """Where calls, references and expressions begin: they come last, and nothing in them has names of its own."""
    expressions = payload.rindex('"expressions":')
    references = payload.rindex('"references":', 0, expressions)
    return payload.rindex('"calls":', 0, references), references, expressions


def _packed(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _last(expression: Any) -> str:
    """The last word of how something is written: ``run`` of ``app.run``."""
    if not expression or expression[0] not in ("n", "v", ".", "own"):
        return ""
    return str(expression[-1])


def _is_member(expression: Any) -> bool:
    return bool(expression) and expression[0] in (".", "own")
