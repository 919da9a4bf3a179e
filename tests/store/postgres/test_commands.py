"""``ir build --store`` and what other commands do with a corpus on a server."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.extras import reason_for

pytest.importorskip("psycopg", reason=reason_for("psycopg"))

from tests.cli.conftest import ir, notes

from ir.config import corpus_dir, registry_path
from ir.testing.postgres_server import PostgresServer

__all__ = ["ir", "notes"]

Ir = Callable[..., Any]


@pytest.fixture
def address(server: PostgresServer, database: str) -> str:
    return server.url(database)


def test_a_folder_is_kept_on_the_server_from_then_on(ir: Ir, notes: Path, address: str) -> None:
    built = ir("build", "notes", "--store", address)
    assert built.code == 0, built.err
    name = built.out.partition(":")[0]
    entry = json.loads(registry_path().read_text("utf-8"))["corpora"][name]
    assert entry["store"] == f"{address}&corpus={name}"
    assert not corpus_dir(name).exists()
    assert ir("search", "notes", "bitter tea", "--json").json["found"][0]["artifact_id"] == "tea.md"
    assert ir("search", entry["store"], "knead dough").code == 0
    (notes / "soup.md").write_text("Simmer the soup.\n", "utf-8")
    assert "1 added" in ir("build", "notes").out
    listed = {row["name"]: row for row in ir("ls", "--json").json["corpora"]}
    assert (listed[name]["state"], listed[name]["artifacts"]) == ("ready", 4)
    assert ir("info", "notes", "--json").json["path"] == entry["store"]
    assert ir("store", "migrate", entry["store"]).code == 0


def test_back_to_this_machine(ir: Ir, notes: Path, address: str) -> None:
    name = ir("build", "notes", "--store", address).out.partition(":")[0]
    assert ir("build", "notes", "--store", "local").code == 0
    assert corpus_dir(name).exists()
    assert "store" not in json.loads(registry_path().read_text("utf-8"))["corpora"][name]


def test_what_is_due_is_done_on_the_server(ir: Ir, notes: Path, address: str) -> None:
    assert ir("register", "mine", str(notes), "--store", address).code == 0
    assert ir("build", "mine").code == 0
    (notes / "soup.md").write_text("Simmer the soup.\n", "utf-8")
    (due,) = ir("maintain", "mine", "--dry-run", "--json").json["results"]
    assert (due["task"], due["status"], due["detail"]) == ("update", "due", "1 added")
    assert ir("maintain", "mine").code == 0
    assert not corpus_dir("mine").exists()
    assert ir("search", f"{address}&corpus=mine", "simmer", "--json").json["found"][0]["artifact_id"] == "soup.md"


def test_a_registered_name(ir: Ir, notes: Path, address: str) -> None:
    assert ir("register", "mine", str(notes), "--store", address).code == 0
    assert ir("build", "mine").code == 0
    assert not corpus_dir("mine").exists()
    assert ir("search", "mine", "knead dough").code == 0
    removed = ir("rm", "mine", "--yes")
    assert removed.code == 0
    assert "stays there" in removed.err
    assert ir("search", f"{address}&corpus=mine", "knead dough").code == 0


@pytest.mark.parametrize(
    ("store", "told"),
    [
        ("postgresql://me:correct-horse@127.0.0.1/x", "with a password, which would be written down"),
        ("postgresql://127.0.0.1:9/x", "takes no connections"),
        ("carrier-pigeon://x", "kept at a server's address"),
    ],
)
def test_what_cannot_be(ir: Ir, notes: Path, store: str, told: str) -> None:
    outcome = ir("build", "notes", "--store", store)
    assert outcome.code in (2, 3)
    assert told in outcome.err
    assert "correct-horse" not in outcome.err + outcome.out


def test_a_server_that_is_away_does_not_hide_the_other_corpora(ir: Ir, notes: Path) -> None:
    assert ir("build", "notes").code == 0
    assert ir("register", "away", str(notes), "--store", "postgresql://127.0.0.1:9/x").code == 0
    states = {row["name"]: row["state"] for row in ir("ls", "--json").json["corpora"]}
    assert "ready" in states.values()
    assert "takes no connections" in states["away"]


def test_a_dry_run_changes_no_address(ir: Ir, notes: Path, address: str) -> None:
    outcome = ir("build", "notes", "--dry-run", "--store", address)
    assert outcome.code == 2
    assert not registry_path().exists()
