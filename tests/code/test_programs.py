"""Small programs in each language, written to be hard, against the links that a person reads in them.

A file of ``programs`` holds many: ``==`` begins one, ``--`` a file of it or what is expected. A ``~`` before a link says
that it may be there or not: how a function without a name is called is not a matter of right and wrong.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from ir.code.strategy import Code

pytest.importorskip("tree_sitter")
PROGRAMS = Path(__file__).parent / "programs"
#: What must be reached for calls: precision and recall.
BARS = {
    "python": (0.97, 0.9),
    "javascript": (0.95, 0.85),
    "typescript": (0.95, 0.85),
    "go": (0.95, 0.85),
    "java": (0.95, 0.85),
    "csharp": (0.95, 0.85),
    "rust": (0.95, 0.85),
}


class Program(NamedTuple):
    name: str
    files: dict[str, str]
    expected: dict[str, set[str]]
    open: set[str]


def programs(language: str) -> Iterator[Program]:
    text = (PROGRAMS / f"{language}.txt").read_text("utf-8")
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


def links(program: Program) -> dict[str, set[str]]:
    strategy, names, symbols = Code(), defaultdict[str, list[str]](list), {}
    for path, text in program.files.items():
        plan = strategy.decompose(path, text)
        if plan.symbols is not None:
            symbols[path] = plan.symbols
            for name, nodes in plan.symbols.defines.items():
                names[name] += nodes
    found: dict[str, set[str]] = {"calls": set(), "inherits": set()}
    for path, held in symbols.items():
        for edge in strategy.link(path, held, lambda name: names.get(name, ())):
            if edge.type in found:
                found[edge.type].add(f"{short(edge.source)} -> {short(edge.target)}")
    return found


def short(key: str) -> str:
    path, inside = re.split(
        r"(?<=\.(?:py|js|ts|go|cs|rs))/|(?<=\.(?:tsx))/|(?<=\.java)/", key.partition(" ")[2], maxsplit=1
    )
    inside = re.sub(r"\((\+\d+)?\)\.", r"\1.", inside).replace("#", ".").strip(".")
    return f"{path}:{inside.replace('<init>', inside.split('.')[-2] if '.' in inside else '')}"


@pytest.mark.parametrize("language", sorted(BARS))
def test_links_are_those_that_a_person_reads(language: str) -> None:
    told: list[str] = []
    counts = {"calls": [0, 0, 0], "inherits": [0, 0, 0]}
    for program in programs(language):
        found = links(program)
        for kind, expected in program.expected.items():
            drawn = found[kind] - program.open
            counts[kind] = [
                a + b for a, b in zip(counts[kind], (len(drawn & expected), len(drawn), len(expected)), strict=True)
            ]
            told += [f"{program.name}: wrong {kind}: {one}" for one in sorted(drawn - expected)]
            told += [f"{program.name}: missing {kind}: {one}" for one in sorted(expected - drawn)]
    said = "\n".join([f"{language}: {counts}", *told])
    print(said)
    for kind, (precision, recall) in {"calls": BARS[language], "inherits": (0.95, 0.85)}.items():
        right, drawn, expected = counts[kind]
        assert right >= precision * drawn, said
        assert right >= recall * expected, said
