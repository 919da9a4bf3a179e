"""Which documents are variants of one another? They stay on one side of a split, or the test would know the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["families", "head_of", "stem_of"]

_TAIL = re.compile(r"\s+[-–—(\[].*$|[:;,.(].*$")
#: What is added to the name of a thing for one of its parts.
_PARTS = frozenset(
    [
        "all",
        "bin",
        "common",
        "core",
        "data",
        "dbg",
        "debug",
        "dev",
        "devel",
        "doc",
        "docs",
        "examples",
        "extra",
        "extras",
        "full",
        "headers",
        "libs",
        "main",
        "perl",
        "plugin",
        "plugins",
        "python",
        "python2",
        "python3",
        "ruby",
        "src",
        "static",
        "test",
        "tests",
        "tools",
        "utils",
    ]
)
_BEFORE = re.compile(r"^(lib|python3?-|ruby-|golang-|r-cran-|node-)")
_VERSION = re.compile(r"[-.]?v?\d[\d.]*[a-z]?$")


def head_of(text: str) -> str:
    """What a description says first, without what tells variants apart.

    >>> head_of("Strategy game of ancient warfare (data files)") == head_of("Strategy game of ancient warfare")
    True
    """
    return " ".join(_TAIL.sub("", text.strip().lower()).split())


def stem_of(name: str) -> str:
    """A name without versions and the words for parts.

    >>> stem_of("libfoo2-dev"), stem_of("foo-data-common")
    ('foo', 'foo')
    """
    stem = _BEFORE.sub("", name.strip().lower())
    while True:
        first, _, last = stem.rpartition("-")
        shorter = first if first and last in _PARTS else _VERSION.sub("", stem)
        if not shorter or shorter == stem:
            return stem
        stem = shorter


def families(texts: Sequence[str], names: Sequence[str] | None = None) -> list[int]:
    """The family of each document, as a number: those with the same head, or the same stem of a name, are one."""
    parent = list(range(len(texts)))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    first: dict[tuple[str, str], int] = {}
    for at, text in enumerate(texts):
        keys = [("head", head_of(text))]
        if names is not None and names[at]:
            keys.append(("stem", stem_of(names[at])))
        for key in keys:
            if key[1]:
                parent[root(at)] = root(first.setdefault(key, at))
    return [root(at) for at in range(len(texts))]
