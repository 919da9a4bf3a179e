"""A corpus whose every version is known in advance, so that a test can tell which one it sees."""

from __future__ import annotations

import os
import signal
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import numpy as np

import ir
from ir.store import LocalStore
from ir.store.local import points

WORDS = ("granite", "harbour", "lantern", "meadow", "orchard", "pebble", "quarry", "thicket", "willow", "zephyr")


def contents(version: int) -> dict[str, str]:
    """What the corpus holds in a version: some items stay, one comes, one goes, all others change their text."""
    items = {f"item-{index}": f"steady {WORDS[index]} common" for index in range(3)}
    for index in range(version % 5, version % 5 + 12):
        items[f"moving-{index}"] = f"{WORDS[index % 10]} common edition{version} part {index}"
    return items


def embed(texts: list[str]) -> np.ndarray:
    """A vector for each text that depends on nothing else."""
    rows = np.zeros((len(texts), 8), dtype=np.float32)
    for row, text in zip(rows, texts, strict=True):
        for word in text.split():
            row[sum(map(ord, word)) % 8] += 1.0
    return rows


embed._ir_id = "toy-8"  # type: ignore[attr-defined]


def build(path: Path, version: int) -> ir.Corpus:
    source = ir.CorpusSource.from_mapping(contents(version), name="world")
    return ir.build(source, store=LocalStore(path), embedder=embed)


def build_until_killed(path: Path, start: int, acknowledged: Any, point: str | None, occurrence: int = 1) -> None:
    """Build version after version, telling of each that is done; die at the given point, if one is given."""
    passed = 0

    def die(name: str) -> None:
        nonlocal passed
        if name == point:
            passed += 1
            if passed == occurrence:
                os.kill(os.getpid(), signal.SIGKILL)

    points.on_reach(die)
    version = start
    acknowledged.send(("ready", version))
    while True:
        version += 1
        build(path, version)
        acknowledged.send(("done", version))


def version_seen(path: Path) -> int:
    """Which version a fresh reader finds; fails if it is none, or only part of one."""
    store = LocalStore(path)
    corpus = ir.Corpus("world", store, embed, "toy-8")
    stored = {record_id: store.get_record(record_id) for record_id in store.record_ids()}
    held = {record.artifact_id: record.text for record in stored.values()}
    editions = {text.split("edition")[1].split()[0] for text in held.values() if "edition" in text}
    assert len(editions) == 1, f"records of several versions: {sorted(editions)}"
    version = int(editions.pop())
    assert held == contents(version)
    for mode in ("dense", "lexical", "hybrid"):
        hits = corpus.search("common", mode=mode, k=100)
        assert {hit.artifact_id: hit.text for hit in hits} == held, mode
    for name, text in held.items():
        best = corpus.search(text, mode="lexical", k=1)[0]
        assert best.text.split()[0] == text.split()[0], name
    store.close()
    return version


def read_until_told(path: Path, stop: Event, results: Any) -> None:
    """Search until told to stop; report how many searches, how many versions, and what went wrong."""
    corpus = ir.Corpus("world", LocalStore(path), embed, "toy-8")
    modes = ("dense", "lexical", "hybrid")
    searches, versions, faults = 0, set(), []
    while not stop.is_set():
        try:
            hits = corpus.search("common", mode=modes[searches % 3], k=100)
            found = {hit.artifact_id: hit.text for hit in hits}
            version = int(found["moving-6"].split("edition")[1].split()[0])
            if found != contents(version):
                faults.append(f"a mixture at version {version}")
            versions.add(version)
        except Exception as error:
            faults.append(repr(error))
        searches += 1
    results.put((searches, len(versions), faults[:5]))


def hold(path: Path, ready: Event, release: Event) -> None:
    """Keep the corpus locked."""
    with LocalStore(path).transaction():
        ready.set()
        release.wait(60)
