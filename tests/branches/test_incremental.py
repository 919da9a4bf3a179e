"""Whatever happens in a repository, a corpus and its branches hold what full builds of them would hold."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.branches.conftest import Repo
from tests.branches.programs import PROGRAM, source_of, state

import ir
from ir.index.branches import branch_corpus
from ir.protocols import Store
from ir.store import CorpusStore, LocalStore

pytest.importorskip("tree_sitter")

NAMES = ("run", "go", "stop", "build", "A", "B", "K", "halt", "start")
WORDS = ("def ", "class ", "function ")


class Walk:
    """A person at work in a repository, at random."""

    def __init__(self, repo: Repo, seed: int) -> None:
        self.repo = repo
        self.chance = random.Random(seed)
        self.done: list[str] = []

    def step(self) -> None:
        files = (self.edit, self.edit, self.rename, self.rename, self.move, self.delete, self.revert)
        chosen = self.chance.choice((*files, self.commit, self.commit, self.checkout, self.merge, self.stash))
        self.done.append(f"{chosen.__name__} {chosen() or ''}")

    def edit(self) -> str:
        path = self._file()
        path.write_text(f"\n{path.read_text()}" if self.chance.random() < 0.5 else f"{path.read_text()}\n")
        return path.name

    def rename(self) -> str:
        """A definition, and not those who use it."""
        path, name = self._file(), self.chance.choice(NAMES)
        text = path.read_text()
        for word in WORDS:
            text = text.replace(f"{word}{name}", f"{word}{name}{self.chance.choice('xyz')}", 1)
        path.write_text(text)
        return f"{path.name} {name}"

    def move(self) -> str:
        path = self._file()
        new = path.with_name(f"{self.chance.choice('uvw')}_{path.name}")
        path.rename(new)
        return f"{path.name} to {new.name}"

    def delete(self) -> str:
        path = self._file()
        path.unlink()
        return path.name

    def revert(self) -> str:
        back = self.chance.choice(sorted(PROGRAM))
        self.repo.write({back: PROGRAM[back]})
        return back

    def commit(self) -> None:
        self.repo.commit()

    def checkout(self) -> str:
        branch = self.chance.choice(("main", "one", "two"))
        self.repo.commit()
        self.repo.git("checkout", "-q", *([] if branch in self.branches() else ["-b"]), branch)
        return branch

    def merge(self) -> str:
        other = self.chance.choice(self.branches())
        self.repo.commit()
        self.repo.git("merge", "-q", "--no-edit", other, check=False)
        self.repo.git("merge", "--abort", check=False)
        return other

    def stash(self) -> None:
        self.repo.git("stash", "-q", check=False)
        if self.chance.random() < 0.5:
            self.repo.git("stash", "pop", "-q", check=False)
            self.repo.git("checkout", "-q", "--theirs", ".", check=False)
            self.repo.git("reset", "-q", check=False)

    def branches(self) -> list[str]:
        return self.repo.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split()

    def _file(self) -> Path:
        files = [path for path in self.repo.root.rglob("*.*") if ".git" not in path.parts and path.is_file()]
        if len(files) < 3:
            self.repo.write(PROGRAM)
            return self.repo.root / "main.py"
        return self.chance.choice(sorted(files))


def steps(walk: Walk, store: Store, oracle: Repo, number: int) -> None:
    corpus = ir.build(source_of(walk.repo.root), store=store)
    for _ in range(number):
        walk.step()
        corpus = ir.build(source_of(walk.repo.root), store=store)
        with CorpusStore.memory() as fresh:
            ir.build(source_of(walk.repo.root), store=fresh)
            assert_same(store, fresh, walk.done)
        branch = walk.chance.choice(walk.branches())
        if branch == walk.repo.git("branch", "--show-current"):
            assert branch_corpus(corpus, branch) is corpus
            continue
        view = branch_corpus(corpus, branch)
        oracle.git("checkout", "-q", "--detach", branch)
        with CorpusStore.memory() as fresh:
            ir.build(source_of(oracle.root), store=fresh)
            assert_same(view.store, fresh, [*walk.done, f"the branch {branch}"])


def assert_same(one: Store, other: Store, done: list[str]) -> None:
    for mine, fresh in zip(state(one), state(other), strict=True):
        assert mine == fresh, done


def prepared(repository: Callable[..., Repo], seed: int) -> tuple[Walk, Repo]:
    repo = repository(PROGRAM)
    for branch in ("one", "two"):
        repo.git("branch", branch)
    oracle = Repo(repo.root.parent / "oracle" / repo.root.name)
    repo.git("worktree", "add", "-q", "--detach", str(oracle.root))
    return Walk(repo, seed), oracle


@pytest.mark.filterwarnings("ignore::ir.index.builder.EmptyCorpus")
@pytest.mark.parametrize("seed", range(2))
def test_step_by_step_is_as_at_once_on_every_branch(repository: Callable[..., Repo], seed: int) -> None:
    walk, oracle = prepared(repository, seed)
    with CorpusStore.memory() as store:
        steps(walk, store, oracle, 12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ir.index.builder.EmptyCorpus")
@pytest.mark.parametrize("seed", range(2, 5))
def test_step_by_step_is_as_at_once_on_every_branch_on_disk(
    repository: Callable[..., Repo], tmp_path: Path, seed: int
) -> None:
    walk, oracle = prepared(repository, seed)
    with LocalStore(tmp_path / "corpus") as store:
        steps(walk, store, oracle, 10)
