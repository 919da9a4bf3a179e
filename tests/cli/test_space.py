"""``ir space`` and ``--workspace``."""

from __future__ import annotations

from pathlib import Path

from .conftest import Ir


def test_the_spaces_of_a_corpus_are_shown(ir: Ir, notes: Path) -> None:
    ir("build", "notes")
    shown = ir("space", "ls", "notes", "--json").json
    assert [(one["name"], one["default"], one["missing"]) for one in shown["spaces"]] == [("main", True, 0)]
    assert "main (default)" in ir("space", "ls", "notes").out


def test_what_is_wrong_with_a_space_is_said(ir: Ir, notes: Path) -> None:
    ir("build", "notes")
    for words, complaint in (
        (("add", "notes", "second"), "needs an embedder"),
        (("add", "notes"), "needs the name of a space"),
        (("ls", "notes", "main"), "takes no name"),
        (("use", "notes", "nobody"), "no space 'nobody'"),
        (("drop", "notes", "main"), "is the default one"),
        (("grow", "notes"), "ls"),
    ):
        done = ir("space", *words)
        assert done.code == 2, words
        assert complaint in done.err


def test_a_second_space_is_added_used_and_the_first_dropped(ir: Ir, notes: Path) -> None:
    ir("build", "notes")
    records = ir("info", "notes", "--json").json["records"]
    added = ir("space", "add", "notes", "again", "--embedder", "light", "--json").json
    assert added["embedded"] == records
    before = ir("info", "notes", "--json").json
    assert before["spaces"] == ["again", "main"]
    assert ir("space", "use", "notes", "again").code == 0
    assert ir("space", "drop", "notes", "main").code == 0
    after = ir("info", "notes", "--json").json
    assert after["spaces"] == ["again"]
    assert after["content_version"] != before["content_version"]
    assert ir("search", "notes", "green tea").code == 0
    unchanged = ir("build", "notes", "--json").json
    assert (unchanged["added"], unchanged["changed"], unchanged["embedded"]) == (0, 0, 0)


def test_a_workspace_has_its_own_corpora(ir: Ir, notes: Path) -> None:
    ir("build", "notes")
    here = ir("ls", "--json").json["corpora"]
    there = ir("--workspace", "team-a", "ls", "--json").json["corpora"]
    assert (len(here), there) == (1, [])
    built = ir("--workspace", "team-a", "build", "notes")
    assert built.code == 0
    info = ir("--workspace", "team-a", "info", "notes", "--json").json
    assert info["workspace"] == "team-a"
    assert info["content_version"] == ir("info", "notes", "--json").json["content_version"]
    assert ir("--workspace", "Team A", "ls").code == 2
