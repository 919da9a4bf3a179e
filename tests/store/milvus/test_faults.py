"""What happens to a corpus in Milvus when things go wrong: the Milvus core in process, not a cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

pytest.importorskip("milvus_lite")

import ir
from ir.analysis import analyzer
from ir.errors import CorpusBusy, CorpusError, FormatMismatch
from ir.store.milvus import Address, MilvusStore
from ir.store.milvus.connection import Connection
from ir.store.milvus.lease import FileLock, Lease
from ir.store.milvus.schema import ALIVE, Collections
from ir.store.milvus.state import State
from ir.testing.made import EVERYTHING, found, ids, made, unit, words
from ir.testing.transaction_contract import assert_filled, fill, spoil


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"milvus+lite:{tmp_path}/corpora.db?corpus=c"


_DYING_WRITER = """
    import sys, time
    from ir.store.milvus import MilvusStore
    from ir.testing.transaction_contract import spoil
    store = MilvusStore(sys.argv[1])
    with store.transaction():
        spoil(store)
        store.put_records([__import__("ir.testing.made").testing.made.made(f"n{at}") for at in range(50)])
        store._open().flush()
        print("written", flush=True)
        time.sleep(600)
"""


def test_a_killed_writer_leaves_what_was_there(url: str) -> None:
    with MilvusStore(url) as store:
        fill(store)
        before = store.version
    writer = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(_DYING_WRITER), url], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"written\n"
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait(30)
    writer.stdout.close()
    with MilvusStore(url) as store:
        assert store.version == before
        assert_filled(store)
        store.put_record(made("d", "dates"))
        assert sorted(store.record_ids()) == ["a", "b", "d"]
        rows = store._connection.query(store._collections.records(3), "ref >= 0", ["id", "died"])
        assert sorted((row["id"], row["died"]) for row in rows) == [("a", ALIVE), ("b", ALIVE), ("d", ALIVE)]
        spoil(store)
        assert sorted(store.record_ids()) == ["a", "c", "d"]
        assert found(store, "apples pears") == []


def test_dead_rows_stay_for_a_while_and_then_go(url: str) -> None:
    with MilvusStore(url) as store:
        fill(store)
        with store.snapshot() as held:
            store.delete_record("a")
            store.put_record(made("x"))
            assert ids(held, held.lexical(words("apples"), 5, EVERYTHING)) == ["a"]
    with MilvusStore(f"{url}&keep=0") as store:
        store.put_record(made("y"))
        rows = store._connection.query(store._collections.records(3), "ref >= 0", ["id"])
        assert sorted(row["id"] for row in rows) == ["b", "x", "y"]


def test_a_version_that_is_gone_says_so(url: str) -> None:
    with MilvusStore(f"{url}&keep=0") as store, MilvusStore(f"{url}&keep=0") as other:
        fill(store)
        with store.snapshot() as held:
            refs = held.dense(unit(1, 0, 0), 5, EVERYTHING).refs
            other.delete_records(["a", "b"])
            other.put_record(made("x"))
            other.put_record(made("y"))
            with pytest.raises(CorpusError, match="no longer kept"):
                held.rows(refs)


def test_two_processes_cannot_open_one_file(url: str) -> None:
    script = f"from ir.store.milvus import MilvusStore; print(len(MilvusStore({url!r})))"
    with MilvusStore(url) as store:
        store.put_record(made("a"))
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "CorpusBusy" in done.stderr
    assert "another process has it open" in done.stderr


def test_nobody_answers() -> None:
    store = MilvusStore("milvus://127.0.0.1:9/default/c?timeout=2")
    began = time.monotonic()
    with pytest.raises(CorpusError, match=r"milvus://127.0.0.1:9/default/c did not answer within 2 seconds"):
        len(store)
    assert time.monotonic() - began < 30


def test_a_format_of_the_future_is_refused(url: str) -> None:
    with MilvusStore(url) as store:
        fill(store)
        rows = store._connection.query(store._collections.state, 'name == "state"', ["name", "value", "none"])
        held = {**json.loads(rows[0]["value"]), "format": 99}
        store._connection.upsert(store._collections.state, [{**rows[0], "value": json.dumps(held)}])
        with pytest.raises(FormatMismatch, match="has format 99"):
            len(store)


def test_a_reader_is_told_of_words_that_an_older_analyzer_gave(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with MilvusStore(url) as store:
        fill(store)
        corpus = ir.Corpus("notes", store, "light", "light")
        assert corpus.search("text", mode="lexical").meta["degraded"] == []
        monkeypatch.setattr(analyzer, "VERSION", analyzer.VERSION + 1)
        with monkeypatch.context() as forbidden:
            forbidden.setattr(MilvusStore, "_catch_up", lambda self: None)
            meta = corpus.search("text", mode="lexical").meta
        assert meta["degraded"] == ["lexical"]
        assert "'notes' are indexed as 'terms" in meta["notes"][0]
    with MilvusStore(url) as store:
        assert ir.Corpus("notes", store, "light", "light").search("text", mode="lexical").meta["degraded"] == []


def test_a_dropped_corpus_is_empty(url: str) -> None:
    with MilvusStore(url) as store:
        fill(store)
        store.drop()
        assert (store.exists(), len(store), store.get_config()) == (False, 0, {})
        fill(store)
        assert_filled(store)


class TestLease:
    """The lock for servers, here over a file: its rows are the same."""

    @pytest.fixture
    def pair(self, url: str) -> tuple[Lease, Lease, Connection, str]:
        connection = Connection(Address.parse(url))
        collections = Collections(connection)
        collections.make_shared()
        return (
            Lease(connection, collections.state, 60),
            Lease(connection, collections.state, 60),
            connection,
            collections.state,
        )

    def test_one_at_a_time(self, pair: tuple[Lease, Lease, Connection, str]) -> None:
        first, second, *_ = pair
        assert first.acquire(1) is False
        first.check()
        with pytest.raises(CorpusBusy, match=f"process {os.getpid()}"):
            second.acquire(0.2)
        first.release()
        assert second.acquire(1) is False
        with pytest.raises(CorpusBusy, match="took this one for dead"):
            first.check()
        second.release()

    def test_the_dead_are_cleared_away(self, pair: tuple[Lease, Lease, Connection, str]) -> None:
        first, _, connection, collection = pair
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait(60)
        import socket

        here = {"host": socket.gethostname(), "pid": ended.pid, "until": time.time() + 999}
        elsewhere = {"host": "another", "pid": 1, "until": time.time() - 1}
        for name, holder in (("lease:a", here), ("lease:b", elsewhere)):
            connection.upsert(collection, [{"name": name, "value": json.dumps(holder), "none": [0.0, 0.0]}])
        assert first.acquire(5) is True
        rows = connection.query(collection, 'name like "lease:%"', ["name"])
        assert len(rows) == 1
        first.release()
        assert State.read(connection, collection).version == 0


def test_a_writer_waits_as_long_as_it_was_told(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = []
    acquire = FileLock.acquire
    monkeypatch.setattr(FileLock, "acquire", lambda lock, patience: waited.append(patience) or acquire(lock, patience))
    with MilvusStore(f"{url}&lock_timeout=3") as store:
        store.put_record(made("a"))
        store.lock_timeout = 0.0  # as a search does that finds changes on its way
        store.put_record(made("b"))
    assert waited == [3.0, 0.0]
