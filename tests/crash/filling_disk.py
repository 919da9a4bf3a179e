"""Run on a file system of a few megabytes: a large build after a small one, and what is left of the corpus then."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import ir
from ir.errors import StoreUnwritable
from ir.store import LocalStore

ROWS, DIM = 6000, 256  # enough for a faiss index and for its codes


def embed(texts: list[str]) -> np.ndarray:
    rows = np.random.default_rng(len(texts)).normal(size=(len(texts), DIM))
    return rows.astype(np.float32)


embed._ir_id = "noise"  # type: ignore[attr-defined]


def build(corpus: Path, count: int) -> None:
    # Tags, which only the lexical index holds, make it large enough to be the one that finds no room.
    items = {
        str(number): {"text": f"text {number}", "tags": [f"{number * 31 + tag:x}" for tag in range(12)]}
        for number in range(count)
    }
    store = LocalStore(corpus)
    try:
        ir.build(ir.CorpusSource.from_mapping(items, name="x"), store=store, embedder=embed)
    finally:
        store.close()


def main(disk: Path) -> None:
    """Print the error, and the library that it came from."""
    corpus = disk / "corpus"
    build(corpus, 3)
    try:
        build(corpus, ROWS)
    except StoreUnwritable as error:
        root: BaseException = error
        while root.__cause__ is not None:
            root = root.__cause__
        print(error)
        print(f"{type(root).__name__}: {root}")
    else:
        print("room enough\n")
    store = LocalStore(corpus)
    hits = ir.Corpus("x", store, embed, "noise").search("text", mode="lexical", k=ROWS)
    print(len(store), len(hits))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
