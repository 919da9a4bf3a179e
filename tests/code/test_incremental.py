"""A corpus that was changed step by step holds what one holds that was built at once."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.code.written import LANGUAGES, programs

import ir
from ir.code.strategy import Code
from ir.sources import CorpusSource
from ir.store import CorpusStore

pytest.importorskip("tree_sitter")

PROGRAM = {
    "pkg/__init__.py": "from .a import A, run\nfrom .b import *\n",
    "pkg/a.py": "class A:\n    def go(self):\n        self.stop()\n    def stop(self): pass\ndef run():\n    return A()\n",
    "pkg/b.py": "from .a import A\nclass B(A):\n    def stop(self):\n        super().stop()\ndef build():\n    return B()\n",
    "main.py": "from pkg import A, run, build\nimport pkg.a as a\ndef main():\n    run().go()\n    build().go()\n    a.run()\n",
    "other.py": "def helper(x):\n    x.polish()\nclass P:\n    def polish(self): pass\n",
    "web/a.js": "export function run() { stop(); }\nexport function stop() {}\nexport class K { go() { this.halt(); } halt() {} }\n",
    "web/b.js": "import { run, K } from './a';\nexport function start() { run(); new K().go(); }\n",
    "go.mod": "module example.com/m\n",
    "s/s.go": "package s\n\ntype Closer interface{ Close() }\n\ntype T struct{}\n\nfunc New() *T { return &T{} }\n",
    "s/t.go": "package s\n\nfunc (t *T) Close() { t.done() }\n\nfunc (t *T) done() {}\n",
    "src/lib.rs": "pub mod a;\npub mod b;\n",
    "src/a.rs": "pub trait Run { fn run(&self); fn go(&self) { self.run(); } }\npub struct A;\nimpl Run for A { fn run(&self) {} }\n",
    "src/b.rs": "use crate::a::{A, Run};\npub struct B;\nimpl Run for B { fn run(&self) { A.go(); } }\nimpl Run for u8 { fn run(&self) {} }\n",
    "n/One.cs": "namespace N;\npublic interface IRun { void Run(); }\npublic partial class One { public void First() { Second(); } }\n",
    "n/Two.cs": "namespace N;\npublic partial class One : IRun { public void Second() {} public void Run() { First(); } }\n",
    "j/A.java": "package j;\npublic class A extends B { void go() { run(); } }\n",
    "j/B.java": "package j;\npublic class B { void run() {} }\n",
    "guide.md": "# Guide\n\n`A.go` and `helper()`; `K` is in `web/a.js`.\n\n## More\n\n`s.New`, [notes](docs/notes.md)\n",
    "docs/notes.md": "# Notes\n\nSee [the guide](../guide.md), `../main.py` and `P.polish()`.\n",
    "main.go": 'package main\n\nimport "example.com/m/s"\n\nfunc main() { s.New().Close() }\n',
}
NAMES = ("run", "go", "stop", "build", "A", "B", "K", "Close", "done", "New", "polish", "helper")


def built(store: CorpusStore, files: dict[str, str]) -> ir.Corpus:
    return ir.build(CorpusSource.from_mapping(dict(files), name="p", strategy=Code(), embedder="light"), store=store)


def state(store: CorpusStore) -> Iterator[Any]:
    yield sorted((node for batch in store.iter_nodes() for node in batch), key=lambda node: node.id)
    yield {key: out for batch in store.iter_edges() for key, out in batch if out}
    yield {key: value for batch in store.iter_entries("symbols") for key, value in batch}
    yield store.content_version


def edited(files: dict[str, str], chance: random.Random) -> str:
    what = chance.choice(("rename", "rename", "edit", "move", "delete", "revert", "use"))
    path = chance.choice(sorted(files))
    if what == "rename":  # a definition, and not those who use it
        name = chance.choice(NAMES)
        for word in ("def ", "class ", "function ", "func ", "fn ", "void ", "struct ", "interface "):
            files[path] = files[path].replace(f"{word}{name}", f"{word}{name}{chance.choice('xyz')}", 1)
    elif what == "edit":
        files[path] = ("\n" if path.endswith((".py", ".js")) else "") + files[path]
    elif what == "move":
        files[path.replace("a.", "moved.") if "a." in path else f"new/{path}"] = files.pop(path)
    elif what == "delete" and len(files) > 4:
        del files[path]
    elif what == "use" and path.endswith(".py"):
        files[path] += f"def added():\n    {chance.choice(NAMES)}()\n"
    else:
        back = chance.choice(sorted(PROGRAM))
        files[back] = PROGRAM[back]
    return f"{what} {path}"


@pytest.mark.parametrize("seed", range(12))
def test_step_by_step_is_as_at_once(seed: int) -> None:
    chance = random.Random(seed)
    files = dict(PROGRAM)
    steps: list[str] = []
    with CorpusStore.memory() as changed:
        built(changed, files)
        for _ in range(8):
            steps.append(edited(files, chance))
            built(changed, files)
            with CorpusStore.memory() as fresh:
                built(fresh, files)
                for one, other in zip(state(changed), state(fresh), strict=True):
                    assert one == other, steps


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_program_that_is_taken_apart_and_put_together_is_as_before(language: str) -> None:
    """Files go, lose their names, and come back, one after the other, in any order."""
    chance = random.Random(language)
    for program in programs(language):
        if len(program.files) < 2:
            continue
        files = dict(program.files)
        steps: list[str] = []
        with CorpusStore.memory() as changed, CorpusStore.memory() as fresh:
            built(changed, files)
            for path in chance.sample(sorted(files), min(4, len(files))):
                how = chance.choice(("gone", "moved", "renamed"))
                held = files.pop(path)
                if how == "moved":
                    files[f"elsewhere/{path}"] = held
                elif how == "renamed":
                    files[path] = renamed(held, chance)
                steps.append(f"{how} {path}")
                built(changed, files)
                built(fresh, {})
                built(fresh, files)
                for one, other in zip(state(changed), state(fresh), strict=True):
                    assert one == other, (program.name, steps)
                if chance.random() < 0.5:
                    files.pop(f"elsewhere/{path}", None)
                    files[path] = held
            files = dict(program.files)
            built(changed, files)
            built(fresh, {})
            built(fresh, files)
            for one, other in zip(state(changed), state(fresh), strict=True):
                assert one == other, (program.name, steps)


def renamed(text: str, chance: random.Random) -> str:
    """A file in which one word is another wherever it is defined, and not where it is used."""
    words = re.findall(r"\b(?:def|class|function|func|fn|void|struct|trait|interface|const) (\w+)", text)
    name = chance.choice(words) if words else "none"
    return re.sub(rf"\b(def|class|function|func|fn|void|struct|trait|interface|const) {name}\b", rf"\1 {name}X", text)


RENAMED = {
    "python": ("lib.py", "def work(): pass\n", "use.py", "from lib import work\ndef go(): work()\n"),
    "javascript": ("lib.js", "export function work() {}\n", "use.js", "import { work } from './lib';\nfunction go() { work(); }\n"),
    "typescript": ("lib.ts", "export function work() {}\n", "use.ts", "import { work } from './lib';\nfunction go() { work(); }\n"),
    "go": ("lib.go", "package p\n\nfunc work() {}\n", "use.go", "package p\n\nfunc goes() { work() }\n"),
    "java": ("p/Lib.java", "package p;\nclass Lib { static void work() {} }\n", "p/Use.java", "package p;\nclass Use { void go() { Lib.work(); } }\n"),
    "csharp": ("Lib.cs", "namespace P;\nstatic class Lib { public static void work() {} }\n", "Use.cs", "namespace P;\nclass Use { void Go() { Lib.work(); } }\n"),
    "rust": ("src/lib.rs", "pub mod other;\npub fn work() {}\n", "src/other.rs", "use crate::work;\npub fn go() { work(); }\n"),
}  # fmt: skip


@pytest.mark.parametrize("language", sorted(RENAMED))
def test_callers_of_a_renamed_definition_are_unresolved_at_once(language: str) -> None:
    path, text, caller, use = RENAMED[language]
    with CorpusStore.memory() as store:
        built(store, {path: text, caller: use})
        assert len(calls(store)) == 1
        report = built(store, {path: text.replace("work", "toil"), caller: use}).report
        assert (report.changed, report.relinked) == ([path], 1)
        assert not calls(store)
        built(store, {path: text, caller: use})
        assert len(calls(store)) == 1


def calls(store: CorpusStore) -> list[Any]:
    return [edge for batch in store.iter_edges() for _, out in batch for edge in out if edge.type == "calls"]
