"""Read the standard library in one way, and print what it took: ``python code_reading.py WAY [FILES]``.

A process for each way, so that its memory is its own. The files are in memory before the clock starts.
"""

from __future__ import annotations

import ast
import json
import resource
import shutil
import sys
import sysconfig
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ir.garbage import uncollected

QUERY = """
(function_definition name: (identifier) @d) (class_definition name: (identifier) @d)
(call function: (_) @c) (import_statement) @i (import_from_statement) @i
"""


def paths(limit: int) -> list[Path]:
    root = Path(sysconfig.get_paths()["stdlib"])
    found = [path for path in sorted(root.rglob("*.py")) if "site-packages" not in path.parts]
    return found[:: max(1, len(found) // limit)] if limit else found


def texts(limit: int) -> dict[str, str]:
    root = Path(sysconfig.get_paths()["stdlib"])
    return {path.relative_to(root).as_posix(): path.read_text("utf-8", "replace") for path in paths(limit)}


def parse(files: dict[str, str]) -> dict[str, Any]:
    parser, _ = _grammar()
    for text in files.values():
        parser.parse(text.encode("utf-8", "replace"))
    return {}


def query(files: dict[str, str]) -> dict[str, Any]:
    from tree_sitter import Query, QueryCursor

    parser, language = _grammar()
    asked = QueryCursor(Query(language, QUERY))
    return {
        "found": sum(
            len(nodes)
            for text in files.values()
            for nodes in asked.captures(parser.parse(text.encode("utf-8", "replace")).root_node).values()
        )
    }


def by_ast(files: dict[str, str]) -> dict[str, Any]:
    rejected = 0
    warnings.simplefilter("ignore")
    for text in files.values():
        try:
            ast.parse(text)
        except (SyntaxError, ValueError):
            rejected += 1
    return {"rejected": rejected}


@uncollected
def by_ir(files: dict[str, str]) -> dict[str, Any]:
    """As a build does it; what it writes is not part of it."""
    from ir.code.strategy import Code

    strategy, names, symbols = Code(), defaultdict[str, list[str]](list), {}
    definitions = 0
    for path, text in files.items():
        plan = strategy.decompose(path, text)
        definitions += sum(node.type != "module" for node in plan.nodes)
        if plan.symbols is not None:
            symbols[path] = plan.symbols
            for name, nodes in plan.symbols.defines.items():
                names[name] += nodes
    calls, edges = [0, 0, 0], 0
    for path, held in symbols.items():
        links: Any = strategy.link(path, held, lambda name: names.get(name, ()))
        edges += sum(1 for _ in links)
        calls = [a + b for a, b in zip(calls, links.told["calls"], strict=True)]
    return {"definitions": definitions, "edges": edges, "calls": calls}


def edit(files: dict[str, str]) -> dict[str, Any]:
    """Builds of a corpus after single files were edited, each undone after it."""
    import ir
    from ir.code.strategy import Code
    from ir.store.local import LocalStore

    folder = Path(tempfile.mkdtemp())
    try:
        with LocalStore(folder / "corpus") as store:

            def build() -> tuple[float, Any]:
                source = ir.CorpusSource.from_mapping(files, name="lib", strategy=Code(), embedder="light")
                began = time.process_time()
                report = ir.build(source, store=store).report
                return time.process_time() - began, report

            build()
            plain, _ = build()  # what it takes to see that nothing changed
            edits = []
            for path, what, old, new in EDITS:
                if path not in files or old not in files[path]:
                    continue
                before = files[path]
                files[path] = before.replace(old, new, 1)
                took, report = build()
                edits.append(
                    {
                        "file": path,
                        "edit": what,
                        "cpu": max(0.0, took - plain),
                        "relinked": report.relinked,
                        "embedded": report.embedded,
                    }
                )
                files[path] = before
                build()
            return {"edits": edits}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_DECODE = "        obj, end = self.raw_decode(s"
_HOLDER = "\nclass _AttributeHolder"
EDITS = (
    ("json/decoder.py", "a statement", _DECODE, f"        len(s)\n{_DECODE}"),
    ("argparse.py", "a new function", _HOLDER, f"\ndef fresh():\n    return _AttributeHolder()\n{_HOLDER}"),
    ("argparse.py", "a method renamed", "def format_help(", "def format_all("),
    ("unittest/case.py", "a method renamed", "def assertIn(", "def assertWithin("),
)


def _grammar() -> tuple[Any, Any]:
    import tree_sitter_python
    from tree_sitter import Language, Parser

    language = Language(tree_sitter_python.language())
    return Parser(language), language


WAYS: dict[str, Callable[[dict[str, str]], dict[str, Any]]] = {
    "parse": parse,
    "query": query,
    "ast": by_ast,
    "ir": by_ir,
    "edit": edit,
}


def main() -> None:
    files = texts(int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    size = sum(map(len, files.values()))
    count = len(files)
    began = time.process_time()
    found = WAYS[sys.argv[1]](files)
    took = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
    print(json.dumps({"cpu": took, "peak_mb": peak, "files": count, "bytes": size, **found}))


if __name__ == "__main__":
    main()
