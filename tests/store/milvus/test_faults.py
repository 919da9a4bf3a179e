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

import numpy as np
import pytest
from tests.extras import reason_for

pytest.importorskip("milvus_lite", reason=reason_for("milvus_lite"))

import ir
from ir.analysis import analyzer
from ir.errors import CorpusBusy, CorpusError, FormatMismatch
from ir.links import Node
from ir.store.milvus import Address, MilvusStore
from ir.store.milvus.connection import Connection
from ir.store.milvus.lease import FileLock, Lease
from ir.store.milvus.schema import ALIVE, Collections
from ir.store.milvus.state import State
from ir.testing.graph_contract import seen
from ir.testing.made import EVERYTHING, found, ids, made, unit, words
from ir.testing.transaction_contract import abort, assert_filled, fill, spoil


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"milvus+lite:{tmp_path}/corpora.db?corpus=c"


_DYING_WRITER = """
    import sys, time
    import numpy as np
    from ir.links import Node
    from ir.store.milvus import MilvusStore
    from ir.testing.made import made
    from ir.testing.transaction_contract import spoil
    store = MilvusStore(sys.argv[1])
    with store.transaction():
        spoil(store)
        store.put_records([made(f"n{at}") for at in range(50)])
        store.put_nodes([Node("a", "spoiled"), Node("new", "spoiled")])
        store.set_links("b", {"ref": ["a"]})
        store.add_space("third")
        store.put_vectors("third", {"a": np.ones(4)})
        store.put_vectors("other", {"a": np.ones(2), "c": np.ones(2)})
        store.set_default_space("third")
        store.drop_space("main")
        store._open().flush()
        print("written", flush=True)
        time.sleep(600)
"""


def test_a_killed_writer_leaves_what_was_there(url: str) -> None:
    with MilvusStore(url) as store:
        fill(store)
        store.put_nodes([Node("a", "document")])
        store.add_space("other")
        store.put_vectors("other", {"a": np.array([0.0, 1.0])})
        before, content = store.version, store.content_version
    writer = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(_DYING_WRITER), url], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"written\n"
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait(30)
    writer.stdout.close()
    with MilvusStore(url) as store:
        assert (store.version, store.content_version) == (before, content)
        assert_filled(store)
        assert_graph_and_spaces(store)
        store.put_record(made("d", "dates"))
        assert sorted(store.record_ids()) == ["a", "b", "d"]
        assert_graph_and_spaces(store)
        assert len(store._collections.spaces_there()) == 2
        for collection in (store._collections.edges, *store._state().tables):
            rows = store._connection.query(collection, "ref >= 0", ["born", "died"])
            assert {row["died"] for row in rows} == {ALIVE}
        rows = store._connection.query(store._collections.records, "ref >= 0", ["id", "died"])
        assert sorted((row["id"], row["died"]) for row in rows) == [("a", ALIVE), ("b", ALIVE), ("d", ALIVE)]
        spoil(store)
        assert sorted(store.record_ids()) == ["a", "c", "d"]
        assert found(store, "apples pears") == []


def assert_graph_and_spaces(store: MilvusStore) -> None:
    """What was there beside :func:`fill`, and nothing of the writer that died."""
    with store.snapshot() as snapshot:
        assert seen(snapshot, "a", direction="both") == [("out", "ref", "b", "here")]
        assert snapshot.nodes(["a", "new"]) == {"a": Node("a", "document")}
        assert (snapshot.default_space, snapshot.spaces()) == ("main", {"main": 3, "other": 2})
        assert ids(snapshot, snapshot.dense(unit(0, 1), 5, EVERYTHING, "other")) == ["a"]
        assert ids(snapshot, snapshot.dense(unit(1, 0, 0), 1, EVERYTHING)) == ["a"]


def test_dead_rows_stay_for_a_while_and_then_go(url: str) -> None:
    with MilvusStore(url) as store:
        fill(store)
        with store.snapshot() as held:
            store.delete_record("a")
            store.put_record(made("x"))
            assert ids(held, held.lexical(words("apples"), 5, EVERYTHING)) == ["a"]
    with MilvusStore(f"{url}&keep=0") as store:
        store.put_record(made("y"))
        rows = store._connection.query(store._collections.records, "ref >= 0", ["id"])
        assert sorted(row["id"] for row in rows) == ["b", "x", "y"]


def test_a_version_that_is_gone_says_so(url: str) -> None:
    with MilvusStore(f"{url}&keep=0") as store, MilvusStore(f"{url}&keep=0") as other:
        fill(store)
        with store.snapshot() as held:
            refs = held.dense(unit(1, 0, 0), 5, EVERYTHING).refs
            other.delete_records(["a", "b"])
            other.put_record(made("x"))
            other.put_record(made("y"))
            for ask in (
                lambda: held.rows(refs),
                lambda: held.dense(unit(1, 0, 0), 5, EVERYTHING),
                lambda: held.lexical(words("apples"), 5, EVERYTHING),
                lambda: held.dense_scores(unit(1, 0, 0), refs),
                lambda: held.lexical_scores(words("apples"), refs),
                lambda: held.term_stats(["apple"]),
            ):
                with pytest.raises(CorpusError, match="no longer kept"):
                    ask()


