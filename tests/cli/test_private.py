"""What should stay private, at the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ir = Callable[..., Any]

TOKEN = "ghp_" + "aZ7" * 12
STARS = "ghp_" + "*" * 36


@pytest.fixture
def secretive(notes: Path) -> Path:
    (notes / "deploy.md").write_text(f"# Deploy\n\nOn the second line the token {TOKEN} is used to deploy.\n\nDone.\n")
    (notes / "prod.env").write_text("DEPLOY_PASSWORD=hunter2\n")
    return notes


def test_a_first_search_says_that_files_of_secrets_were_left_out(ir: Ir, secretive: Path) -> None:
    done = ir("search", "notes", "deploy password hunter2")
    assert "1 file was left out, because it may hold secrets" in done.err
    assert "prod.env" not in done.out
    built = ir("build", "notes")
    assert "skipped\tprod.env\tmay hold secrets; the setting include_secrets takes such files in" in built.out
    assert ir("config", "set", "include_secrets", "true").code == 0
    assert ir("build", "notes").code == 0
    assert "prod.env" in ir("search", "notes", "hunter2").out
    assert ir("config", "unset", "include_secrets").code == 0
    assert "1 removed" in ir("build", "notes").out
    assert "prod.env" not in ir("search", "notes", "hunter2").out


@pytest.mark.parametrize("words", [["search"], ["search", "--explain"], ["discover", "-d", "body"], ["discover"]])
def test_keys_in_texts_are_printed_as_stars(ir: Ir, secretive: Path, words: list[str]) -> None:
    command, *options = words
    for more in ([], ["--json"]):
        done = ir(command, "notes", "deploy token", *options, *more)
        assert STARS in done.out
        assert TOKEN not in done.out + done.err


def test_the_place_and_the_marks_are_those_of_the_text(ir: Ir, secretive: Path) -> None:
    found = ir("search", "notes", "deploy token", "--json").json["found"][0]
    assert found["line"] == 3
    marked = {found["excerpt"][start:end].lower() for start, end in found["marks"]}
    assert marked <= {"deploy", "token"}


def test_a_setting_prints_them(ir: Ir, secretive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_MASK_SECRETS", "false")
    assert TOKEN in ir("search", "notes", "deploy token").out
    assert TOKEN in ir("discover", "notes", "deploy token", "-d", "body", "--json").out


def test_a_file_of_secrets_that_is_named_itself_is_refused_in_words(ir: Ir, secretive: Path) -> None:
    done = ir("search", "notes/prod.env", "password")
    assert done.code == 1
    assert "may hold secrets" in done.err
