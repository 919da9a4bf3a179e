"""Refreshing before a search: only when it is cheap and possible, and never an error."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import ir
from ir.index import RefreshOutcome, build, build_corpus, open_corpus, refresh_if_cheap
from ir.registry import register
from ir.sources import CorpusSource

from .conftest import Axes


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(5):
        (folder / f"{number}.md").write_text(f"# Note {number}\n\nIt says {number}.\n")
    register("docs", "files", root=str(folder), embedder="light")
    return folder


def test_changes_are_taken_in(docs: Path) -> None:
    build_corpus("docs")
    assert refresh_if_cheap("docs").refreshed is False
    (docs / "new.md").write_text("# Whale\n\nIt sings.\n")
    (docs / "1.md").unlink()
    outcome = refresh_if_cheap("docs")
    assert (outcome.refreshed, outcome.stale, outcome.changed) == (True, False, 2)
    assert open_corpus("docs").search("whale", mode="lexical")[0].artifact_id.endswith("new.md")


def test_many_changes_are_left_and_said(docs: Path) -> None:
    build_corpus("docs")
    for number in range(4):
        (docs / f"{number}.md").write_text("all new and longer than before")
    outcome = refresh_if_cheap("docs", max_changed=3)
    assert (outcome.refreshed, outcome.stale) == (False, True)
    assert "ir build docs" in outcome.reason


def test_a_slow_scan_is_given_up(docs: Path) -> None:
    build_corpus("docs")
    outcome = refresh_if_cheap("docs", scan_ms=0)
    assert (outcome.refreshed, outcome.stale) == (False, True)
    assert "took more than 0 ms" in outcome.reason


def test_another_build_is_not_waited_for(docs: Path) -> None:
    build_corpus("docs")
    (docs / "new.md").write_text("new")
    with open_corpus("docs").store.transaction():
        outcome = refresh_if_cheap("docs")
    assert (outcome.refreshed, outcome.stale) == (False, True)
    assert "building" in outcome.reason


def test_what_cannot_be_refreshed_says_why(docs: Path) -> None:
    assert "ir build docs" in refresh_if_cheap("docs").reason
    assert "not registered" in refresh_if_cheap("stranger").reason
    mapping = CorpusSource.from_mapping({"a": "x"}, name="m", embedder="light")
    build(mapping)
    assert "no cheap test" in refresh_if_cheap(mapping).reason


def test_what_a_build_kept_stays(docs: Path) -> None:
    build_corpus("docs")
    (docs / "1.md").unlink()
    build_corpus("docs", full=False)
    assert refresh_if_cheap("docs") == RefreshOutcome(reason="Nothing changed.")
    (docs / "new.md").write_text("# Whale\n\nIt sings.\n")
    (docs / "2.md").unlink()
    outcome = refresh_if_cheap("docs")
    assert (outcome.refreshed, outcome.changed) == (True, 1)
    held = {hit.artifact_id for hit in open_corpus("docs").search("it", k=20)}
    assert held == {"0.md", "1.md", "2.md", "3.md", "4.md", "new.md"}


def test_a_plain_build_forgets_that_anything_was_kept(docs: Path) -> None:
    build_corpus("docs")
    (docs / "1.md").unlink()
    build_corpus("docs", full=False)
    report = build_corpus("docs").report
    assert report is not None
    assert report.removed == ["1.md"]
    (docs / "2.md").unlink()
    assert refresh_if_cheap("docs").changed == 1
    assert len(open_corpus("docs").store) == 3


def test_a_source_that_is_gone_is_a_reason(docs: Path) -> None:
    build_corpus("docs")
    docs.rename(docs.with_name("elsewhere"))
    outcome = refresh_if_cheap("docs")
    assert (outcome.refreshed, outcome.stale) == (False, True)
    assert "There is no file or folder" in outcome.reason
    assert len(open_corpus("docs").store) == 5


def test_a_source_that_goes_while_it_is_read_is_a_reason(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_corpus("docs")
    (docs / "new.md").write_text("new")
    monkeypatch.setattr("ir.index.refresh.build", lambda *args, **kwargs: shutil.rmtree(docs) or build_corpus("docs"))
    outcome = refresh_if_cheap("docs")
    assert (outcome.refreshed, outcome.stale) == (False, True)
    assert "There is no file or folder" in outcome.reason


def test_an_embedder_of_ones_own_cannot_be_made_here(docs: Path) -> None:
    build_corpus("docs", embedder=Axes(name="mine"))
    (docs / "new.md").write_text("new")
    outcome = refresh_if_cheap("docs")
    assert (outcome.refreshed, outcome.stale) == (False, True)
    assert "of your own" in outcome.reason


def test_a_read_only_corpus_is_used_as_it_is(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_corpus("docs")
    (docs / "new.md").write_text("new")
    # Root may write anywhere, so the answer of the system is given here.
    monkeypatch.setattr("ir.index.refresh.os.access", lambda path, mode: False)
    outcome = refresh_if_cheap("docs")
    assert (outcome.refreshed, outcome.stale) == (False, False)
    assert "read-only" in outcome.reason


def test_what_was_cut_in_another_way_is_cut_anew_if_it_is_little_and_reported_if_it_is_much(tmp_path: Path) -> None:
    from ir.strategy import Chunked

    class Earlier(Chunked):
        version = 1

    Earlier.__name__ = "Chunked"
    for number in range(3):
        (tmp_path / f"{number}.py").write_text(f"def f{number}():\n    return {number}\n")
        os.utime(tmp_path / f"{number}.py", (1_600_000_000, 1_600_000_000))

    def source(strategy: Chunked) -> CorpusSource:
        return CorpusSource.from_files(tmp_path, all_text=True, name="cut", embedder="light", strategy=strategy)

    ir.build(source(Earlier()))
    outcome = refresh_if_cheap(source(Chunked()), max_changed=2)
    assert (outcome.refreshed, outcome.stale) == (False, True)
    assert "cut into pieces in another way" in outcome.reason
    assert refresh_if_cheap(source(Chunked()), max_changed=3).refreshed
    assert not refresh_if_cheap(source(Chunked()), max_changed=3).refreshed


def test_a_build_says_that_all_is_cut_anew_and_embeds_nothing_again(tmp_path: Path) -> None:
    from ir.strategy import Chunked

    class Earlier(Chunked):
        version = 1

    (tmp_path / "a.md").write_text("# A\n\nText.\n")
    store = ir.CorpusStore.memory()
    build = [
        ir.build(CorpusSource.from_files(tmp_path, embedder="light", strategy=strategy), store=store).report
        for strategy in (Earlier(), Chunked(), Chunked())
    ]
    first, second, third = (report for report in build if report is not None)
    assert (first.notes, third.notes) == ([], [])
    assert (second.changed, second.embedded) == (["a.md"], 0)
    assert "cut into pieces in another way" in second.notes[0]
