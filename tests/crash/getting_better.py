"""A corpus on its way to a better model, whose every text and vector is known in advance."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import ir
import ir.index.upgrade as upgrade
from ir.index.upgrade_job import do
from ir.select.gate import AUTOMATIC
from ir.store import CorpusStore, LocalStore
from ir.store.local import crash_points

NAME = "growing"
WORDS = ("tea", "water", "bread", "dough", "green", "hot", "the")


def contents(version: int, count: int = 120) -> dict[str, str]:
    """Most texts stay from version to version, every tenth changes, one comes and one goes."""
    items = {}
    for number in range(version, count + version):
        edition = version if number % 10 == version % 10 else 0
        items[f"n{number:04}"] = " ".join(WORDS[(number * step + edition) % 7] for step in range(1, 6)) + f" {number}"
    return items


def build(path: Path, version: int, model: str) -> None:
    """Take a version in by the fast model; what is few by the better one too."""
    source = ir.CorpusSource.from_mapping(contents(version), name=NAME)
    with LocalStore(path, lock_timeout=60) as store:
        if upgrade.upgrade_of(store) is None:
            upgrade.build_fast(source, store=store, fast="light", to=model, window=40)
        else:
            upgrade.build_fast(source, store=store, few=5)


def work(path: Path, results: Any, point: str | None = None, occurrence: int = 1) -> None:
    """Do the job in small steps, and tell what came of it; die at the given point, if one is given."""
    passed = 0

    def die(name: str) -> None:
        nonlocal passed
        if name == point:
            passed += 1
            if passed == occurrence:
                os.kill(os.getpid(), signal.SIGKILL)

    crash_points.on_reach(die)
    upgrade._FIRST = upgrade._LEAST = upgrade._MOST = 8
    results.send("ready")
    with LocalStore(path, lock_timeout=60) as store:
        made = do(store, NAME)
    with suppress(BrokenPipeError):  # nobody may be listening
        results.send(made)


def look(path: Path, version: int) -> bool:
    """Search as a fresh reader does; whether the better model answers. Fails if anything is not of one version."""
    with LocalStore(path) as store:
        corpus = ir.open_corpus(path)
        held = contents(version)
        assert {record.artifact_id: record.text for record in store.get_records(store.record_ids())} == held
        told = upgrade.upgrade_of(store)
        assert told is not None
        model = "better" if told.done else "light-512-v1"
        assert store.get_config()["embedder_id"] == model
        floor = store.get_calibration(AUTOMATIC)
        # A build that is written over while it asks the probes leaves that to the next one.
        assert floor is None or floor["embedder_id"] == model
        assert floor is not None or not told.done
        assert store.unembedded() == []
        for mode in ("dense", "lexical", "hybrid"):
            hits = corpus.search("bread water", mode=mode, k=1000)
            assert {hit.artifact_id: hit.text for hit in hits}.items() <= held.items(), mode
            assert mode == "lexical" or len(hits) == len(held), mode
        assert hits.meta["answered_by"]["embedder"] == model
        corpus.store.close()
        return told.done


def assert_complete(path: Path, version: int, model: str) -> None:
    """The better model answers by the vectors that a fresh build has, and nothing else is left."""
    assert look(path, version)
    fresh = CorpusStore.memory()
    ir.build(ir.CorpusSource.from_mapping(contents(version), name=NAME), store=fresh, embedder=model)
    with LocalStore(path) as store:
        assert sorted(store.spaces()) == ["better", "main"]
        held, made = (one.get_vectors(one.record_ids()) for one in (store, fresh))
        assert held.keys() == made.keys()
        for record_id, row in made.items():
            np.testing.assert_allclose(held[record_id], row, rtol=1e-4, atol=1e-5)
        assert not (path / "upgrade.json").exists()
