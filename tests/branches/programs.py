"""Corpora of small programs in a repository, and what is in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ir
from ir.code.strategy import Code
from ir.protocols import Store
from ir.sources import CorpusSource

__all__ = ["PROGRAM", "Counting", "calls", "source_of", "state"]

PROGRAM = {
    "pkg/__init__.py": "from .a import A, run\nfrom .b import *\n",
    "pkg/a.py": (
        "class A:\n    def go(self):\n        self.stop()\n    def stop(self): pass\ndef run():\n    return A()\n"
    ),
    "pkg/b.py": (
        "from .a import A\nclass B(A):\n    def stop(self):\n        super().stop()\ndef build():\n    return B()\n"
    ),
    "main.py": (
        "from pkg import A, run, build\nimport pkg.a as a\ndef main():\n    run().go()\n    build().go()\n    a.run()\n"
    ),
    "web/a.js": (
        "export function run() { stop(); }\nexport function stop() {}\n"
        "export class K { go() { this.halt(); } halt() {} }\n"
    ),
    "web/b.js": "import { run, K } from './a';\nexport function start() { run(); new K().go(); }\n",
    "README.md": "# A program\n\nIt runs and stops.\n",
}


class Counting:
    """An embedder of one's own that remembers what it was given."""

    id = "counting"
    dim = 8
    cacheable = False
    fingerprint: str | None = None

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, texts: Any, *, input_type: str = "document") -> Any:
        import numpy as np

        if input_type == "document":
            self.seen += texts
        rows = [[float(1 + (hash_of(text) >> (4 * place)) % 16) for place in range(self.dim)] for text in texts]
        return np.asarray(rows, dtype=np.float32)

    def taken(self) -> list[str]:
        """What it was given since the last time."""
        seen, self.seen = self.seen, []
        return seen


def hash_of(text: str) -> int:
    from zlib import crc32

    return crc32(text.encode("utf-8", "replace"))


def source_of(root: Path, **options: Any) -> CorpusSource:
    """The files of a folder as code; paths are relative, as another work tree has others."""
    given = {"all_text": True, "embedder": "light", "strategy": Code(), "metadata_of": lambda name, raw: {"path": name}}
    return CorpusSource.from_files(root, name="program", **{**given, **options})


def state(store: Store) -> Iterator[Any]:
    yield sorted(str(name) for (name,) in store.ledger_fields("artifact_id"))
    yield sorted((node for batch in store.iter_nodes() for node in batch), key=lambda node: node.id)
    yield {key: out for batch in store.iter_edges() for key, out in batch if out}
    yield {key: value for batch in store.iter_entries("symbols") for key, value in batch}
    yield store.content_version


def calls(corpus: ir.Corpus) -> set[str]:
    """``caller -> callee`` for each resolved call."""
    short = lambda key: key.partition(" ")[2] or key  # noqa: E731
    return {
        f"{short(edge.source)} -> {short(edge.target)}"
        for batch in corpus.store.iter_edges()
        for _, out in batch
        for edge in out
        if edge.type == "calls"
    }
