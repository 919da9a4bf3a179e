"""``maintain``: what is due is found, done once, and one failing corpus does not stop the others."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.models import tiny

import ir
from ir.eval import calibrate_from_probes, calibrate_min_score, load_calibration, save_cases
from ir.eval.cases import DiscoveryCase
from ir.index.upgrade import build_fast, upgrade_of
from ir.maintain import MaintenanceResult, maintain
from ir.registry import register, source_for


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "tea.md").write_text("Steep green tea at 80 degrees for two minutes.")
    (folder / "bread.md").write_text("Knead the dough, then let it rest before baking.")
    register("notes", "files", embedder="light", root=str(folder))
    return folder


def said(results: list[MaintenanceResult]) -> list[tuple[str, str, str]]:
    return [(result.corpus, result.task, result.status) for result in results]


def test_a_dry_run_says_what_is_due_and_does_nothing(notes: Path) -> None:
    assert said(maintain(dry_run=True)) == [("notes", "build", "due")]
    with pytest.raises(ir.IrError):
        ir.open_corpus("notes")


def test_what_is_due_is_done_once(notes: Path) -> None:
    assert said(maintain()) == [("notes", "build", "done")]
    assert said(maintain()) == [("notes", "check", "current")]
    (notes / "oil.md").write_text("Oil the chain of the bicycle.")
    (notes / "tea.md").unlink()
    (due,) = maintain(dry_run=True)
    assert (due.task, due.status, due.detail) == ("update", "due", "1 added, 1 removed")
    assert said(maintain("notes")) == [("notes", "update", "done")]
    assert ir.search("notes", "bicycle chain", mode="lexical")[0].artifact_id == "oil.md"
    assert json.dumps(due.to_dict())


def test_what_a_build_kept_stays(notes: Path) -> None:
    maintain()
    (notes / "tea.md").unlink()
    ir.build_corpus("notes", full=False)
    assert said(maintain()) == [("notes", "check", "current")]
    (notes / "oil.md").write_text("Oil the chain of the bicycle.")
    assert maintain()[0].detail == "1 added"
    assert ir.search("notes", "tea", mode="lexical")[0].artifact_id == "tea.md"


def test_another_strategy_means_indexing_again(notes: Path) -> None:
    maintain()
    register("notes", "files", embedder="light", root=str(notes), strategy="WholeText")
    assert said(maintain(dry_run=True)) == [("notes", "reindex", "due")]
    assert said(maintain()) == [("notes", "reindex", "done")]
    assert said(maintain()) == [("notes", "check", "current")]


def outdate(*modes: str) -> None:
    """Make the floors look as if another model had been there when they were calibrated."""
    store = ir.open_corpus("notes").store
    for mode in modes:
        store.set_calibration(mode, {**(store.get_calibration(mode) or {}), "embedder_id": "older-model"})


def test_floors_for_another_embedder_are_calibrated_again(notes: Path, tmp_path: Path) -> None:
    maintain()
    calibrate_from_probes(ir.open_corpus("notes"), percentile=60, signal="dense-top3", persist=True)
    before = load_calibration("notes", "hybrid")
    assert said(maintain()) == [("notes", "check", "current")]
    outdate("hybrid")
    assert said(maintain(dry_run=True)) == [("notes", "calibrate", "due")]
    assert said(maintain()) == [("notes", "calibrate", "done")]
    assert load_calibration("notes", "hybrid") == before


def test_labelled_floors_need_the_file_they_were_made_from(notes: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    maintain()
    corpus = ir.open_corpus("notes")
    cases = [DiscoveryCase("green tea degrees", ("tea.md",)), DiscoveryCase("knead dough", ("bread.md",))]
    cases += [DiscoveryCase("parliament election"), DiscoveryCase("quantum physics")]
    path = tmp_path / "cases.jsonl"
    save_cases(cases, path)
    made = calibrate_min_score(corpus, cases, mode="dense", max_loss=0.1)
    made.save(corpus)
    outdate("dense")
    (alone,) = maintain()
    assert (alone.task, alone.status) == ("calibrate", "skipped")
    assert "ir calibrate-min-score notes CASES" in alone.detail
    replace(made, made_from=str(path)).save(corpus)
    outdate("dense")
    assert said(maintain()) == [("notes", "calibrate", "done")]
    again = load_calibration("notes", "dense")
    assert again is not None
    assert (again.min_score, again.made_from, again.max_loss) == (made.min_score, str(path), 0.1)
    outdate("dense")
    path.unlink()
    (gone,) = maintain()
    assert gone.status == "skipped"
    assert str(path) in gone.detail


def test_one_that_fails_does_not_stop_the_others(notes: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(notes, other)
    register("other", "files", embedder="light", root=str(other))
    register("broken", "files", embedder="no-such-model", root=str(other))
    results = maintain()
    assert {result.corpus: result.status for result in results} == {
        "broken": "failed",
        "notes": "done",
        "other": "done",
    }
    assert "no-such-model" in results[0].detail


def test_a_corpus_with_an_embedder_of_ones_own_is_left_to_its_owner(notes: Path) -> None:
    import numpy as np

    def flat(texts: list[str]) -> object:
        return np.ones((len(texts), 3), dtype=np.float32)

    ir.build_corpus("notes", embedder=flat)
    (result,) = maintain()
    assert (result.status, result.corpus) == ("skipped", "notes")
    assert "Python" in result.detail


def test_a_name_that_is_not_registered_is_an_error_that_lists_them(notes: Path) -> None:
    with pytest.raises(ValueError, match="'notes'"):
        maintain("nots")
    assert maintain([]) == []


def test_maintenance_lets_the_better_model_read_what_it_has_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    better = str(tiny.write_bert(tmp_path / "better"))
    folder = tmp_path / "kitchen"
    folder.mkdir()
    (folder / "tea.md").write_text("# Tea\n\ngreen tea\n")
    register("kitchen", "files", root=str(folder), all_text=True)
    store = ir.CorpusStore.local("kitchen")
    build_fast(source_for("kitchen"), store=store, fast="light", to=better, window=40)
    (folder / "bread.md").write_text("# Bread\n\nhot dough\n")
    assert said(maintain("kitchen", dry_run=True)) == [("kitchen", "update", "due")]
    with monkeypatch.context() as patched:
        patched.setenv("IR_UPGRADE", "never")
        assert said(maintain("kitchen")) == [("kitchen", "update", "done")]
    assert said(maintain("kitchen", dry_run=True)) == [("kitchen", "upgrade", "due")]
    assert said(maintain("kitchen")) == [("kitchen", "upgrade", "done")]
    told = upgrade_of(store)
    assert told is not None
    assert told.done
    assert said(maintain("kitchen")) == [("kitchen", "check", "current")]
