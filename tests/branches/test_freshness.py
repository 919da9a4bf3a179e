"""An index says how far it is from what is checked out, and from the files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.branches.conftest import Repo

from ir.app.building import BuildRequest, build
from ir.app.session import Session
from ir.cli.main import run

Make = Callable[..., Repo]


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_REFRESH_SCAN_MS", "60000")
    monkeypatch.setenv("IR_EMBEDDER", "light")


@pytest.fixture
def repo(repository: Make) -> Repo:
    made = repository({"tea.md": "Green tea.\n", "bread.md": "Rye bread.\n"})
    made.age()
    return made


def built(repo: Repo) -> str:
    return build(BuildRequest(str(repo.root), embedder="light")).corpus


def told(corpus: str) -> tuple[str, bool | None]:
    """What `info` and `status --check` say, which is the same; and whether that is stale."""
    with Session() as session:
        (status,) = session.call("status", {"target": corpus, "check": True}).corpora
        assert session.call("info", {"target": corpus}).freshness == status.changes
    return status.changes, status.stale


def test_an_index_that_is_up_to_date_says_so(repo: Repo) -> None:
    assert told(built(repo)) == ("at HEAD; nothing changed.", False)


def test_changed_files_are_counted(repo: Repo) -> None:
    corpus = built(repo)
    repo.write({"tea.md": "Black tea, and more of it.\n"})
    assert told(corpus) == ("at HEAD; 1 file changed.", True)


def test_commits_are_counted_after_a_pull(repo: Repo, tmp_path: Path) -> None:
    clone = Repo(tmp_path / "clone")
    clone.git("clone", "-q", str(repo.root), ".")
    clone.age()
    corpus = built(clone)
    for number in range(3):
        repo.commit({f"{number}.md": f"Page {number}.\n"})
    assert told(corpus) == ("at HEAD; nothing changed.", False)
    clone.git("pull", "-q")
    assert told(corpus) == ("3 commits behind HEAD; 3 files changed.", True)


def test_a_checkout_and_a_merge_are_seen(repo: Repo) -> None:
    corpus = built(repo)
    repo.git("checkout", "-q", "-b", "x")
    repo.commit({"new.md": "On the branch.\n"})
    assert told(corpus) == ("1 commit behind HEAD (indexed on main, HEAD is on x); 1 file changed.", True)
    repo.git("checkout", "-q", "main")
    assert told(corpus) == ("at HEAD; nothing changed.", False)
    repo.git("merge", "-q", "--no-ff", "--no-edit", "x")
    assert told(corpus) == ("2 commits behind HEAD; 1 file changed.", True)


def test_an_older_commit_and_a_detached_head_are_seen(repo: Repo) -> None:
    first = repo.git("rev-parse", "HEAD")
    repo.commit({"new.md": "A second commit.\n"})
    repo.age()
    corpus = built(repo)
    repo.git("checkout", "-q", "--detach", first)
    assert told(corpus) == ("1 commit ahead of HEAD (indexed on main, HEAD is detached); 1 file changed.", True)


def test_a_rebase_is_seen(repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "x")
    repo.commit({"new.md": "On the branch.\n"})
    repo.age()
    corpus = built(repo)
    repo.git("checkout", "-q", "main")
    repo.commit({"tea.md": "Black tea, and more of it.\n"})
    repo.git("rebase", "-q", "main", "x")
    said, stale = told(corpus)
    assert said.startswith("2 commits behind and 1 commit ahead of HEAD; ")
    assert stale


def test_a_stash_is_seen(repo: Repo) -> None:
    repo.write({"tea.md": "Black tea, and more of it.\n"})
    repo.age()
    corpus = built(repo)
    with Session() as session:
        assert session.call("info", {"target": corpus}).git["dirty"] is True
    repo.git("stash", "-q")
    assert told(corpus) == ("at HEAD; 1 file changed.", True)


def test_a_commit_that_is_gone_is_told(repo: Repo) -> None:
    corpus = built(repo)
    repo.git("checkout", "-q", "--orphan", "fresh")
    repo.commit({"tea.md": "Black tea, and more of it.\n"})
    repo.git("branch", "-D", "main")
    repo.git("reflog", "expire", "--expire=all", "--all")
    repo.git("gc", "-q", "--prune=all")
    said, stale = told(corpus)
    assert "which has nothing to do with HEAD or is gone" in said
    assert stale


def test_a_file_that_was_written_just_now_is_read_to_tell(repo: Repo) -> None:
    repo.write({"tea.md": "Black.\n"})
    corpus = built(repo)
    assert told(corpus) == ("at HEAD; nothing changed.", False)
    repo.write({"tea.md": "White.\n"})
    assert told(corpus) == ("at HEAD; 1 file changed.", True)


def test_where_there_is_no_time_to_look_nothing_is_called_unchanged(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = built(repo)
    clock = SimpleNamespace(monotonic=iter(range(0, 10**9, 10**6)).__next__)
    monkeypatch.setattr("ir.index.refresh.time", clock)
    said, stale = told(corpus)
    assert said.startswith("at HEAD; looking for changes took more than")
    assert stale


def test_a_commit_of_what_is_indexed_leaves_nothing_to_do(repo: Repo) -> None:
    repo.write({"tea.md": "Black tea, and more of it.\n"})
    repo.age()
    corpus = built(repo)
    repo.commit()
    assert told(corpus) == ("1 commit behind HEAD; nothing changed.", False)
    run(["search", corpus, "tea"])  # looks for changes, finds none, and remembers that
    assert told(corpus) == ("at HEAD; nothing changed.", False)


def test_a_search_says_at_which_commit_its_index_is(repo: Repo) -> None:
    corpus = built(repo)
    commit = repo.git("rev-parse", "HEAD")
    with Session() as session:
        git = session.call("search", {"query": "tea", "target": corpus}).meta["git"]
        assert (git["commit"], git["branch"], git["dirty"], git["behind"]) == (commit, "main", False, 0)
        repo.commit({"new.md": "More.\n"})
        git = session.call("search", {"query": "tea", "target": corpus}).meta["git"]
        assert (git["commit"], git["head"], git["behind"]) == (commit, repo.git("rev-parse", "HEAD"), 1)
        assert git["told"] == "1 commit behind HEAD"


def test_outside_of_git_all_is_as_before(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("A note.\n")
    corpus = build(BuildRequest(str(tmp_path / "notes"), embedder="light")).corpus
    with Session() as session:
        found = session.call("info", {"target": corpus})
        assert (found.git, found.freshness) == (None, None)
        assert "git" not in session.call("search", {"query": "note", "target": corpus}).meta


def test_a_branch_is_searched_at_the_command_line(repo: Repo, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    repo.git("checkout", "-q", "-b", "x")
    repo.commit({"new.md": "Cocoa is on the branch.\n", "sub/deep.md": "Deep cocoa.\n", "tea.md": None})
    repo.git("checkout", "-q", "main")
    monkeypatch.chdir(repo.root)
    assert run(["search", "cocoa", "--branch", "x", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {one["artifact_id"] for one in found["found"]} == {"new.md", "sub/deep.md"}
    assert found["meta"]["git"]["branch"] == "x"
    assert found["meta"]["git"]["told"] == "as committed on x"
    assert run(["search", "cocoa", "--branch", "x", "-g", "sub/*.md", "--json"]) == 0
    assert [one["artifact_id"] for one in json.loads(capsys.readouterr().out)["found"]] == ["sub/deep.md"]
    assert run(["search", "cocoa", "--json"]) == 1
    capsys.readouterr()
    assert run(["search", "cocoa", "--branch", "y"]) != 0
    assert "The branches are: main, x" in " ".join(capsys.readouterr().err.split())
    assert run(["info", "."]) == 0
    assert "x (" in capsys.readouterr().out
