"""What an earlier ``ir`` wrote is opened, or is rebuilt after one clear message; never misread, never a traceback."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.compat.make import DATA, QUERIES, ask, ir, make, pack, unpack

from ir.portable.manifest import FORMAT as PORTABLE
from ir.store.local.database import DATABASE
from ir.store.local.database import FORMAT as LOCAL

FIXTURES = sorted(DATA.glob("*.tar.gz"))
BEST = {query: dict.fromkeys(("hybrid", "dense", "lexical"), answer) for query, answer in QUERIES.items()}


@pytest.fixture(params=FIXTURES, ids=lambda path: path.name.removesuffix(".tar.gz"))
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folders of a user of an earlier version."""
    unpack(request.param, tmp_path)
    return tmp_path


def opened(root: Path) -> bool:
    """Whether the corpus is read as it is. If not, one message says so and what to do, and that is then done."""
    tried = ir(root, "search", "notes", "tea", codes=(0, 3))
    if tried.code == 0:
        return True
    assert tried.err.count("ir: ") == 1
    assert "format" in tried.err
    assert "build" in tried.err
    follow(root, tried.err)
    return False


def follow(root: Path, message: str) -> None:
    """Do what the message advises: build again, in place or after the folder is removed."""
    if "emove the folder" in message:
        shutil.rmtree(root / "data" / "corpora")
    ir(root, "build", "notes", "--links")
    ir(root, "build", "shelf")


def test_there_is_a_fixture_of_the_present_formats() -> None:
    assert DATA / f"formats-{LOCAL}-{PORTABLE}.tar.gz" in FIXTURES, "run: python -m tests.compat.make"


def test_it_is_searched_in_every_mode(root: Path) -> None:
    opened(root)
    assert ask(root, "notes") == BEST


def test_settings_links_and_the_floor_are_there(root: Path) -> None:
    kept = opened(root)
    assert ir(root, "config", "get", "k", "--json").json["settings"][0]["value"] == 4
    assert [row["name"] for row in ir(root, "ls", "--json").json["corpora"]] == ["notes", "shelf"]
    links = ir(root, "graph", "notes", "neighbours", "kettle.md").out
    assert "tea.md" in links
    assert "bread.md" in links
    if kept:
        found = ir(root, "discover", "notes", "zebra crossing", "--json", codes=(0, 1)).json
        assert found["reason"] == "abstain:below_floor"


def test_a_build_takes_in_only_what_changed(root: Path) -> None:
    kept = opened(root)
    again = ir(root, "build", "shelf", "--json").json
    assert (again["added"], again["changed"], again["removed"], again["unchanged"]) == (0, 0, 0, 2) or not kept
    notes = root / "notes"
    (notes / "new.md").write_text("# Sail\n\nA sail is reefed when the wind rises.\n", "utf-8")
    (notes / "chain.md").unlink()
    ir(root, "build", "notes", "--links")
    assert "new.md" in ir(root, "search", "notes", "reef the sail in rising wind").out
    assert "chain.md" not in ir(root, "search", "notes", "bicycle chain", codes=(0, 1)).out


def test_it_is_exported_and_what_was_exported_is_imported(root: Path) -> None:
    opened(root)
    ir(root, "export", "notes", "again.ir")
    ir(root, "import", "again.ir", "--name", "again")
    assert ask(root, "again") == BEST
    done = ir(root, "import", "notes.ir", "--name", "old", codes=(0, 3))
    if done.code == 0:
        assert ask(root, "old") == BEST
    else:
        assert "format" in done.err
        assert "xport" in done.err


def test_the_derived_files_may_be_missing(root: Path) -> None:
    shutil.rmtree(root / "data" / "corpora" / "notes" / "generations")
    opened(root)
    assert ask(root, "notes") == BEST


@pytest.mark.parametrize("number", [0, LOCAL + 1])
def test_a_format_that_cannot_be_read_is_named_with_the_way_out(root: Path, number: int) -> None:
    file = root / "data" / "corpora" / "notes" / DATABASE
    connection = sqlite3.connect(file)
    connection.execute(f"PRAGMA user_version = {number}")
    connection.commit()
    connection.close()
    tried = ir(root, "search", "notes", "tea", codes=(3,))
    assert f"format {number}" in tried.err
    assert tried.err.count("ir: ") == 1
    follow(root, tried.err)
    assert ask(root, "notes") == BEST


@pytest.mark.slow
def test_a_fixture_can_be_made_of_the_present_formats(tmp_path: Path) -> None:
    made = tmp_path / "made"
    make(made)
    pack(made, tmp_path / "made.tar.gz")
    assert (tmp_path / "made.tar.gz").stat().st_size < 100_000
    shutil.rmtree(made)
    unpack(tmp_path / "made.tar.gz", made)
    assert ask(made, "notes") == BEST
