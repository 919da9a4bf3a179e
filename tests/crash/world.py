"""A corpus whose every version is known in advance, so that a test can tell which one it sees."""

from __future__ import annotations

import os
import signal
from functools import cache
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import numpy as np

import ir
from ir.links import Node
from ir.protocols import Where
from ir.store import LocalStore
from ir.store.base import BaseStore
from ir.store.local import crash_points

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
    return build_into(LocalStore(path), version)


def build_into(store: BaseStore, version: int) -> ir.Corpus:
    """A version with its links, its one entity, and a second space of vectors, all in one transaction."""
    source = ir.CorpusSource.from_mapping(contents(version), name="world")
    with store.transaction():
        corpus = ir.build(source, store=store, embedder=embed, edge_extractor=lambda name, _: links(name, version))
        store.put_nodes([Node("edition", "entity", {"version": version})])
        if "second" not in store.spaces():
            store.add_space("second")
        missing = store.get_records(store.unembedded(space="second"))
        store.put_vectors("second", {record.id: embed([record.text[::-1]])[0] for record in missing})
    return corpus


def links(name: str, version: int) -> dict[str, list[str]]:
    return {"of": ["edition"], "next": [f"moving-{version}"]} if name.startswith("moving") else {}


@cache
def content_version(version: int) -> str:
    """What a corpus that never went through anything says of its content."""
    store = ir.CorpusStore.memory()
    build_into(store, version)
    return store.content_version


def assert_linked(store: BaseStore, version: int) -> None:
    """The graph and the second space are those of the version too."""
    names = [name for name in contents(version) if name.startswith("moving")]
    with store.snapshot() as snapshot:
        assert snapshot.nodes(["edition"])["edition"].properties == {"version": version}
        (found,) = snapshot.neighbours(["edition"], direction="in")
        assert sorted(one.id for one in found) == sorted(names)
        for name, out in zip(names, snapshot.neighbours(names), strict=True):
            assert [one.id for one in out] == ["edition", f"moving-{version}"], name
        assert snapshot.unembedded("second") == 0
        everything = snapshot.dense(np.full(8, 8**-0.5, dtype=np.float32), 100, Where(), "second")
        assert len(everything.refs) == len(snapshot) == len(contents(version))
        assert snapshot.content_version == content_version(version)


def build_until_killed(path: Path, start: int, acknowledged: Any, point: str | None, occurrence: int = 1) -> None:
    """Build version after version, telling of each that is done; die at the given point, if one is given."""
    passed = 0

    def die(name: str) -> None:
        nonlocal passed
        if name == point:
            passed += 1
            if passed == occurrence:
                os.kill(os.getpid(), signal.SIGKILL)

    crash_points.on_reach(die)
    version = start
    acknowledged.send(("ready", version))
    while True:
        version += 1
        build(path, version)
        acknowledged.send(("done", version))


def delete_and_restore(path: Path) -> None:
    """Leave remains of a record in every file, and the corpus as it was."""
    store = LocalStore(path)
    held = store.get_records(store.record_ids())[0]
    vectors = store.get_vectors([held.id], space="second")
    store.delete_record(held.id)
    store.put_records([held])
    store.put_vectors("second", vectors)
    store.close()


def compact_until_killed(path: Path, point: str) -> None:
    """Compact, and die at the given point."""

    def die(name: str) -> None:
        if name == point:
            os.kill(os.getpid(), signal.SIGKILL)

    crash_points.on_reach(die)
    LocalStore(path).clean(compact=True)


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
    assert_linked(store, version)
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
