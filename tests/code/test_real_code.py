"""Over real code: every link stands on a line that says its target's name, or an alias that leads to it."""

from __future__ import annotations

import re
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import ir
from ir.code.strategy import Code
from ir.sources import CorpusSource
from ir.store import CorpusStore

pytest.importorskip("tree_sitter")
pytestmark = pytest.mark.slow


def files_of(package: str) -> dict[str, str]:
    found = find_spec(package)
    assert found is not None
    assert found.origin is not None
    root = Path(found.origin).parent
    return {
        f"{package}/{path.relative_to(root).as_posix()}": path.read_text("utf-8", "replace")
        for path in sorted(root.rglob("*.py"))
    }


def edges_of(files: dict[str, str]) -> list[Any]:
    with CorpusStore.memory() as store:
        report = ir.build(
            CorpusSource.from_mapping(files, name="real", strategy=Code(), embedder="light"), store=store
        ).report
        assert not report.failed
        return [edge for batch in store.iter_edges() for _, out in batch for edge in out]


@pytest.mark.parametrize("package", ["ir", "typer", "asyncio", "email"])
def test_every_call_stands_where_its_target_is_named(package: str) -> None:
    files = files_of(package)
    edges = [edge for edge in edges_of(files) if edge.type in ("calls", "tests", "inherits", "imports")]
    assert len(edges) > 500
    unnamed, bound = [], bound_in("\n".join(files.values()))
    for edge in edges:
        path = edge.source.partition(" ")[2]
        path = path[: path.index(".py/") + 3]
        line = edge.properties.get("line")
        if line is None:
            continue
        assert edge.properties["resolution"] in ("exact", "inferred", "unique-name")
        lines = files[path].splitlines()
        said = " ".join(lines[line - 1 : line + 12]) if edge.type in ("inherits", "imports") else lines[line - 1]
        if not names(edge.target) & set(re.findall(r"\w+", said)) and not is_alias(edge, said, bound):
            unnamed.append((edge.source, edge.type, edge.target, line, lines[line - 1].strip()))
    assert not unnamed, f"{len(unnamed)} of {len(edges)}: {unnamed[:10]}"


def names(target: str) -> set[str]:
    """The words that a call of the target may be written with: its own name, its type's, its module's."""
    inside = target.partition(".py/")[2]
    parts = [part for part in re.split(r"\(?\+\d+\)?|[#.()]+", inside) if part] or [""]
    module = re.split(r"[/.]", target.partition(" ")[2].partition(".py/")[0])
    found = {parts[-1], *(module[-2:] if not inside else ())}
    if parts[-1] in ("__init__", "__new__", "__call__") and len(parts) > 1:
        found.add(parts[-2])
    return found


def bound_in(text: str) -> dict[str, set[str]]:
    """For each name, the words that it is bound to somewhere: by an import, or by an assignment."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, alias in re.findall(r"\b(\w+) as (\w+)", text):
        found[alias].add(name)
    for name, value in re.findall(r"^[ \t]*(\w+)[ \t]*=(.*)$", text, re.MULTILINE):
        found[name].update(re.findall(r"\w+", value))
    return found


def is_alias(edge: Any, said: str, bound: dict[str, set[str]]) -> bool:
    """Whether the line names the target in another way: through a value, an alias, its class or a class that inherits."""
    by_value = edge.properties["resolution"] == "inferred" and "(" in said
    itself = re.search(r"\b(cls|self|super\(\))\(|super\(\)\.|type\(self\)", said) is not None
    inherited = "__init__" in edge.target or "__new__" in edge.target
    renamed = any(names(edge.target) & bound[word] for word in re.findall(r"\w+", said) if word in bound)
    return by_value or itself or inherited or renamed
