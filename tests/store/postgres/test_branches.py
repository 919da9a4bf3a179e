"""A branch of a corpus that a server keeps is looked at on this machine."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.branches.conftest import Repo
from tests.branches.programs import PROGRAM, Counting, source_of, state

import ir
from ir.index.branches import branch_corpus, branches_of
from ir.store import CorpusStore, LocalStore

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def test_the_view_holds_what_a_build_of_the_branch_holds(corpus_url: str, tmp_path: Path) -> None:
    repo = Repo(tmp_path / "project")
    repo.git("init", "-q")
    repo.commit(PROGRAM)
    repo.git("checkout", "-q", "-b", "x")
    repo.commit({"new.md": "A word about tea.\n", "web/b.js": None})
    with CorpusStore.memory() as fresh, CorpusStore.open(corpus_url) as store:
        options = {"strategy": ir.Chunked(), "embedder": Counting()}
        ir.build(source_of(repo.root, **options), store=fresh, floor=False)
        repo.git("checkout", "-q", "main")
        model = Counting()
        corpus = ir.build(source_of(repo.root, **{**options, "embedder": model}), store=store, floor=False)
        version = store.content_version
        model.taken()
        view = branch_corpus(corpus, "x")
        assert isinstance(view.store, LocalStore)
        assert [text.strip() for text in model.taken()] == ["A word about tea."]
        assert next(iter(state(view.store))) == next(iter(state(fresh)))
        assert view.store.content_version == fresh.content_version
        assert list(branches_of(store, corpus.name)) == ["x"]
        assert store.content_version == version
