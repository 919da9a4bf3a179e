"""A corpus goes from any store to any other, whole, even if the way is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.extras import needs

from ir.errors import CorpusError, CorpusNotBuilt, InvalidInput
from ir.links import Edge, Node
from ir.store import CorpusStore
from ir.store.local import LocalStore
from ir.testing.made import found, made
from ir.transfer import COPYING, copy_store, tally

CONFIG = {"name": "n", "embedder_id": "toy", "embedder": "toy", "language": "german", "dim": 3}


def filled(store: Any, records: int = 25) -> Any:
    with store.transaction():
        store.set_config(CONFIG)
        store.put_records(
            [
                made(f"r{at}", f"Die Häuser {at}", (1, at, 0.1), artifact=f"a{at // 2}", index=at % 2, page=at)
                for at in range(records)
            ]
        )
        for at in range(records // 2 + 1):
            store.set_ledger_entry(f"k{at}", {"artifact_id": f"a{at}", "record_ids": [f"r{2 * at}"]})
        store.set_links("a1", {"ref": ["a2", ["other", "x"]]})
        store.put_nodes([Node("a1", "chapter", {"page": 3}), Node("entity", "person")])
        store.set_edges({"entity": [Edge("entity", "wrote", "a1", None, {"line": 4})]})
        store.set_symbols("k", {"defines": ["f"]})
        store.add_space("second")
        store.put_vectors("second", {f"r{at}": np.array([1.0, at]) for at in range(0, records, 3)})
        store.set_calibration("dense", {"floor": 0.3})
    return store


def milvus(folder: Path) -> Any:
    needs("milvus_lite")
    from ir.store.milvus import MilvusStore

    return MilvusStore(f"milvus+lite:{folder}/corpora.db?corpus=copy")


def postgres(folder: Path) -> Any:
    needs("psycopg")
    from ir.testing.postgres_server import PostgresServer

    if not PostgresServer.available():
        pytest.skip("no PostgreSQL server can be started here")
    from tests.store.postgres.fixtures import new_corpus_url

    return CorpusStore.open(new_corpus_url())


def mongo(folder: Path) -> Any:
    needs("pymongo")
    from tests.store.mongo.fixtures import new_corpus_url as new_mongo_url

    return CorpusStore.open(new_mongo_url())


MAKERS: dict[str, Callable[[Path], Any]] = {
    "memory": lambda folder: CorpusStore.memory(),
    "local": lambda folder: LocalStore(folder / "corpus"),
    "milvus": milvus,
    "postgres": postgres,
    "mongo": mongo,
}
SERVERS = [pytest.param(name, marks=pytest.mark.slow) for name in ("milvus", "postgres", "mongo")]


@pytest.mark.parametrize("to", ["memory", "local", *SERVERS])
@pytest.mark.parametrize("start", ["memory", "local", *SERVERS])
def test_between_any_two(tmp_path: Path, start: str, to: str) -> None:
    folders = (tmp_path / "from", tmp_path / "to")
    for folder in folders:
        folder.mkdir()
    with MAKERS[start](folders[0]) as source, MAKERS[to](folders[1]) as target:
        report = copy_store(filled(source), target, batch=7)
        assert (report.records, report.ledger, report.links, report.calibrations) == (25, 13, 2, 1)
        assert (report.written, report.already_there, report.exact) == (25, 0, True)
        assert tally(target) == tally(source)
        assert target.get_config() == CONFIG
        assert target.get_record("r7").vector.tolist() == source.get_record("r7").vector.tolist()
        assert target.get_links("a1") == {"ref": ["a2", ["other", "x"]]}
        assert found(target, "das Haus 3", "german") == found(source, "das Haus 3", "german")
        assert len(found(target, "das Haus", "german")) == 25


@pytest.mark.slow
def test_to_half_precision(tmp_path: Path) -> None:
    postgres(tmp_path).close()  # leaves the test if there is no server
    from tests.store.postgres.fixtures import new_corpus_url

    with CorpusStore.open(new_corpus_url(vectors="half")) as target:
        source = filled(CorpusStore.memory())
        assert copy_store(source, target).exact is False
        assert sorted(target.record_ids()) == sorted(source.record_ids())


class Stopping:
    """A store whose connection breaks after some writes."""

    def __init__(self, store: Any, writes: int) -> None:
        self._store = store
        self._left = writes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def __len__(self) -> int:
        return len(self._store)

    def put_records(self, records: Any) -> None:
        if self._left == 0:
            raise ConnectionError("gone")
        self._left -= 1
        self._store.put_records(records)


def test_a_copy_that_broke_off_is_taken_up() -> None:
    source, target = filled(CorpusStore.memory()), CorpusStore.memory()
    with pytest.raises(ConnectionError, match="gone"):
        copy_store(source, Stopping(target, 2), batch=5)
    assert len(target) == 10
    assert "embedder_id" not in target.get_config()
    report = copy_store(source, Stopping(target, 3), batch=5)
    assert (report.written, report.already_there) == (15, 10)
    assert tally(target) == tally(source)
    assert target.get_config() == CONFIG


def test_what_changed_in_between_is_brought_over_too() -> None:
    source, target = filled(CorpusStore.memory()), CorpusStore.memory()
    with pytest.raises(ConnectionError):
        copy_store(source, Stopping(target, 4), batch=5)
    first = target.record_ids()[0]
    source.put_record(made(first, "neu", (9, 9, 9)))
    gone = target.record_ids()[1]
    source.delete_record(gone)
    source.delete_ledger_entry("k3")
    report = copy_store(source, target, batch=5)
    assert (report.written, report.already_there, report.removed) == (6, 18, 1)
    assert target.get_record(first).text == "neu"
    assert tally(target) == tally(source)


_COPYING = """
    import sys
    from ir.store import CorpusStore
    from ir.transfer import copy_store
    target = CorpusStore.open(sys.argv[2])
    write = target._write_records
    def slowly(records, space):
        write(records, space)
        print("batch", flush=True)
        sys.stdin.readline()
    target._write_records = slowly
    copy_store(CorpusStore.open(sys.argv[1]), target, batch=5)
