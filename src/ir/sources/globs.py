"""Which files are meant: patterns as ``*.py`` or ``!docs/**``, read as in a .gitignore."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ir.errors import InvalidInput
from ir.sources.wildmatch import Rule, rule_of

__all__ = ["Globs"]

_BRACES = re.compile(r"\{([^{}]*)\}")
#: More alternatives than anybody writes; braces within braces multiply.
_MOST = 1000


class Globs:
    """Patterns, of which the last that matches a path decides; ``!`` leaves out what it matches.

    One without a slash is about names, wherever they are; one with a slash about the whole path. What matches a folder
    is about all in it. If any pattern is without ``!``, no others than the files it matches are meant.

    >>> globs = Globs(["*.{py,pyi}", "!tests"])
    >>> [globs.takes(path) for path in ("a/b.py", "b.pyi", "tests/b.py", "b.md")]
    [True, True, False, False]
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._rules = [self._rule(one) for pattern in patterns for one in _alternatives(pattern)]
        self._default = all(rule.negated for rule, _ in self._rules)

    def takes(self, path: str) -> bool:
        """Whether a file is meant; ``path`` is relative, with slashes."""
        for rule, expression in reversed(self._rules):
            if _matches(rule, expression, path):
                return not rule.negated
        return self._default

    @staticmethod
    def _rule(pattern: str) -> tuple[Rule, re.Pattern[str]]:
        # A hash opens a comment in an ignore file, and a name here.
        rule = rule_of(f"\\{pattern}" if pattern.startswith("#") else pattern.removeprefix("./"))
        if rule is None:
            raise InvalidInput(
                f"{pattern!r} is not a pattern for files.", remedy="Write it as '*.py', 'docs/**' or '!*.md'."
            )
        return rule, re.compile(rule.pattern, re.DOTALL)


def _matches(rule: Rule, expression: re.Pattern[str], path: str) -> bool:
    """Whether a rule is about the file, or about a folder that it is in."""
    parts = path.split("/")
    for count in range(len(parts), 0, -1):
        if rule.folders_only and count == len(parts):
            continue
        if expression.fullmatch(parts[count - 1] if rule.by_name else "/".join(parts[:count])):
            return True
    return False


def _alternatives(pattern: str) -> list[str]:
    """``*.{a,b}`` as ``*.a`` and ``*.b``."""
    done, pending = [], [pattern]
    while pending:
        text = pending.pop()
        braces = _BRACES.search(text)
        if braces is None:
            done.append(text)
        else:
            pending += [text[: braces.start()] + word + text[braces.end() :] for word in braces[1].split(",")[::-1]]
        if len(done) + len(pending) > _MOST:
            raise InvalidInput(f"The pattern {pattern!r} has too many alternatives.", remedy="Write several patterns.")
    return done
