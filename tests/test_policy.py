"""Maintenance policies: what is due when, and that what was done is remembered."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import ir
from ir.config import data_dir
from ir.errors import InvalidInput
from ir.eval import calibrate_from_probes
from ir.maintain import MaintenanceResult, maintain
from ir.policy import Policy
from ir.registry import entered, keep_at, look_after, policy_of, register

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def greenwich() -> Iterator[None]:
    """Hours of the day are local ones; here, those of Greenwich."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in {"tea": "Steep green tea.", "bread": "Knead the dough.", "oil": "Oil the chain."}.items():
        (folder / f"{name}.md").write_text(text)
    register("notes", "files", embedder="light", root=str(folder))
    return folder


def at(moment: datetime, **keywords: Any) -> list[tuple[str, str]]:
    return [(result.task, result.status) for result in maintain("notes", now=moment, **keywords)]


def test_a_corpus_is_refreshed_no_more_often_than_asked(notes: Path) -> None:
    look_after("notes", Policy(refresh="6h"))
    assert at(NOON) == [("build", "done")]
    (notes / "new.md").write_text("Something new.")
    (waiting,) = maintain("notes", now=NOON + 2 * HOUR)
    assert (waiting.task, waiting.status) == ("check", "waiting")
    assert waiting.detail == "every 6h, by its policy; due in 4h"
    assert at(NOON + 6 * HOUR, dry_run=True) == [("update", "due")]
    assert at(NOON + 6 * HOUR) == [("update", "done")]
    assert at(NOON + 7 * HOUR) == [("check", "waiting")]
    assert at(NOON + 12 * HOUR) == [("check", "current")]  # looked at, and nothing had changed
    assert at(NOON + 13 * HOUR) == [("check", "waiting")]


def test_what_is_asked_for_at_once_does_not_wait(notes: Path) -> None:
    look_after("notes", Policy(refresh="6h", hours="3-4"))
    assert at(NOON) == [("check", "waiting")]
    assert at(NOON, at_once=True) == [("build", "done")]


def test_what_failed_is_tried_again_at_the_next_run(notes: Path, tmp_path: Path) -> None:
    register("notes", "files", embedder="light", root=str(notes), maintenance={"refresh": "6h"})
    notes.rename(tmp_path / "away")
    assert at(NOON)[0][1] == "failed"
    (tmp_path / "away").rename(notes)
    assert at(NOON + HOUR) == [("build", "done")]


def test_a_corpus_that_is_never_refreshed_is_left_alone(notes: Path) -> None:
    look_after("notes", Policy(refresh="never"))
    assert at(NOON) == [("check", "waiting")]


@pytest.mark.parametrize(
    ("hours", "inside", "outside"),
    [
        ("22-6", (22, 23, 0, 5), (6, 12, 21)),
        ("9-17", (9, 16), (8, 17)),
        ("20-24", (20, 23), (0, 19)),
        ("0-4", (0,), (4,)),
    ],
)
def test_only_between_some_hours(hours: str, inside: tuple[int, ...], outside: tuple[int, ...]) -> None:
    policy = Policy(hours=hours)
    assert all(policy.pause(NOON.replace(hour=hour)) is None for hour in inside)
    assert all(policy.pause(NOON.replace(hour=hour)) for hour in outside)


@pytest.mark.slow
def test_floors_are_calibrated_again_every_so_often_if_the_corpus_changed(notes: Path) -> None:
    look_after("notes", Policy(calibrate="weekly"))
    maintain("notes", now=NOON)
    calibrate_from_probes(ir.open_corpus("notes"), percentile=60, persist=True)
    assert at(NOON) == [("calibrate", "done")]
    (notes / "new.md").write_text("Something new.")
    assert at(NOON + 24 * HOUR) == [("update", "done")]
    assert at(NOON + 8 * 24 * HOUR, dry_run=True) == [("calibrate", "due")]
    assert at(NOON + 8 * 24 * HOUR) == [("calibrate", "done")]
    assert at(NOON + 16 * 24 * HOUR) == [("check", "current")]  # nothing changed since
    look_after("notes", Policy(calibrate="never"))
    store = ir.open_corpus("notes").store
    for mode in store.calibration_modes():
        store.set_calibration(mode, {**(store.get_calibration(mode) or {}), "embedder_id": "older-model"})
    assert at(NOON + 24 * 24 * HOUR) == [("check", "current")]


def test_a_lost_or_broken_memory_means_that_everything_is_due(notes: Path) -> None:
    look_after("notes", Policy(refresh="6h"))
    maintain("notes", now=NOON)
    assert at(NOON + HOUR) == [("check", "waiting")]
    for text in ("{", "[]", '{"notes": 3}', '{"notes": {"refreshed": "yesterday"}}'):
        (data_dir() / "maintenance.json").write_text(text)
        assert at(NOON + HOUR, dry_run=True) == [("check", "current")]
    maintain("notes", now=NOON + 100 * HOUR)
    assert at(NOON, dry_run=True) == [("check", "current")]  # a clock that was wrong once does not stop it


def test_without_a_policy_nothing_is_remembered(notes: Path) -> None:
    maintain()
    assert not (data_dir() / "maintenance.json").exists()


def test_the_policy_stays_with_the_corpus(notes: Path) -> None:
    entry = register("notes", "files", root=notes, maintenance={"refresh": "360m", "calibrate": "weekly"})
    assert entry["maintenance"] == {"refresh": "6h", "calibrate": "1w"}
    keep_at("notes", None)
    assert policy_of("notes") == Policy("6h", "1w")
    look_after("notes", Policy())
    assert "maintenance" not in entered()["notes"]
    look_after("packages", Policy(refresh="daily"))
    assert policy_of("packages").refresh == "1d"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"refresh": "often"}, "refresh cannot be 'often'.*'changed', 'never' or a span"),
        ({"refresh": "0h"}, "refresh cannot be '0h'"),
        ({"calibrate": 6}, "calibrate cannot be 6"),
        ({"hours": "22"}, "hours cannot be '22'.*22-6"),
        ({"hours": "25-3"}, "hours cannot be"),
        ({"hours": "5-5"}, "two different hours"),
        ({"refesh": "6h"}, "'refesh'.*Did you mean 'refresh'"),
        (["6h"], "is a mapping"),
    ],
)
def test_what_is_no_policy(given: Any, message: str, notes: Path) -> None:
    with pytest.raises(InvalidInput, match=message):
        register("other", "files", root=notes, maintenance=given)


def test_a_wrong_policy_in_the_registry_fails_that_corpus_alone(notes: Path) -> None:
    import json

    from ir.config import registry_path

    register("other", "files", embedder="light", root=str(notes))
    whole = json.loads(registry_path().read_text())
    whole["corpora"]["other"]["maintenance"] = {"refresh": "often"}
    registry_path().write_text(json.dumps(whole))
    results = {result.corpus: result for result in maintain()}
    assert (results["notes"].status, results["other"].status) == ("done", "failed")
    assert isinstance(results["other"], MaintenanceResult)
    assert "often" in results["other"].detail
