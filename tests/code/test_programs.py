"""Small programs in each language, written to be hard, against the links that a person reads in them."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest
from tests.code.written import Program, programs

from ir.code.strategy import Code
from ir.links import Edge

pytest.importorskip("tree_sitter")
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


def edges(program: Program) -> list[Edge]:
    strategy, names, symbols = Code(), defaultdict[str, list[str]](list), {}
    for path, text in program.files.items():
        plan = strategy.decompose(path, text)
        if plan.symbols is not None:
            symbols[path] = plan.symbols
            for name, nodes in plan.symbols.defines.items():
                names[name] += nodes
    return [
        edge for path, held in symbols.items() for edge in strategy.link(path, held, lambda name: names.get(name, ()))
    ]


def links(program: Program) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {"calls": set(), "inherits": set()}
    for edge in edges(program):
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


@pytest.mark.parametrize("language", sorted(BARS))
def test_every_call_stands_where_its_target_is_named(language: str) -> None:
    """The line has the target's name, that of its type, or a word that is bound to one of them, step by step."""
    for program in programs(language):
        lines = [line for text in program.files.values() for line in text.splitlines()]
        together = [set(re.findall(r"\w+", line)) for line in lines]
        for edge in edges(program):
            line = edge.properties.get("line")
            if edge.type not in ("calls", "tests") or line is None:
                continue
            source, target = short(edge.source), short(edge.target)
            said = set(re.findall(r"\w+", program.files[source.rpartition(":")[0]].splitlines()[line - 1]))
            inside = target.rpartition(":")[2].split(".")
            wanted = {re.sub(r"\+\d+", "", part) for part in inside[-2:]}
            steps = 3 if edge.properties["resolution"] == "inferred" else 1
            reached = set(wanted)
            for _ in range(steps):
                reached |= {word for words in together if words & reached for word in words}
            allowed = wanted if edge.properties["resolution"] == "unique-name" else reached | {"super", "base", "this"}
            assert said & allowed, (program.name, source, target, line)
