"""The small programs in ``programs``, one file for each language.

``==`` begins a program, ``--`` a file of it or what is expected of it. A ``~`` before a link says that it may be there or
not: how a function without a name is called is not a matter of right and wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["LANGUAGES", "Program", "programs"]

_FOLDER = Path(__file__).parent / "programs"
LANGUAGES = sorted(path.stem for path in _FOLDER.glob("*.txt"))


class Program(NamedTuple):
    name: str
    files: dict[str, str]
    expected: dict[str, set[str]]
    open: set[str]


def programs(language: str) -> Iterator[Program]:
    text = (_FOLDER / f"{language}.txt").read_text("utf-8")
    for part in re.split(r"^== ", text, flags=re.MULTILINE)[1:]:
        name, _, rest = part.partition("\n")
        files: dict[str, str] = {}
        expected: dict[str, set[str]] = {"calls": set(), "inherits": set()}
        free: set[str] = set()
        for section in re.split(r"^-- ", rest, flags=re.MULTILINE)[1:]:
            title, _, body = section.partition("\n")
            if title in expected:
                said = [line for line in body.splitlines() if line.strip()]
                expected[title] = {line for line in said if not line.startswith("~")}
                free |= {line[1:] for line in said if line.startswith("~")}
            else:
                files[title] = body
        yield Program(name, files, expected, free)
