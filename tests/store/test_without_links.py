"""File systems that know no links, as those of memory cards and of some servers, keep a corpus too."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ir import CorpusSource, build, search
from ir.store import LocalStore


@pytest.fixture
def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **keywords: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(os, "symlink", refuse)


@pytest.mark.usefixtures("no_links")
def test_a_corpus_is_built_and_grows(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "corpus")
    texts = {f"t{at}": f"lantern number {at} beside the harbour" for at in range(2500)}
    build(CorpusSource.from_mapping(texts, name="c"), store=store, embedder="light")
    for at in range(5):  # the first generation is removed meanwhile
        more = CorpusSource.from_mapping({f"new{at}": f"quarry {at} full of willows"}, name="c")
        corpus = build(more, store=store, embedder="light", full=False)
    store.close()
    found = {hit.artifact_id for hit in search(corpus, "quarry willow", mode="lexical")}
    assert found == {f"new{at}" for at in range(5)}
    hits = search(corpus, "lantern number 77", mode="hybrid", k=1)
    assert [hit.artifact_id for hit in hits] == ["t77"]
    files = [path for path in (tmp_path / "corpus").rglob("*") if path.is_symlink()]
    assert not files
