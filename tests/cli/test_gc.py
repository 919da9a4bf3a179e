"""``ir gc``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir.config import cache_dir, corpora_dir, corpus_dir, embeddings_cache_dir
from ir.embed import VectorCache
from ir.store import LocalStore

Ir = Callable[..., Any]
SECRET = "xylophonists"


def held(*folders: Path) -> bytes:
    return b"".join(
        path.name.encode() + (path.read_bytes() if path.is_file() else b"")
        for folder in folders
        for path in folder.rglob("*")
    )


def names(*states: str, items: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(item["what"], item["state"]) for item in items if not states or item["state"] in states}


def test_a_dry_run_says_what_would_go_and_changes_nothing(ir: Ir, notes: Path) -> None:
    ir("build", "notes")
    (notes / "tea.md").write_text("No more tea.\n")
    ir("build", "notes")
    (folder,) = (path.parent for path in corpora_dir().glob("*/corpus.db"))
    half_made = folder / "generations" / ".00000007-0badf00d"
    half_made.mkdir()
    (half_made / "rows").write_bytes(b"x" * 5000)
    told = ir("gc", "--dry-run", "--json").json
    assert {("old generation", "due"), ("half-made generation", "due")} <= names(items=told["items"])
    assert told["bytes"] > 5000
    assert half_made.exists()
    done = ir("gc")
    assert done.code == 0
    assert "half-made generation\t.00000007-0badf00d\t5.0 kB\tremoved" in done.out
    assert done.out.splitlines()[-1].startswith("freed ")
    assert not half_made.exists()
    assert ir("search", "notes", "bread dough").code == 0
    assert names("due", items=ir("gc", "--dry-run", "--json").json["items"]) == set()


def test_compact_leaves_nothing_of_a_deleted_file(ir: Ir, notes: Path) -> None:
    (notes / f"{SECRET}.md").write_text(f"# Meeting\n\nThe {SECRET} met at the harbour.\n")
    ir("build", "notes")
    assert ir("search", "notes", SECRET, "--mode", "lexical").code == 0
    assert SECRET.encode() in held(corpora_dir())
    (notes / f"{SECRET}.md").unlink()
    ir("build", "notes")
    assert ir("gc", "notes", "--compact").code == 0
    assert SECRET[:-1].encode() not in held(corpora_dir(), cache_dir())
    assert ir("search", "notes", SECRET, "--mode", "lexical").code == 1
    assert ir("search", "notes", "bread dough").code == 0


def test_cached_vectors_of_models_that_no_corpus_names_go(ir: Ir, notes: Path) -> None:
    ir("build", "notes")
    vector = {"some text": np.ones(8, dtype=np.float32)}
    for model in ("org/unused", "org/registered"):
        VectorCache.for_model(model).put("space", vector)
    ir("register", "kitchen", "notes", "--embedder", "org/registered")
    told = ir("gc", "--dry-run", "--json").json["items"]
    assert [item["state"] for item in told if item["what"] == "cached embeddings"] == ["due"]
    ir("gc")
    assert not embeddings_cache_dir("org/unused").exists()
    assert embeddings_cache_dir("org/registered").exists()


def test_what_is_written_now_is_left_alone(ir: Ir, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_LOCK_TIMEOUT_S", "0.1")
    ir("build", "notes")
    VectorCache.for_model("org/unused").put("space", {"text": np.ones(8, dtype=np.float32)})
    (folder,) = (path.parent for path in corpora_dir().glob("*/corpus.db"))
    with LocalStore(folder).transaction():
        named = ir("gc", "notes", "--compact")
        assert named.code == 3
        assert f"process {os.getpid()}" in named.err
        everything = ir("gc", "--json")
        assert everything.code == 0
        assert {("corpus", "kept"), ("cached embeddings", "kept")} <= names(items=everything.json["items"])
    assert embeddings_cache_dir("org/unused").exists()


def test_a_space_goes_only_when_it_is_named(ir: Ir, notes: Path) -> None:
    ir("register", "kitchen", "notes")
    ir("build", "kitchen")
    store = LocalStore(corpus_dir("kitchen"))
    store.add_space("second")
    store.put_vectors("second", {record_id: np.ones(4, dtype=np.float32) for record_id in store.record_ids()})
    ir("gc", "kitchen", "--compact")
    assert set(store.spaces()) == {store.default_space, "second"}
    due = ir("gc", "kitchen", "--space", "second", "--dry-run", "--json").json
    assert ("space", "due") in names(items=due["items"])
    assert "second" in store.spaces()
    done = ir("gc", "kitchen", "--space", "second", "--json").json
    (item,) = (item for item in done["items"] if item["what"] == "space")
    assert (item["state"], item["bytes"]) == ("removed", len(store) * 4 * 4)
    assert set(store.spaces()) == {store.default_space}
    assert not list((store.path / "generations").glob("*/*-1.vectors"))
    assert ir("search", "kitchen", "bread dough").code == 0
    for wrong in (("kitchen", "--space", "second"), ("kitchen", "--space", store.default_space), ("--space", "x")):
        assert ir("gc", *wrong).code == 2
    store.close()


def test_an_unknown_corpus_is_an_error(ir: Ir) -> None:
    assert ir("gc", "nosuch").code == 3
    assert ir("gc").out == "freed 0 B\n"
