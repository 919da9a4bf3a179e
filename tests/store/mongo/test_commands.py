"""What commands do with a corpus in MongoDB, and with books that others read there: DocumentDB, not mongod."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.extras import reason_for

pytest.importorskip("pymongo", reason=reason_for("pymongo"))

from tests.cli.conftest import ir, notes

from ir.book import load_from_mongo
from ir.config import corpus_dir, registry_path
from ir.store.mongo.collections import BookCollections

__all__ = ["ir", "notes"]

Ir = Callable[..., Any]


def test_a_folder_is_kept_on_the_server_from_then_on(ir: Ir, notes: Path, database_url: str) -> None:
    built = ir("build", "notes", "--store", database_url)
    assert built.code == 0, built.err
    name = built.out.partition(":")[0]
    entry = json.loads(registry_path().read_text("utf-8"))["corpora"][name]
    assert entry["store"] == f"{database_url}?corpus={name}"
    assert not corpus_dir(name).exists()
    assert ir("search", "notes", "bitter tea", "--json").json["found"][0]["artifact_id"] == "tea.md"
    assert ir("search", entry["store"], "knead dough").code == 0
    (notes / "soup.md").write_text("Simmer the soup.\n", "utf-8")
    assert "1 added" in ir("build", "notes").out
    listed = {row["name"]: row for row in ir("ls", "--json").json["corpora"]}
    assert (listed[name]["state"], listed[name]["artifacts"]) == ("ready", 4)
    removed = ir("rm", name, "--yes")
    assert removed.code == 0, removed.err


def test_copies_there_and_back(ir: Ir, notes: Path, database_url: str) -> None:
    assert ir("build", "notes").code == 0
    there = ir("store", "copy", "notes", f"{database_url}/copied", "--json")
    assert there.code == 0, there.err
    back = ir("store", "copy", f"{database_url}/copied", "again", "--json")
    assert back.code == 0, back.err
    assert back.json["checksum"] == there.json["checksum"]
    assert ir("search", "again", "knead dough").code == 0


def test_a_password_on_the_command_line_is_refused(ir: Ir, notes: Path) -> None:
    refused = ir("build", "notes", "--store", "mongodb://me:s3cret@nowhere.invalid/db")
    assert refused.code == 2
    assert "MONGODB_PASSWORD" in refused.err
    assert "s3cret" not in refused.err + refused.out


def test_a_book_is_ingested_for_others_to_read(
    ir: Ir, tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = tmp_path / "core.md"
    book.write_text(
        "# Spells\n\n## Fireball\n\nA burst of fire. See Shield.\n\n## Shield\n\nA wall of force.\n", "utf-8"
    )
    monkeypatch.setenv("MONGODB_URI", database_url)
    done = ir(
        "ingest", "book", str(book), "--ruleset", "dnd", "--embedding-model", "light", "--store-mongodb", "--json"
    )
    assert done.code == 0, done.err
    with BookCollections(database_url) as collections:
        (model,) = collections.models("dnd", "core")
    loaded = load_from_mongo("dnd", "core", model, database_url)
    assert any("burst of fire" in chunk["text"] for chunk in loaded.chunks)
    assert loaded.embeddings is not None
    assert len(loaded.embeddings) == len(loaded.chunks)
    assert {chunk["run_id"] for chunk in loaded.chunks} == {done.json["run_id"]}
    assert {edge["relation"] for edge in loaded.edges} >= {"contains", "next", "refers_to"}
    assert (loaded.stale, loaded.dropped) == ([], [])
