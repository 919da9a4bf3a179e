"""A branch that is not checked out can be asked like the one that is."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.branches.conftest import Repo
from tests.branches.programs import PROGRAM, Counting, calls, source_of, state

import ir
from ir.errors import InvalidInput, SourceError
from ir.index.branches import branch_corpus, branches_of
from ir.sources import CorpusSource
from ir.store import CorpusStore, LocalStore

Make = Callable[..., Repo]


@pytest.fixture(params=["memory", "local"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    with CorpusStore.memory() if request.param == "memory" else LocalStore(tmp_path / "corpus") as made:
        yield made


def ids(corpus: ir.Corpus) -> list[str]:
    return sorted(str(name) for (name,) in corpus.store.ledger_fields("artifact_id"))


def branched(repository: Make, changes: dict[str, Any], files: dict[str, Any] | None = None) -> Repo:
    """A repository with a branch ``x`` that has some changes, and ``main`` checked out; all files are old."""
    repo = repository(PROGRAM if files is None else files)
    repo.git("checkout", "-q", "-b", "x")
    repo.commit(changes)
    repo.git("checkout", "-q", "main")
    repo.age()
    repo.git("update-index", "-q", "--refresh")
    return repo


def test_a_branch_shows_its_own_files_and_links(repository: Make, store: Any) -> None:
    pytest.importorskip("tree_sitter")
    changes = {"pkg/a.py": PROGRAM["pkg/a.py"].replace("def run", "def begin"), "new.py": "def fresh(): pass\n"}
    repo = branched(repository, {**changes, "web/b.js": None})
    corpus = ir.build(source_of(repo.root), store=store)
    version = store.content_version
    view = branch_corpus(corpus, "x")
    assert ids(view) == sorted([*PROGRAM.keys() - {"web/b.js"}, "new.py"])
    assert view.search("fresh")[0].artifact_id == "new.py"
    assert "main.py/main(). -> pkg/a.py/run()." in calls(corpus)
    assert not any(link.startswith("main.py/") and "pkg/a.py/begin" in link for link in calls(view))
    assert not any("pkg/a.py/run" in link for link in calls(view)), "a caller in an unchanged file leads nowhere now"
    assert "new.py" not in ids(corpus)
    assert store.content_version == version
    assert repo.git("status", "--porcelain") == ""


def test_nothing_that_is_equal_is_embedded_again(repository: Make, store: Any) -> None:
    moved = "The pump is primed before the first start.\n"
    repo = branched(
        repository, {"new.md": "A word about tea.\n", "moved.md": moved, "old.md": None}, {**PROGRAM, "old.md": moved}
    )
    model = Counting()
    options = {"embedder": model, "strategy": ir.Chunked()}
    corpus = ir.build(source_of(repo.root, **options), store=store)
    model.taken()
    view = branch_corpus(corpus, "x")
    assert [text.strip() for text in model.taken()] == ["A word about tea."]
    assert "moved.md" in ids(view)
    repo.git("checkout", "-q", "x")
    repo.commit({"old.md": moved, "more.md": "A word about bread.\n"})
    repo.git("checkout", "-q", "main")
    branch_corpus(corpus, "x")
    assert [text.strip() for text in model.taken()] == ["A word about bread."]
    branch_corpus(corpus, "x")
    assert model.taken() == []


def test_a_branch_that_moved_is_read_again_and_only_then(repository: Make, store: Any) -> None:
    repo = branched(repository, {"new.py": "def fresh(): pass\n"})
    corpus = ir.build(source_of(repo.root, strategy=ir.Chunked()), store=store)
    view = branch_corpus(corpus, "x")
    version = view.store.version
    assert branch_corpus(corpus, "x") is view
    assert view.store.version == version
    repo.git("checkout", "-q", "x")
    repo.commit({"later.py": "def later(): pass\n"})
    repo.git("checkout", "-q", "main")
    assert "later.py" in ids(branch_corpus(corpus, "x"))


def test_the_checked_out_branch_is_the_corpus_itself(repository: Make, store: Any) -> None:
    repo = repository(PROGRAM)
    repo.write({"draft.md": "Not committed yet.\n"})
    corpus = ir.build(source_of(repo.root, strategy=ir.Chunked()), store=store)
    assert branch_corpus(corpus, "main") is corpus
    assert branch_corpus(corpus, None) is corpus
    assert "draft.md" in ids(corpus)
    assert "draft.md" not in ids(branch_corpus(corpus, "HEAD"))


def test_what_is_not_committed_is_on_no_other_branch(repository: Make, store: Any) -> None:
    repo = branched(repository, {"new.md": "On the branch.\n"})
    repo.write({"draft.md": "Not committed yet.\n", "README.md": "Changed here.\n"})
    corpus = ir.build(source_of(repo.root, strategy=ir.Chunked()), store=store)
    view = branch_corpus(corpus, "x")
    assert "draft.md" not in ids(view)
    assert view.search("A program")[0].text.startswith("# A program")


def test_a_view_outlives_its_process_and_goes_by_gc(repository: Make, tmp_path: Path) -> None:
    repo = branched(repository, {"new.md": "On the branch.\n"})
    source = source_of(repo.root, strategy=ir.Chunked())
    with LocalStore(tmp_path / "corpus") as store:
        branch_corpus(ir.build(source, store=store), "x")
    with LocalStore(tmp_path / "corpus") as store:
        corpus = ir.Corpus("program", store, Counting(), "light")
        view = branch_corpus(corpus, "x", source=source)
        assert "new.md" in ids(view)
        assert list(branches_of(store, "program")) == ["x"]
        view.store.close()
        (kept,) = [one for one in store.clean() if one.what == "branch"]
        assert "lately" in kept.kept
        folder = tmp_path / "corpus" / "branches" / "x"
        os.utime(folder, (1, 1))
        (gone,) = [one for one in store.clean() if one.what == "branch"]
        assert not gone.kept
        assert not folder.exists()
        assert len(store) == len(corpus)


def test_a_view_that_was_removed_meanwhile_is_made_again(repository: Make, tmp_path: Path) -> None:
    repo = branched(repository, {"new.md": "On the branch.\n"})
    with LocalStore(tmp_path / "corpus") as store:
        corpus = ir.build(source_of(repo.root, strategy=ir.Chunked()), store=store)
        branch_corpus(corpus, "x").store.close()
        assert not any(one.kept for one in store.clean(compact=True) if one.what == "branch")
        assert not (tmp_path / "corpus" / "branches" / "x").exists()
        assert "new.md" in ids(branch_corpus(corpus, "x"))


def test_a_view_is_made_anew_if_it_is_damaged(repository: Make, tmp_path: Path) -> None:
    repo = branched(repository, {"new.md": "On the branch.\n"})
    source = source_of(repo.root, strategy=ir.Chunked())
    with LocalStore(tmp_path / "corpus") as store:
        branch_corpus(ir.build(source, store=store), "x").store.close()
        (tmp_path / "corpus" / "branches" / "x" / "corpus.db").write_bytes(b"not a database" * 1000)
    with LocalStore(tmp_path / "corpus") as store:
        corpus = ir.Corpus("program", store, Counting(), "light")
        assert "new.md" in ids(branch_corpus(corpus, "x", source=source))


def test_a_corpus_of_a_subfolder_has_branches_too(repository: Make, store: Any) -> None:
    repo = branched(repository, {"pkg/more.py": "def more(): pass\n", ".gitignore": "b.py\n", "top.md": "no\n"})
    corpus = ir.build(source_of(repo.root / "pkg", strategy=ir.Chunked()), store=store)
    assert ids(branch_corpus(corpus, "x")) == ["__init__.py", "a.py", "more.py"]


def test_a_branch_of_a_remote_is_found_by_its_name(repository: Make, tmp_path: Path, store: Any) -> None:
    repo = branched(repository, {"new.md": "On the branch.\n"})
    clone = Repo(tmp_path / "clone")
    clone.git("clone", "-q", str(repo.root), ".")
    corpus = ir.build(source_of(clone.root, strategy=ir.Chunked()), store=store)
    assert "new.md" in ids(branch_corpus(corpus, "origin/x"))
    assert "new.md" in ids(branch_corpus(corpus, "x"))


def test_a_detached_head_is_no_branch(repository: Make, store: Any) -> None:
    repo = branched(repository, {"new.md": "On the branch.\n"})
    repo.git("checkout", "-q", "--detach")
    corpus = ir.build(source_of(repo.root, strategy=ir.Chunked()), store=store)
    assert store.get_config()["git"]["branch"] is None
    assert "new.md" in ids(branch_corpus(corpus, "x"))
    assert "new.md" not in ids(branch_corpus(corpus, "main"))


def test_a_view_follows_the_model_of_its_corpus(repository: Make, tmp_path: Path) -> None:
    repo = branched(repository, {"new.md": "On the branch.\n"})
    model = Counting()
    source = source_of(repo.root, strategy=ir.Chunked())
    with LocalStore(tmp_path / "corpus") as store:
        corpus = ir.build(source, store=store)
        branch_corpus(corpus, "x")
        moved = ir.build(source, store=store, embedder=model)
        model.taken()
        view = branch_corpus(moved, "x")
        assert view.embedder_id == moved.embedder_id != corpus.embedder_id
        assert len(model.taken()) == 1
        assert "new.md" in ids(view)


@pytest.mark.parametrize(
    "name", ["--upload-pack=touch pwned", "-x", "..", "@{-1}", "x^", "x:README.md", "", "a\nb", "é"]
)
def test_a_name_that_is_no_branch_is_refused_with_those_that_are(repository: Make, name: str) -> None:
    repo = branched(repository, {"new.md": "On the branch.\n"})
    corpus = ir.build(source_of(repo.root, strategy=ir.Chunked()), store=CorpusStore.memory())
    with pytest.raises(InvalidInput, match="main"):
        branch_corpus(corpus, name)
    assert not (repo.root / "pwned").exists()


def test_the_nearest_name_comes_first(repository: Make) -> None:
    repo = branched(repository, {"new.md": "On the branch.\n"})
    repo.git("branch", "feature/tea")
    corpus = ir.build(source_of(repo.root, strategy=ir.Chunked()), store=CorpusStore.memory())
    with pytest.raises(InvalidInput, match="The branches are: feature/tea, "):
        branch_corpus(corpus, "feature/te")


def test_a_folder_outside_of_git_says_so(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("A note.\n")
    corpus = ir.build(source_of(tmp_path / "notes"), store=CorpusStore.memory())
    assert "git" not in corpus.store.get_config()
    with pytest.raises(InvalidInput, match="not in a git repository"):
        branch_corpus(corpus, "x")


def test_a_bare_repository_says_so(repository: Make, tmp_path: Path) -> None:
    repo = repository(PROGRAM)
    repo.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    corpus = ir.build(source_of(repo.root, strategy=ir.Chunked()), store=CorpusStore.memory())
    with pytest.raises(InvalidInput, match="bare"):
        branch_corpus(corpus, "main", source=source_of(tmp_path / "bare.git"))


def test_a_corpus_that_is_not_of_files_has_no_branches() -> None:
    source = CorpusSource.from_mapping({"a": "one"}, name="numbers", embedder="light")
    corpus = ir.build(source, store=CorpusStore.memory())
    with pytest.raises(InvalidInput, match="not made of the files"):
        branch_corpus(corpus, "main")


def test_without_git_a_build_goes_on_and_a_branch_says_what_is_missing(
    repository: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    repo = branched(repository, {"new.md": "On the branch.\n"})
    monkeypatch.setenv("PATH", str(tmp_path))
    corpus = ir.build(source_of(repo.root, strategy=ir.Chunked()), store=CorpusStore.memory())
    assert corpus.store.get_config()["git"]["dirty"] is None, "nobody could tell"
    with pytest.raises(SourceError, match="git is not installed"):
        branch_corpus(corpus, "x")


def test_a_repository_without_a_commit_is_built(repository: Make) -> None:
    repo = repository()
    repo.write({"a.md": "A note.\n"})
    corpus = ir.build(source_of(repo.root, strategy=ir.Chunked()), store=CorpusStore.memory())
    assert corpus.store.get_config()["git"]["commit"] is None
    with pytest.raises(InvalidInput, match="no commit yet"):
        branch_corpus(corpus, "HEAD")
    with pytest.raises(InvalidInput, match="no branch with a commit"):
        branch_corpus(corpus, "main2")


def test_a_shallow_clone_says_that_it_may_lack_branches(repository: Make, tmp_path: Path) -> None:
    repo = branched(repository, {"new.md": "On the branch.\n"})
    clone = Repo(tmp_path / "clone")
    clone.git("clone", "-q", "--depth=1", f"file://{repo.root}", ".")
    corpus = ir.build(source_of(clone.root, strategy=ir.Chunked()), store=CorpusStore.memory())
    with pytest.raises(InvalidInput, match="shallow"):
        branch_corpus(corpus, "x")


def test_a_damaged_repository_leaves_nothing_half_done(repository: Make, store: Any) -> None:
    repo = branched(repository, {"new.md": "On the branch.\n"})
    corpus = ir.build(source_of(repo.root, strategy=ir.Chunked()), store=store)
    oid = repo.git("rev-parse", "x:new.md")
    (repo.root / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    for _ in range(2):
        with pytest.raises(SourceError, match="git cannot read"):
            branch_corpus(corpus, "x")
    assert len(corpus.search("program")) > 0


def test_a_branch_that_was_never_fetched_is_not_fetched_now(repository: Make, tmp_path: Path, store: Any) -> None:
    repo = branched(repository, {"new.md": "On the branch.\n"})
    repo.git("branch", "same", "main")
    repo.git("config", "uploadpack.allowFilter", "true")
    clone = Repo(tmp_path / "clone")
    clone.git("clone", "-q", "--filter=blob:none", f"file://{repo.root}", ".")
    corpus = ir.build(source_of(clone.root, strategy=ir.Chunked()), store=store)
    assert ids(branch_corpus(corpus, "same")) == ids(corpus)
    with pytest.raises(SourceError, match="never fetched"):
        branch_corpus(corpus, "x")


def test_git_s_own_files_may_be_damaged(repository: Make, store: Any) -> None:
    repo = branched(repository, {"new.md": "On the branch.\n"})
    (repo.root / ".git" / "index").write_bytes(b"garbage")
    corpus = ir.build(source_of(repo.root, strategy=ir.Chunked()), store=store)
    assert store.get_config()["git"]["dirty"] is None
    assert "new.md" in ids(branch_corpus(corpus, "x"))
    (repo.root / ".git" / "HEAD").write_bytes(b"garbage")
    assert ir.build(source_of(repo.root, strategy=ir.Chunked()), store=store).report.unchanged  # type: ignore[union-attr]
    with pytest.raises(SourceError, match="git cannot read the repository"):
        branch_corpus(corpus, "x")


def test_a_branch_that_differs_in_too_much_is_refused_where_nobody_can_wait(repository: Make, store: Any) -> None:
    repo = branched(repository, {f"{number}.md": f"Page {number}.\n" for number in range(9)})
    corpus = ir.build(source_of(repo.root, strategy=ir.Chunked()), store=store)
    with pytest.raises(InvalidInput, match="differs in 9 files"):
        branch_corpus(corpus, "x", most=5)
    assert "8.md" in ids(branch_corpus(corpus, "x"))


def test_a_file_that_becomes_binary_on_a_branch_is_gone_there(repository: Make, store: Any) -> None:
    repo = branched(repository, {"README.md": b"\0\1\2\3" * 100})
    corpus = ir.build(source_of(repo.root, strategy=ir.Chunked()), store=store)
    assert "README.md" not in ids(branch_corpus(corpus, "x"))


def test_views_hold_what_a_checkout_holds(repository: Make, tmp_path: Path, store: Any) -> None:
    """All that is odd in one tree: links, names, ignored and huge files, pointers, hidden folders, a submodule."""
    other = repository({"inner.md": "A repository of its own.\n"}, name="other")
    repo = repository(PROGRAM)
    repo.git("checkout", "-q", "-b", "x")
    repo.write(
        {
            'quote"d.md': "Quoted.\n",
            "new\nline.md": "A name of two lines.\n",
            "é.md": "An accent.\n",
            "readme.MD": "Another case.\n",
            "ignored/a.md": "Ignored.\n",
            "sub/.gitignore": "*.log\n!kept.log\n",
            "sub/a.log": "Ignored.\n",
            "sub/kept.log": "Kept.\n",
            ".irignore": "secret-plan.md\n",
            "secret-plan.md": "Ours to ignore.\n",
            ".gitignore": "ignored/\n",
            ".hidden/a.md": "Hidden.\n",
            "venv/pyvenv.cfg": "home = here\n",
            "venv/a.py": "x = 1\n",
            "node_modules/a.js": "x\n",
            "huge.md": "word " * 3000,
            "big.bin.md": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n",
            "latin.md": "Grüße aus Köln, schöne Grüße an alle Löwen.\n".encode("latin-1"),
            ".env": "TOKEN=abc\n",
            "yarn.lock": "x\n",
            ".gitattributes": "*.md filter=danger\n",
            "deep/er/target.md": "Linked to.\n",
        }
    )
    links = {
        "link.md": "deep/er/target.md",
        "sub/folder": "../deep/er",
        "sub/through.md": "folder/target.md",
        "out.md": "/etc/hostname",
        "up.md": "../../elsewhere.md",
        "dangling.md": "nowhere.md",
        "loop1.md": "loop2.md",
        "loop2.md": "loop1.md",
        "absolute.md": str(repo.root / "README.md"),
    }
    for name, target in links.items():
        (repo.root / name).symlink_to(target)
    (tmp_path / "elsewhere.md").write_text("Out of reach.\n")
    with open(os.fsencode(repo.root) + b"/byte\xff.md", "w") as file:
        file.write("Not UTF-8.\n")
    repo.git("add", "-A", "-f")
    repo.git("submodule", "add", "-q", str(other.root), "module")
    repo.commit()
    options = {"max_bytes": 10_000, "strategy": ir.Chunked()}
    with CorpusStore.memory() as fresh:
        full = ir.build(source_of(repo.root, exclude=lambda path: path.startswith("module/"), **options), store=fresh)
        assert "link.md" in ids(full)
        repo.git("checkout", "-q", "main")
        shutil.rmtree(repo.root / "module", ignore_errors=True)
        repo.git("config", "filter.danger.smudge", f"touch {tmp_path}/ran")
        repo.git("config", "filter.danger.clean", f"touch {tmp_path}/ran")
        repo.git("config", "core.fsmonitor", f"touch {tmp_path}/ran")
        repo.age()
        corpus = ir.build(source_of(repo.root, **options), store=store)
        view = branch_corpus(corpus, "x")
        assert ids(view) == ids(full)
        assert list(state(view.store)) == list(state(fresh))
        said = {one.id: one.reason for one in view.report.skipped} if view.report else {}
        assert "link leads out" in said["out.md"]
    assert not (tmp_path / "ran").exists(), "no program that a repository names is run"
    assert said["module/"].startswith("a submodule")
    assert "LFS" in said["big.bin.md"]
    assert "larger than" in said["huge.md"]


def test_a_file_that_git_was_told_not_to_look_at_is_read_for_another_branch(repository: Make, store: Any) -> None:
    repo = branched(repository, {"new.md": "On the branch.\n"})
    repo.git("update-index", "--assume-unchanged", "README.md")
    repo.write({"README.md": "Changed here, and git is not to know.\n"})
    repo.age()
    corpus = ir.build(source_of(repo.root, strategy=ir.Chunked()), store=store)
    view = branch_corpus(corpus, "x")
    assert view.search("program")[0].text.startswith("# A program")


def test_a_function_that_chooses_files_is_asked_again(repository: Make, store: Any) -> None:
    repo = branched(repository, {"new.md": "On the branch.\n"})
    left_out: set[str] = set()
    source = source_of(repo.root, strategy=ir.Chunked(), exclude=lambda path: path in left_out)
    corpus = ir.build(source, store=store)
    assert "new.md" in ids(branch_corpus(corpus, "x"))
    left_out.add("new.md")
    assert "new.md" not in ids(branch_corpus(corpus, "x"))


def test_threads_that_ask_at_once_get_the_same_view(repository: Make, store: Any) -> None:
    repo = branched(repository, {"new.md": "On the branch.\n"})
    model = Counting()
    corpus = ir.build(source_of(repo.root, strategy=ir.Chunked(), embedder=model), store=store)
    model.taken()
    with ThreadPoolExecutor(4) as threads:
        views = list(threads.map(lambda _: branch_corpus(corpus, "x"), range(8)))
    assert all(view is views[0] for view in views)
    assert len(model.taken()) == 1


def test_processes_that_ask_at_once_make_one_view(repository: Make, tmp_path: Path) -> None:
    """Two stores of one folder are as apart as two processes."""
    repo = branched(repository, {"new.md": "On the branch.\n"})
    source = source_of(repo.root, strategy=ir.Chunked())
    with LocalStore(tmp_path / "corpus") as one, LocalStore(tmp_path / "corpus") as other:
        corpora = [ir.build(source, store=one), ir.Corpus("program", other, Counting(), "light")]
        with ThreadPoolExecutor(2) as threads:
            views = list(threads.map(lambda corpus: branch_corpus(corpus, "x", source=source), corpora))
        assert views[0].store.version == views[1].store.version
        assert "new.md" in ids(views[0])


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_repository_of_another_user_says_whose_it_is(repository: Make) -> None:
    repo = branched(repository, {"new.md": "On the branch.\n"})
    for path in (repo.root, repo.root / ".git"):
        os.chown(path, 12345, 12345)
    corpus = ir.build(source_of(repo.root, strategy=ir.Chunked()), store=CorpusStore.memory())
    with pytest.raises(SourceError, match="belongs to another user") as caught:
        branch_corpus(corpus, "x")
    assert "safe.directory" in str(caught.value)
