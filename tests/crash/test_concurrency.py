"""Readers and writers at the same time."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

import pytest
from tests.crash import world

from ir.errors import CorpusBusy
from ir.store import LocalStore

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.crash.world", "tantivy", "faiss", "ir.index", "ir.retrieve"])
SECONDS = 60
READERS = 8


@pytest.mark.slow
def test_eight_readers_while_a_builder_works_for_a_minute(tmp_path: Path) -> None:
    path = tmp_path / "corpus"
    world.build(path, 1)
    stop, results = CONTEXT.Event(), CONTEXT.Queue()
    readers = [CONTEXT.Process(target=world.read_until_told, args=(path, stop, results)) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    end, version = time.monotonic() + SECONDS, 1
    while time.monotonic() < end:
        version += 1
        world.build(path, version)
    stop.set()
    reports = [results.get(timeout=60) for _ in readers]
    for reader in readers:
        reader.join(60)
    assert [faults for _, _, faults in reports if faults] == []
    assert all(searches > 10 and versions > 2 for searches, versions, _ in reports), (version, reports)


def test_a_second_builder_is_told_who_holds_the_corpus(tmp_path: Path) -> None:
    world.build(tmp_path, 1)
    ready, release = CONTEXT.Event(), CONTEXT.Event()
    holder = CONTEXT.Process(target=world.hold, args=(tmp_path, ready, release))
    holder.start()
    assert ready.wait(60)
    impatient = LocalStore(tmp_path, lock_timeout=0.2)
    with pytest.raises(CorpusBusy, match=f"process {holder.pid}"):
        impatient.set_config({"name": "world"})
    assert world.version_seen(tmp_path) == 1
    release.set()
    holder.join(60)
    patient = LocalStore(tmp_path, lock_timeout=60)
    patient.set_calibration("dense", {"min_score": 0.5})
    assert patient.get_calibration("dense") == {"min_score": 0.5}


def test_a_second_builder_waits_its_turn(tmp_path: Path) -> None:
    world.build(tmp_path, 1)
    ready, release = CONTEXT.Event(), CONTEXT.Event()
    holder = CONTEXT.Process(target=world.hold, args=(tmp_path, ready, release))
    holder.start()
    assert ready.wait(60)
    release.set()
    world.build(tmp_path, 2)
    holder.join(60)
    assert world.version_seen(tmp_path) == 2
