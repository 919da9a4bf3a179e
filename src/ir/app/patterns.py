"""Patterns that are looked for line by line: plain text, or a regular expression that cannot run away."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from re import _constants as _ops  # type: ignore[attr-defined]
from re import _parser as _grammar  # type: ignore[attr-defined]
from typing import Any

from ir.errors import InvalidInput

__all__ = ["MAX_LINE", "matcher"]

#: No more of a line is looked at: time grows with a power of it.
MAX_LINE = 2_000
#: So many parts of an expression may repeat without end; each more is another power.
_MAX_REPEATS = 4
_MAX_PATTERN = 1_000

#: Where in a line the pattern begins and ends, or ``None``.
Matcher = Callable[[str], "tuple[int, int] | None"]


def matcher(pattern: str, *, regex: bool, ignore_case: bool) -> Matcher:
    """What finds a pattern in a line.

    >>> matcher("b+", regex=True, ignore_case=False)("abba"), matcher("B+", regex=False, ignore_case=True)("ab+")
    ((1, 3), (1, 3))
    """
    if len(pattern) > _MAX_PATTERN:
        raise InvalidInput(f"The pattern has {len(pattern):,} characters; {_MAX_PATTERN:,} are allowed.")
    if "\n" in pattern:
        raise InvalidInput("The pattern goes over the end of a line, and lines are looked at one by one.")
    if not regex and not ignore_case:
        size = len(pattern)
        return lambda line: None if (at := line.find(pattern)) < 0 else (at, at + size)
    found = _compiled(pattern if regex else re.escape(pattern), ignore_case=ignore_case).search

    def match(line: str) -> tuple[int, int] | None:
        hit = found(line, 0, MAX_LINE)
        return None if hit is None else hit.span()

    return match


def _compiled(pattern: str, *, ignore_case: bool) -> re.Pattern[str]:
    flags = re.IGNORECASE if ignore_case else re.NOFLAG
    try:
        compiled = re.compile(pattern, flags)
        tree = _grammar.parse(pattern, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidInput(
            f"{pattern!r} is not a regular expression: {error}.",
            remedy="To look for the text as it is, leave regex out.",
        ) from error
    _check_bounded(pattern, tree)
    return compiled


def _check_bounded(pattern: str, tree: Any) -> None:
    """Refuse what may take for ever on a line of no great length: repeats within repeats, and too many of them."""
    repeats = list(_repeats(tree, ()))
    if any(inside for _, inside in repeats) or len(repeats) > _MAX_REPEATS:
        raise InvalidInput(
            f"{pattern!r} could take for ever on some lines.",
            remedy=f"Write it without repeats inside of repeats, and with at most {_MAX_REPEATS} that have no end.",
        )
    if any(op is _ops.GROUPREF for op, _ in _nodes(tree)):
        raise InvalidInput(f"{pattern!r} refers back to one of its groups, which is not supported.")


def _repeats(tree: Any, around: tuple[Any, ...]) -> Iterator[tuple[Any, bool]]:
    """Each part that repeats without end, and whether it may itself be repeated, or tries several ways each time."""
    for op, inner in tree:
        if op in (_ops.MAX_REPEAT, _ops.MIN_REPEAT):
            most, body = inner[1], inner[2]
            many = most is _ops.MAXREPEAT or most > 100
            if many:
                choices = any(kind is _ops.BRANCH for kind, _ in _nodes(body))
                yield op, bool(around) or choices
            yield from _repeats(body, (*around, op) if many or most > 1 else around)
        else:
            for part in _parts(op, inner):
                yield from _repeats(part, around)


def _nodes(tree: Any) -> Iterator[tuple[Any, Any]]:
    for op, inner in tree:
        yield op, inner
        for part in _parts(op, inner):
            yield from _nodes(part)


def _parts(op: Any, inner: Any) -> list[Any]:
    """What stands inside of a part of an expression."""
    if op is _ops.BRANCH:
        return list(inner[1])
    if op is _ops.SUBPATTERN:
        return [inner[-1]]
    if op in (_ops.MAX_REPEAT, _ops.MIN_REPEAT, _ops.POSSESSIVE_REPEAT):
        return [inner[2]]
    if op in (_ops.ASSERT, _ops.ASSERT_NOT):
        return [inner[1]]
    if op is _ops.ATOMIC_GROUP:
        return [inner]
    if op is _ops.GROUPREF_EXISTS:
        return [part for part in inner[1:] if part is not None]
    return []
