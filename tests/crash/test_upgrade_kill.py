"""Whoever makes a corpus better and is killed at any instant loses nothing, and leaves one job."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from tests.crash import getting_better as growing
from tests.models import tiny

from ir.index.upgrade_job import is_running
from ir.store.local.crash_points import POINTS

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.crash.getting_better", "tantivy", "faiss", "onnxruntime", "ir.index"])


@pytest.fixture
def model(tmp_path: Path) -> str:
    return str(tiny.write_bert(tmp_path / "better"))


def start(path: Path, point: str | None = None, occurrence: int = 1) -> tuple[Any, Connection]:
    receiver, sender = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=growing.work, args=(path, sender, point, occurrence))
    process.start()
    sender.close()
    assert receiver.poll(60), "the job did not start"
    receiver.recv()
    return process, receiver


@pytest.mark.parametrize("occurrence", [1, 3])
@pytest.mark.parametrize("point", POINTS)
def test_killed_at_every_named_point(tmp_path: Path, model: str, point: str, occurrence: int) -> None:
    path = tmp_path / "corpus"
    growing.build(path, 1, model)
    process, _ = start(path, point, occurrence)
    process.join(60)
    if process.exitcode == 0:  # some points are for records, of which it writes none
        growing.assert_complete(path, 1, model)
        return
    assert process.exitcode == -signal.SIGKILL
    assert not is_running(path)
    growing.look(path, 1)
    process, _ = start(path)
    process.join(60)
    assert process.exitcode == 0
    growing.assert_complete(path, 1, model)


def test_killed_at_thirty_random_instants_while_files_change(tmp_path: Path, model: str) -> None:
    path, chance = tmp_path / "corpus", random.Random(7)
    version, kills = 1, 0
    growing.build(path, version, model)
    began = time.monotonic()
    process, _ = start(path)
    process.join(60)
    whole = time.monotonic() - began
    growing.assert_complete(path, version, model)
    while kills < 30:
        version += 1
        growing.build(path, version, model)  # twelve texts change, which is more than a few
        assert not growing.look(path, version)
        (first, _), (second, _) = start(path), start(path)
        if chance.random() < 0.5:  # somebody builds during the work
            version += 1
            growing.build(path, version, model)
        time.sleep(chance.uniform(0, whole / 3))
        for one in (first, second):
            if one.is_alive():
                os.kill(one.pid, signal.SIGKILL)
                kills += 1
            one.join(60)
        growing.look(path, version)
        assert not is_running(path)
    process, _ = start(path)
    process.join(60)
    assert process.exitcode == 0
    growing.assert_complete(path, version, model)


def test_of_many_that_start_at_once_one_does_the_work(tmp_path: Path, model: str) -> None:
    path = tmp_path / "corpus"
    growing.build(path, 1, model)
    jobs = [start(path) for _ in range(4)]
    made = []
    for process, receiver in jobs:
        process.join(60)
        assert process.exitcode == 0
        made.append(receiver.recv())
    # Who comes after the end finds nothing to do; who comes before leaves it to the one that is at it.
    assert sum(count or 0 for count in made) == 120
    assert sorted(count or 0 for count in made)[:3] == [0, 0, 0]
    growing.assert_complete(path, 1, model)
