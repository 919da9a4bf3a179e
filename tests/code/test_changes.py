"""What a git diff may break: edited, renamed, moved, deleted and new definitions, and where there is no diff."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.code.test_relations import built

from ir import operations
from ir.cli.main import run
from ir.errors import InvalidInput

pytest.importorskip("tree_sitter_python")
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

CORE = "LIMIT = 3\n\n\ndef load(path):\n    return open(path)\n\n\ndef save(path):\n    return path\n"
USER = "from core import load, save\n\n\ndef sync():\n    save(load('a'))\n\n\ndef read():\n    return load('b')\n"
TEST = "from user import sync\n\n\ndef test_sync():\n    sync()\n"


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Path]:
    """A repository with one commit; its folder `code` is the corpus `program`."""
    folder = tmp_path / "repository" / "code"
    (folder / "tests").mkdir(parents=True)
    (folder / "core.py").write_text(CORE)
    (folder / "user.py").write_text(USER)
    (folder / "tests" / "test_user.py").write_text(TEST)
    (folder.parent / "outside.py").write_text("def outside():\n    pass\n")
    git(folder.parent, "init", "-q")
    git(folder.parent, "add", ".")
    git(folder.parent, "commit", "-qm", "one")
    built(folder)
    yield folder
    operations.close()


def impact(**arguments: Any) -> tuple[dict[str, str | None], dict[str, str], list[str], Any]:
    """What changed, what else is affected and how that is known, the tests affected, and the whole answer."""
    told = operations.impact(target="program", **{"diff": "HEAD", **arguments})
    changed = {one.name: one.change for one in told.definitions}
    return changed, {one.name: one.resolution for one in told.found}, [one.name for one in told.tests], told


def test_nothing_changed(repository: Path) -> None:
    _, found, _, told = impact()
    assert (found, told.reason) == ({}, "no_changes")


def test_an_edit_affects_its_callers_and_their_tests(repository: Path) -> None:
    (repository / "core.py").write_text("# moved down\n\n" + CORE.replace("return path", "return str(path)"))
    changed, found, tests, told = impact()
    assert changed == {"save": "changed"}
    assert found["sync"] == "exact"
    assert "read" not in found
    assert tests == ["test_sync"]
    assert any("outside of definitions" in note and "core.py" in note for note in told.notes)


def test_lines_that_moved_are_no_change(repository: Path) -> None:
    (repository / "core.py").write_text(CORE.replace("LIMIT = 3\n\n\n", "LIMIT = 3\n\n\n\n\n"))
    assert impact()[0] == {}


@pytest.mark.parametrize("rebuilt", [False, True])
def test_a_renamed_function_leaves_its_callers_behind(repository: Path, rebuilt: bool) -> None:
    (repository / "core.py").write_text(CORE.replace("def load", "def fetch"))
    if rebuilt:
        built(repository)
    changed, found, _, _ = impact(depth=1)
    assert changed == {"load": "gone", "fetch": "changed" if rebuilt else "new"}
    # An index from before still has the links; one from after has the name alone.
    assert found["read"] == ("name-only" if rebuilt else "exact")
    assert "sync" in found


def test_a_deleted_file_and_a_moved_one(repository: Path) -> None:
    git(repository, "mv", "core.py", "centre.py")
    built(repository)
    changed, found, _, _ = impact(depth=1)
    assert changed["load"] == "gone"
    assert {"sync", "read"} <= found.keys()
    git(repository, "rm", "-qf", "centre.py")
    built(repository)
    changed, found, _, _ = impact(depth=1)
    assert changed == {"load": "gone", "save": "gone"}
    assert {"sync", "read"} <= found.keys()


def test_new_files_count_before_git_knows_them(repository: Path) -> None:
    (repository / "fresh.py").write_text("def fresh():\n    pass\n")
    (repository / "notes.txt").write_text("Tea.\n")
    changed, found, _, told = impact()
    assert (changed, found) == ({"fresh": "new"}, {})
    assert told.reason == "unused"
    assert any("notes.txt" in note for note in told.notes)


def test_an_older_revision_and_what_is_outside_of_the_corpus(repository: Path) -> None:
    (repository / "core.py").write_text(CORE.replace("open(path)", "open(path, 'rb')"))
    (repository.parent / "outside.py").write_text("def outside():\n    return 1\n")
    git(repository.parent, "commit", "-qam", "two")
    built(repository)
    assert impact()[0] == {}
    git(repository.parent, "tag", "-a", "v2", "-m", "two")
    first = subprocess.run(
        ["git", "rev-parse", "HEAD~1"], cwd=repository, capture_output=True, text=True
    ).stdout.strip()
    for word in ("HEAD~1", "HEAD^", "@~", "v2~1", first, first[:8]):
        assert impact(diff=word)[0] == {"load": "changed"}, word
    assert impact(diff="v2")[0] == {}


@pytest.mark.parametrize(
    "word", ["nonsense", "--output=x", "-h", "HEAD:core.py", "a\0b", "HEAD..HEAD", "$(true)", "@{x"]
)
def test_what_is_no_commit_is_refused(repository: Path, word: str) -> None:
    with pytest.raises(InvalidInput, match="knows no commit"):
        impact(diff=word)
    assert not (repository / "x").exists()


def test_where_there_is_no_repository(tmp_path: Path, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(repository.parent / ".git")
    with pytest.raises(InvalidInput, match="not in the work tree of a git repository"):
        impact()
    assert run(["impact", "program", "--diff"]) == 2
    assert "not in the work tree" in capsys.readouterr().err
    git(repository.parent, "init", "-q")
    with pytest.raises(InvalidInput, match="no commit yet"):
        impact()


def test_the_command_takes_a_diff_with_and_without_a_revision(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "core.py").write_text(CORE.replace("return path", "return str(path)"))
    for words in (["--diff"], ["--diff", "HEAD"], ["--diff", "-k", "5"]):
        assert run(["impact", "program", *words]) == 0
        assert "user.py:5: sync (calls, exact)" in capsys.readouterr().out
    assert run(["impact", "program", "load", "--diff"]) == 2
    assert run(["impact"]) == 2
    assert "--diff" in capsys.readouterr().err
