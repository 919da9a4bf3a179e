"""A builder killed at any instant leaves the corpus as it was before, or after, and never between."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from tests.crash import world

from ir.store import LocalStore
from ir.store.local.crash_points import CLEANING_POINTS, POINTS

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.crash.world", "tantivy", "faiss", "ir.index", "ir.retrieve"])


def drain(receiver: Connection, last: int) -> int:
    """The last version that the builder acknowledged."""
    try:
        while receiver.poll():
            _, last = receiver.recv()
    except EOFError:
        pass
    return last


def start(path: Path, version: int, point: str | None = None, occurrence: int = 1) -> tuple[object, Connection]:
    receiver, sender = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=world.build_until_killed, args=(path, version, sender, point, occurrence))
    process.start()
    sender.close()
    assert receiver.poll(60), "the builder did not start"
    receiver.recv()
    return process, receiver


@pytest.mark.slow
@pytest.mark.parametrize("occurrence", [1, 2])
@pytest.mark.parametrize("point", POINTS)
def test_killed_at_every_named_point(tmp_path: Path, point: str, occurrence: int) -> None:
    path = tmp_path / "corpus"
    world.build(path, 1)
    process, receiver = start(path, 1, point, occurrence)
    process.join(60)  # type: ignore[attr-defined]
    assert process.exitcode == -signal.SIGKILL, f"the point {point!r} was never reached"  # type: ignore[attr-defined]
    acknowledged = drain(receiver, 1)
    seen = world.version_seen(path)
    assert seen in (acknowledged, acknowledged + 1)
    world.build(path, seen + 1)
    assert world.version_seen(path) == seen + 1
    leftovers = [entry.name for entry in (path / "generations").iterdir() if entry.name.startswith(".")]
    assert not leftovers


@pytest.mark.slow
@pytest.mark.parametrize("point", [*POINTS, *CLEANING_POINTS])
def test_killed_at_every_named_point_of_a_compaction(tmp_path: Path, point: str) -> None:
    path = tmp_path / "corpus"
    world.build(path, 1)
    world.delete_and_restore(path)
    process = CONTEXT.Process(target=world.compact_until_killed, args=(path, point))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL, f"the point {point!r} was never reached"
    assert world.version_seen(path) == 1
    store = LocalStore(path)
    store.clean(compact=True)
    assert store.leftovers() == []
    store.close()
    assert world.version_seen(path) == 1


@pytest.mark.slow
def test_killed_at_two_hundred_random_instants(tmp_path: Path) -> None:
    path = tmp_path / "corpus"
    chance = random.Random(20)
    world.build(path, 1)
    # On a busy machine a build takes longer, and one in a new process longest: some must get through, some must not.
    began = time.monotonic()
    process, receiver = start(path, 1)
    assert receiver.poll(60), "no build got through"
    os.kill(process.pid, signal.SIGKILL)  # type: ignore[attr-defined]
    longest = max(0.2, 2 * (time.monotonic() - began))
    process.join(60)  # type: ignore[attr-defined]
    version = first = world.version_seen(path)
    for _ in range(200):
        process, receiver = start(path, version)
        receiver.poll(chance.uniform(0, longest))
        os.kill(process.pid, signal.SIGKILL)  # type: ignore[attr-defined]
        process.join(60)  # type: ignore[attr-defined]
        acknowledged = drain(receiver, version)
        version = world.version_seen(path)
        assert version in (acknowledged, acknowledged + 1)
    assert version > first, "no build ever got through"
