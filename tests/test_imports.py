"""No module needs another that needs it, whether it says so at its top or inside a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import ir

_ROOT = Path(ir.__file__).parent

#: What is left, each a method of a value that starts what makes such values: ``corpus.search`` searches, and a search
#: opens a corpus by its name; ``CorpusStore.open`` opens what an address names, which may be a ``CorpusStore``.
_BY_NATURE = {
    ("ir.index.corpus", "ir.retrieve.pipeline"),
    ("ir.store.mapping", "ir.store.opening"),
}


def _modules() -> dict[str, ast.Module]:
    found = {}
    for path in _ROOT.rglob("*.py"):
        name = ".".join(("ir", *path.relative_to(_ROOT).with_suffix("").parts)).removesuffix(".__init__")
        found[name] = ast.parse(path.read_text("utf-8"))
    return found


def _homes(modules: dict[str, ast.Module]) -> dict[tuple[str, str], str]:
    """Where the names come from that a package hands on, so that a lazy package does not hide what it loads."""
    return {
        (package, name.asname or name.name): node.module
        for package, tree in modules.items()
        for node in ast.walk(tree)
        if (_ROOT / Path(*package.split(".")[1:]) / "__init__.py").is_file()
        and isinstance(node, ast.ImportFrom)
        and node.module
        for name in node.names
    }


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """``(module, name)`` of every import that is ever run; those for type checkers are not."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from ((name.name, "") for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.module, name.name) for name in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from ((str(name.value), "") for name in node.args[:1] if isinstance(name, ast.Constant))
        yield from _imported(node)


def _needs() -> dict[str, set[str]]:
    modules = _modules()
    homes = _homes(modules)

    def home(module: str, name: str) -> str:
        if f"{module}.{name}" in modules:
            return f"{module}.{name}"
        handed_on = homes.get((module, name))
        return module if handed_on in (None, module) else home(str(handed_on), name)

    return {
        module: {found for pair in _imported(tree) if (found := home(*pair)) in modules} - {module}
        for module, tree in modules.items()
    }


def _cycle(needs: dict[str, set[str]]) -> list[str]:
    try:
        list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_import_hides_a_cycle() -> None:
    needs = {
        module: {found for found in found_all if (module, found) not in _BY_NATURE}
        for module, found_all in _needs().items()
    }
    assert _cycle(needs) == []


def test_what_is_excused_is_still_there() -> None:
    needs = _needs()
    for module, found in _BY_NATURE:
        assert found in needs[module]
        rest = {one: set(all_found) for one, all_found in needs.items()}
        for other, excused in _BY_NATURE - {(module, found)}:
            rest[other].discard(excused)
        assert {module, found} <= set(_cycle(rest))
