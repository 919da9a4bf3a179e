"""The server is killed while a corpus is built and searched: nothing acknowledged is lost, and nobody hangs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.extras import reason_for

pytest.importorskip("psycopg", reason=reason_for("psycopg"))

import numpy as np
from tests.crash import world

import ir
from ir.errors import CorpusError
from ir.links import Edge, Node
from ir.store import CorpusStore
from ir.store.base import BaseStore
from ir.testing.made import found, made
from ir.testing.postgres_server import PostgresServer, running_server

pytestmark = pytest.mark.slow


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that may be killed, and that writes to disk as a real one does."""
    with running_server() as server:
        yield server


def build(store: BaseStore, version: int) -> None:
    """All of a version in one transaction: records, a graph that tells of it, and vectors of a second model."""
    contents = world.contents(version)
    source = ir.CorpusSource.from_mapping(contents, name="world")
    with store.transaction():
        ir.build(source, store=store, embedder=world.embed)
        store.put_nodes([Node("edition", "entity", {"version": version})])
        store.set_edges({name: [Edge(name, "of", "edition", None, {"version": version})] for name in contents})
        if "second" not in store.spaces():
            store.add_space("second")
        ids = store.record_ids()
        store.put_vectors("second", {name: np.array([version, at], np.float32) for at, name in enumerate(sorted(ids))})


def version_in(store: BaseStore) -> int:
    """Which version the store holds; fails if it is none, or only part of one."""
    held = {record.artifact_id: record.text for record in map(store.get_record, store.record_ids())}
    version = int(held["moving-6"].split("edition")[1].split()[0])
    assert held == world.contents(version)
    corpus = ir.Corpus("world", store, world.embed, "toy-8")
    for mode in ("dense", "lexical", "hybrid"):
        assert {hit.artifact_id: hit.text for hit in corpus.search("common", mode=mode, k=100)} == held
    with store.snapshot() as snapshot:
        (into,) = snapshot.neighbours(["edition"], direction="in")
        assert sorted(one.id for one in into) == sorted(held)
        told: list[Any] = [*into, *snapshot.neighbours(list(held))[0], snapshot.nodes(["edition"])["edition"]]
        assert {one.properties["version"] for one in told} == {version}
    vectors = store.get_vectors(store.record_ids(), space="second")
    assert {vector.tolist()[0] for vector in vectors.values()} == {version}
    assert (len(vectors), store.unembedded(space="second")) == (len(held), [])
    whole = CorpusStore.memory()
    build(whole, version)
    assert store.content_version == whole.content_version
    return version


def test_killed_while_building(own_server: PostgresServer) -> None:
    store = CorpusStore.open(own_server.url("postgres", corpus="world", timeout=10))
    acknowledged = 0
    for round_number in range(4):
        failure: list[BaseException] = []
        begun = threading.Event()

        def work(failure: list[BaseException] = failure, begun: threading.Event = begun) -> None:
            nonlocal acknowledged
            try:
                while True:
                    build(store, acknowledged + 1)
                    acknowledged += 1
                    begun.set()
            except CorpusError as error:
                failure.append(error)

        builder = threading.Thread(target=work)
        builder.start()
        assert begun.wait(60)
        threading.Event().wait(0.013 * round_number)  # another instant of a build in each round
        own_server.kill()
        builder.join(30)
        assert not builder.is_alive(), "the builder hangs"
        assert len(failure) == 1
        assert "was lost" in str(failure[0]) or "takes no connections" in str(failure[0])
        own_server.start()
        assert version_in(store) in (acknowledged, acknowledged + 1)
        acknowledged = version_in(store)
    store.close()


def test_killed_while_searched(own_server: PostgresServer) -> None:
    url = own_server.url("postgres", corpus="world", timeout=10)
    with CorpusStore.open(url) as store:
        build(store, 1)
    stop, faults, searches = threading.Event(), list[Exception](), [0, 0]

    def search(which: int) -> None:
        with CorpusStore.open(url) as mine:
            corpus = ir.Corpus("world", mine, world.embed, "toy-8")
            while not stop.is_set():
                began = time.monotonic()
                try:
                    hits = corpus.search("common", mode="hybrid", k=100)
                    assert {hit.artifact_id: hit.text for hit in hits} == world.contents(1)
                    searches[which] += 1
                except Exception as error:
                    faults.append(error)
                    if not isinstance(error, CorpusError):
                        return
                    stop.wait(0.02)
                if time.monotonic() - began > 20:
                    faults.append(TimeoutError())

    threads = [threading.Thread(target=search, args=(which,)) for which in (0, 1)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        _until(lambda before=tuple(searches): all(now > was for now, was in zip(searches, before, strict=True)))
        own_server.kill()
        seen = len(faults)
        _until(lambda seen=seen: len(faults) > seen)
        own_server.start()
    _until(lambda before=tuple(searches): all(now > was for now, was in zip(searches, before, strict=True)))
    stop.set()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert {type(fault) for fault in faults} == {CorpusError}


def test_a_connection_that_the_crash_broke_is_not_used_again(own_server: PostgresServer) -> None:
    with CorpusStore.open(own_server.url("postgres", corpus="small")) as store:
        store.put_record(made("a", "red fox"))
        own_server.kill()
        # The first call may meet the broken connection itself; whichever it meets, nothing of it is kept.
        with pytest.raises(CorpusError, match=r"takes no connections|was lost"):
            found(store, "fox")
        own_server.start()
        assert found(store, "fox") == ["a"]
        store.put_record(made("b", "blue fox"))
        assert found(store, "fox") == ["a", "b"]


def _until(holds: object, seconds: float = 30) -> None:
    assert callable(holds)
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.005)
