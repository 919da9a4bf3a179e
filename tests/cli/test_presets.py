"""Presets on a fresh machine: they are listed, built by their name, hidden by `ir rm`, and give way to folders."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ir = Callable[..., Any]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with one skill, and a current folder that is empty."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    skill = tmp_path / "home" / ".claude" / "skills" / "brew" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: brew\ndescription: Brews tea.\n---\nBoil water.\n")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "home"


def test_presets_are_listed_and_built_without_being_registered(ir: Ir, home: Path) -> None:
    fresh = ir("ls")
    assert (fresh.code, fresh.out) == (0, "")
    assert "skills, packages, reports, sessions" in fresh.err
    assert ir("ls", "--json").json["presets"] == ["skills", "packages", "reports", "sessions"]
    assert ir("build", "skills").code == 0
    listed = ir("ls")
    assert listed.out.splitlines()[1].startswith("skills\t1\t")
    assert str(home / ".claude" / "skills") in listed.out
    assert "not built: packages, reports, sessions;" in listed.err
    assert ir("search", "skills", "tea").code == 0
    assert ir("maintain").out.splitlines()[1:] == ["skills\tcheck\tcurrent\tnothing is due"]


def test_the_first_build_of_a_preset_says_where_it_looked(ir: Ir, home: Path) -> None:
    empty = ir("build", "reports")
    assert empty.code == 0
    assert "from now on" not in empty.err
    (home / "shop" / "docs").mkdir(parents=True)
    (home / "shop" / "docs" / "plan.md").write_text("The plan.")
    os.chdir(home)
    built = ir("build", "reports")
    assert f"reports is from now on what is in {home}; elsewhere: ir register reports PATH --kind reports" in built.err
    os.chdir(home.parent / "here")
    again = ir("build", "reports")
    assert "1 unchanged" in again.out
    assert "from now on" not in again.err


def test_what_to_do_where_a_preset_finds_nothing(ir: Ir, home: Path) -> None:
    gone = ir("build", "sessions")
    assert gone.code == 3
    assert "ir register sessions PATH --kind sessions" in gone.err


def test_maintaining_everything_builds_no_preset_that_nobody_asked_for(ir: Ir, home: Path) -> None:
    assert ir("maintain").out == ""
    assert ir("maintain", "skills").out.splitlines()[1:] == ["skills\tbuild\tdone\t1 added"]
    assert [item["corpus"] for item in ir("maintain", "--json").json["results"]] == ["skills"]


def test_a_preset_that_was_removed_stays_hidden_until_it_is_asked_for(ir: Ir, home: Path) -> None:
    gone = ir("rm", "sessions", "--yes")
    assert gone.code == 0
    assert "ir build sessions brings it back" in gone.err
    assert "sessions" not in ir("ls").err
    assert ir("rm", "sessions", "--yes").code == 3
    ir("build", "skills")
    ir("rm", "skills", "--yes")
    assert ir("ls", "--json").json == {"corpora": [], "presets": ["packages", "reports"]}
    assert ir("build", "skills").code == 0
    assert [item["name"] for item in ir("ls", "--json").json["corpora"]] == ["skills"]


def test_a_folder_that_is_called_as_a_preset_is_searched_until_the_preset_is_a_corpus(ir: Ir, home: Path) -> None:
    folder = Path("skills")
    folder.mkdir()
    (folder / "oil.md").write_text("Oil the chain.")
    found = ir("search", "skills", "chain", "--json")
    assert [item["artifact_id"] for item in found.json["found"]] == ["oil.md"]
    assert "ir register skills --kind skills" in found.err
    again = ir("search", "skills", "chain")
    assert "--kind skills" not in again.err
    assert ir("register", "skills", "--kind", "skills").code == 0
    assert ir("build", "skills").code == 0
    assert ir("search", "skills", "tea", "--json").json["found"][0]["artifact_id"] == "brew"
    assert ir("search", "./skills", "chain", "--json").json["found"][0]["artifact_id"] == "oil.md"


def test_removing_by_the_name_of_a_folder_takes_what_was_built_of_it_first(ir: Ir, home: Path) -> None:
    Path("skills").mkdir()
    (Path("skills") / "oil.md").write_text("Oil the chain.")
    ir("search", "skills", "chain")
    assert ir("rm", "skills", "--yes").code == 0
    assert ir("ls", "--json").json["presets"][0] == "skills"
    assert ir("rm", "skills", "--yes").code == 0
    assert "skills" not in ir("ls", "--json").json["presets"]
