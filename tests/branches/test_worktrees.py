"""Another work tree of a repository, or another clone, is indexed without embedding what is equal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.branches.conftest import Repo
from tests.branches.programs import PROGRAM, Counting, source_of

import ir
from ir.embed import models
from ir.index import upgrade
from ir.index.branches import branch_corpus
from ir.store import CorpusStore, LocalStore

Make = Callable[..., Repo]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Counting:
    """A model that is known by its name, so that its vectors are kept from corpus to corpus."""
    counting = Counting()
    counting.id, counting.cacheable, counting.fingerprint = "test:counting", True, "counting-1"
    monkeypatch.setattr(models, "_loaders", list(models._loaders))
    models.register_loader(lambda name: counting if name == counting.id else None)
    return counting


def worktree(repo: Repo, name: str) -> Repo:
    other = Repo(repo.root.parent / name / repo.root.name)
    repo.git("worktree", "add", "-q", "--detach", str(other.root))
    return other


def test_another_work_tree_embeds_only_what_differs(repository: Make, model: Any) -> None:
    repo = repository(PROGRAM)
    other = worktree(repo, "beside")
    options = {"embedder": "test:counting"}
    ir.build(source_of(repo.root, **options), store=CorpusStore.memory(), floor=False)
    assert model.taken()
    ir.build(source_of(other.root, **options), store=CorpusStore.memory(), floor=False)
    assert model.taken() == []
    other.write({"README.md": "# A program\n\nIt sings.\n"})
    ir.build(source_of(other.root, **options), store=CorpusStore.memory(), floor=False)
    assert len(model.taken()) == 1


def test_another_clone_embeds_nothing(repository: Make, model: Any, tmp_path: Path) -> None:
    repo = repository(PROGRAM)
    clone = Repo(tmp_path / "clone" / repo.root.name)
    clone.git("clone", "-q", str(repo.root), ".")
    ir.build(source_of(repo.root, embedder="test:counting"), store=CorpusStore.memory(), floor=False)
    model.taken()
    ir.build(source_of(clone.root, embedder="test:counting"), store=CorpusStore.memory(), floor=False)
    assert model.taken() == []


def test_a_better_model_reads_equal_text_once_for_all_work_trees(repository: Make, model: Any, tmp_path: Path) -> None:
    """Corpora that begin with a fast model and get better by another."""
    repo = repository(PROGRAM)
    other = worktree(repo, "beside")
    for number, place in enumerate((repo, other)):
        with LocalStore(tmp_path / f"corpus{number}") as store:
            corpus = upgrade.build_fast(source_of(place.root), store=store, fast="light", to="test:counting")
            upgrade.run(store, corpus.name)
            assert upgrade.upgrade_of(store).done  # type: ignore[union-attr]
            assert bool(model.taken()) == (number == 0)


def test_a_branch_of_a_corpus_with_two_models_is_read_by_the_one_that_answers(
    repository: Make, model: Any, tmp_path: Path
) -> None:
    repo = repository(PROGRAM)
    repo.git("checkout", "-q", "-b", "x")
    repo.commit({"new.md": "A word about tea.\n"})
    repo.git("checkout", "-q", "main")
    with LocalStore(tmp_path / "corpus") as store:
        corpus = upgrade.build_fast(source_of(repo.root), store=store, fast="light", to="test:counting")
        assert branch_corpus(corpus, "x").store.get_config()["embedder"] == "light"
        assert model.taken() == []
        upgrade.run(store, corpus.name)
        model.taken()
        view = branch_corpus(corpus, "x")
        assert view.store.get_config()["embedder"] == "test:counting"
        assert [text.strip() for text in model.taken()] == ["A word about tea."]
        assert view.search("tea", mode="lexical")[0].artifact_id == "new.md"
