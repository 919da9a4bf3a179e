"""``ir store`` and ``ir build --ray``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.extras import needs

from ir.store import CorpusStore

Ir = Callable[..., Any]


def test_copies_a_corpus_under_another_name(ir: Ir, notes: Path) -> None:
    built = ir("build", "notes", "--json").json
    first = ir("store", "copy", "notes", "copied")
    assert first.code == 0, first.err
    assert "verified: counts and checksums are those of notes" in first.out
    hits = [ir("search", name, "bitter tea", "--json").json["found"][0] for name in ("copied", "notes")]
    assert hits[0]["artifact_id"] == hits[1]["artifact_id"] == "tea.md"
    again = ir("store", "copy", "notes", "copied")
    assert again.code == 2
    assert "holds a corpus" in again.err
    assert ir("store", "copy", "notes", "copied", "--force", "--json").json["written"] == built["records"]
    folder = ir("store", "copy", "copied", "./folder", "--json")
    assert folder.json["records"] == built["records"]
    with CorpusStore.open("./folder") as store:
        assert len(store) == built["records"]


@pytest.mark.slow
def test_copies_to_milvus_and_back(ir: Ir, notes: Path) -> None:
    needs("milvus_lite")
    assert ir("build", "notes").code == 0
    there = ir("store", "copy", "notes", "milvus+lite:corpora.db?corpus=n", "--json")
    assert there.code == 0, there.err
    back = ir("store", "copy", "milvus+lite:corpora.db?corpus=n", "again", "--json")
    assert back.code == 0, back.err
    assert back.json["checksum"] == there.json["checksum"]
    assert ir("search", "again", "knead dough").code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("copy", "a"), "ir store copy FROM TO"),
        (("move", "a", "b"), "ir store copy FROM TO"),
        (("copy", "absent", "other"), "There is no corpus"),
        (("copy", "nowhere://x", "other"), "No store is known"),
        (("migrate", "a"), "no tables that need migrating"),
    ],
)
def test_wrong_usage(ir: Ir, ir_home: Path, arguments: tuple[str, ...], told: str) -> None:
    outcome = ir("store", *arguments)
    assert outcome.code in (2, 3)
    assert told in outcome.err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_builds_on_a_cluster_of_its_own(ir: Ir, notes: Path) -> None:
    needs("ray")
    outcome = ir("build", "notes", "--ray", "local", "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["added"] == 3
    assert ir("build", "notes", "--json").json["unchanged"] == 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_is_not_there(ir: Ir, notes: Path) -> None:
    needs("ray")
    outcome = ir("build", "notes", "--ray", "127.0.0.1:9")
    assert outcome.code == 3
    assert "cannot be reached" in outcome.err


def test_a_server_that_is_away_changes_nothing(ir: Ir, notes: Path) -> None:
    needs("psycopg")
    away = "postgresql://localhost:1/team"
    assert ir("build", "notes", "--store", away).code == 3
    assert ir("ls", "--json").json["corpora"] == []
    before = ir("build", "notes", "--json").json["records"]
    failed = ir("build", "notes", "--store", away)
    assert (failed.code, "takes no connections" in failed.err) == (3, True)
    assert ir("search", "notes", "bitter tea").code == 0
    assert ir("ls", "--json").json["corpora"][0]["records"] == before