def test_two_processes_cannot_open_one_file(url: str) -> None:
    script = f"from ir.store.milvus import MilvusStore; print(len(MilvusStore({url!r})))"
    with MilvusStore(url) as store:
        store.put_record(made("a"))
        for _ in range(2):  # one that was refused leaves the door shut for the next
            done = subprocess.run(
                [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
            )
            assert done.returncode == 1
            assert "CorpusBusy" in done.stderr
            assert "another process has it open" in done.stderr


def test_the_server_of_a_killed_process_is_given_time_to_leave(url: str, tmp_path: Path) -> None:
    with MilvusStore(url) as store:
        store.put_record(made("a"))
        file = Path(store.address.uri)
    lock = file.parent / f".{file.name}.lock"
    hold = f"""
        import fcntl, time
        with open({str(lock)!r}, "a") as held:
            fcntl.lockf(held, fcntl.LOCK_EX)
            print("held", flush=True)
            time.sleep(1)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(hold)], stdout=subprocess.PIPE) as leaving:
        assert leaving.stdout is not None
        assert leaving.stdout.readline() == b"held\n"
        with MilvusStore(url) as store:
            assert len(store) == 1


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


def test_a_corpus_of_the_format_before_is_refused_with_what_to_do(url: str) -> None:
    with MilvusStore(url) as store:
        fill(store)
        client = store._connection.client
        # The format before had the vectors beside the words, in a collection for each size.
        client.create_collection(f"{store.address.prefix}_records_3", dimension=3)
        former = {"format": 1, "version": 3, "dim": 3, "records": 2, "dims": [3], "next_ref": 3}
        row = {"name": "state", "value": json.dumps(former), "none": [0.0, 0.0]}
        store._connection.upsert(store._collections.state, [row])
    with MilvusStore(url) as store:
        for use in (lambda: len(store), lambda: fill(store)):
            with pytest.raises(FormatMismatch, match="has format 1; this version of ir reads format 2") as told:
                use()
            assert f'MilvusStore("{store.address.label}").drop(), and build it again' in str(told.value.remedy)
        store.drop()
        assert store._connection.names() == []
        fill(store)
        assert_filled(store)


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


def test_what_could_not_be_undone_is_undone_by_the_next_writer(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with MilvusStore(url) as store, MilvusStore(url) as other:
        fill(store)
        other.set_calibration("lexical", {"floor": 3})
        other.delete_calibration("lexical")
        with monkeypatch.context() as away:
            away.setattr(Connection, "delete", _nobody_there)
            with pytest.raises(CorpusError, match="did not answer"):
                abort(store, spoil)
        assert_filled(other)
        other.put_record(made("d", "dates"))
        assert sorted(other.record_ids()) == ["a", "b", "d"]
        assert [found(other, fruit) for fruit in ("apples", "pears", "plums", "cherries")] == [["a"], ["b"], [], []]
        assert list(other.link_items()) == [("a", {"ref": ["b"]})]


def _nobody_there(*_: object) -> None:
    raise CorpusError("The server did not answer.")


def test_a_writer_that_was_taken_for_dead_leaves_what_the_next_one_wrote(url: str) -> None:
    with MilvusStore(url) as store, MilvusStore(url) as other:
        fill(store)
        for one in (store, other):
            one._lock_held = Lease(one._connection, one._collections.state)
        asleep = {"host": "another", "pid": 1, "until": time.time() - 1}

        def be_overtaken(store: MilvusStore) -> None:
            spoil(store)
            (row,) = store._connection.query(store._collections.state, 'name like "lease:%"', ["name", "none"])
            store._connection.upsert(store._collections.state, [{**row, "value": json.dumps(asleep)}])
            other.put_record(made("d", "dates"))

        with pytest.raises(CorpusBusy, match="took this one for dead"), store.transaction():
            be_overtaken(store)
        assert sorted(store.record_ids()) == sorted(other.record_ids()) == ["a", "b", "d"]
        assert found(store, "dates") == ["d"]
        with store.snapshot() as snapshot:
            assert sorted(ids(snapshot, snapshot.dense(unit(1, 0, 0), 5, EVERYTHING))) == ["a", "b", "d"]


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

    def test_who_could_not_undo_something_leaves_a_word(self, pair: tuple[Lease, Lease, Connection, str]) -> None:
        first, second, connection, _ = pair
        short = Lease(connection, first._collection, 0.2)
        assert short.acquire(1) is False
        short.unfinished = True
        short.release()
        assert second.acquire(5) is True
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