"""


def local_address(folder: Path) -> str:
    return f"{folder}/to"


def milvus_address(folder: Path) -> str:
    return str(milvus(folder).address.label)


def postgres_address(folder: Path) -> str:
    postgres(folder).close()  # leaves the test if there is no server
    from tests.store.postgres.fixtures import new_corpus_url

    return new_corpus_url()


def mongo_address(folder: Path) -> str:
    needs("pymongo")
    from tests.store.mongo.fixtures import new_corpus_url as new_mongo_url

    return new_mongo_url()


@pytest.mark.slow
@pytest.mark.parametrize("address", [local_address, postgres_address, milvus_address, mongo_address])
def test_a_killed_copy_is_taken_up(tmp_path: Path, address: Callable[[Path], str]) -> None:
    source, to = filled(LocalStore(tmp_path / "from")), address(tmp_path)
    arguments = [sys.executable, "-c", textwrap.dedent(_COPYING), f"{tmp_path}/from", to]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as copier:
        assert copier.stdin is not None
        assert copier.stdout is not None
        for _ in range(3):
            assert copier.stdout.readline() == b"batch\n"
            copier.stdin.write(b"\n")
            copier.stdin.flush()
        assert copier.stdout.readline() == b"batch\n"
        os.kill(copier.pid, signal.SIGKILL)
    with CorpusStore.open(to) as target:
        assert COPYING in target.get_config()
        report = copy_store(source, target, batch=5)
        # The batch that was being written when the copier died was not committed.
        assert (report.already_there, report.written) == (15, 10)
        assert tally(target) == tally(source)
        assert target.get_config() == CONFIG
    source.close()


@pytest.mark.parametrize("kind", ["local", *SERVERS[:2]])  # what is in MongoDB is read whole by whoever reads it
def test_no_more_than_a_batch_is_held(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = (tmp_path / "from", tmp_path / "to")
    for folder in folders:
        folder.mkdir()
    with MAKERS[kind](folders[0]) as source, MAKERS[kind](folders[1]) as target:
        filled(source)
        with pytest.raises(ConnectionError):
            copy_store(source, Stopping(target, 2), batch=5)
        source.delete_record("r0")
        source.delete_ledger_entry("k3")

        def whole(*_: Any) -> Any:
            raise AssertionError("everything at once")

        for name in ("record_ids", "_all_records", "matrix"):
            monkeypatch.setattr(type(source), name, whole)
        for name in ("ledger_items", "link_items"):
            monkeypatch.setattr(CorpusStore, name, whole)
        report = copy_store(source, target, batch=5)
        assert (report.written + report.already_there, report.removed) == (24, 1)
        assert report.already_there >= 8
        assert max(map(len, target.iter_records(5))) == 5
        assert max(map(len, target.iter_entries("ledger", 5))) == 5
        assert tally(target) == tally(source)


def test_a_target_that_holds_something_is_refused() -> None:
    source, target = filled(CorpusStore.memory()), filled(CorpusStore.memory(), 3)
    target.put_records([made(f"r{at}", vector=(1, 2, 3)) for at in range(3)])
    target.set_calibration("lexical", {"floor": 9})
    before = tally(target)
    with pytest.raises(InvalidInput, match="holds a corpus of 3 records already"):
        copy_store(source, target)
    assert tally(target) == before
    copy_store(source, target, overwrite=True)
    assert tally(target) == tally(source)


def test_vectors_of_another_size_are_overwritten() -> None:
    source, target = filled(CorpusStore.memory()), CorpusStore.memory()
    target.put_record(made("old", vector=(1, 2)))
    copy_store(source, target, overwrite=True)
    assert sorted(target.record_ids()) == sorted(source.record_ids())


def test_nothing_to_copy() -> None:
    with pytest.raises(CorpusNotBuilt, match="source is empty"):
        copy_store(CorpusStore.memory(), CorpusStore.memory())


def test_half_a_copy_is_no_source() -> None:
    source, middle = filled(CorpusStore.memory()), CorpusStore.memory()
    with pytest.raises(ConnectionError):
        copy_store(source, Stopping(middle, 1), batch=5)
    with pytest.raises(InvalidInput, match="broke off"):
        copy_store(middle, CorpusStore.memory())


class Forgetful(Stopping):
    def put_records(self, records: Any) -> None:
        self._store.put_records(records[1:])


def test_a_lost_record_is_noticed() -> None:
    source, target = filled(CorpusStore.memory()), CorpusStore.memory()
    source.drop_space("second")
    with pytest.raises(CorpusError, match="copy's records differ"):
        copy_store(source, Forgetful(target, 0))
    assert COPYING in target.get_config()


class Half(Stopping):
    def put_records(self, records: Any) -> None:
        import dataclasses

        self._store.put_records(
            [dataclasses.replace(one, vector=one.vector.astype("f2").astype("f4")) for one in records]
        )


def test_half_precision_is_told() -> None:
    report = copy_store(filled(CorpusStore.memory()), Half(CorpusStore.memory(), 0))
    assert report.exact is False


def test_a_source_that_changes_meanwhile_is_told() -> None:
    source = filled(CorpusStore.memory())

    class Disturbing(Stopping):
        def put_records(self, records: Any) -> None:
            self._store.put_records(records)
            source.put_record(made("late"))

    with pytest.raises(CorpusError, match="written to while it was copied"):
        copy_store(source, Disturbing(CorpusStore.memory(), 0))
