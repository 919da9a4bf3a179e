"""What happens to a corpus in MongoDB when things go wrong: DocumentDB, not mongod."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.extras import reason_for

pytest.importorskip("pymongo", reason=reason_for("pymongo"))

import pymongo

from ir.errors import CorpusBusy, CorpusError, FormatMismatch, InvalidInput
from ir.links import Node
from ir.store.mongo import MongoStore
from ir.store.mongo.rows import ALIVE, Rows
from ir.testing.graph_contract import seen
from ir.testing.made import EVERYTHING, found, ids, made, unit, words
from ir.testing.transaction_contract import assert_filled, fill, spoil


@pytest.fixture
def store(corpus_url: str) -> Iterator[MongoStore]:
    with MongoStore(corpus_url) as store:
        yield store


def rows(store: MongoStore, **query: Any) -> list[dict[str, Any]]:
    return list(store._rows._collection.find(query))


def state(store: MongoStore) -> Any:
    return store._lease._collection


_WRITER = """
    import sys
    import numpy as np
    from ir.links import Node
    from ir.store.mongo import MongoStore
    from ir.testing.made import made
    from ir.testing.transaction_contract import spoil
    store = MongoStore(sys.argv[1])
    if sys.argv[2] == "at the commit":
        def wait(*_):
            print("written", flush=True)
            sys.stdin.readline()
        store._lease.commit = wait
    with store.transaction():
        spoil(store)
        store.put_records([made(f"n{at}") for at in range(50)])
        store.put_nodes([Node("a", "spoiled"), Node("new", "spoiled")])
        store.add_space("third")
        store.put_vectors("third", {"a": np.ones(4)})
        if sys.argv[2] == "in the block":
            print("written", flush=True)
            sys.stdin.readline()
"""


def writing(url: str, where: str) -> subprocess.Popen[bytes]:
    """Another process, in the middle of a transaction."""
    arguments = [sys.executable, "-c", textwrap.dedent(_WRITER), url, where]
    writer = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"written\n"
    return writer


@pytest.mark.parametrize("where", ["in the block", "at the commit"])
def test_a_killed_writer_leaves_what_was_there(store: MongoStore, corpus_url: str, where: str) -> None:
    fill(store)
    store.put_nodes([Node("a", "document")])
    before, content = store.version, store.content_version
    with writing(corpus_url, where) as writer:
        assert_filled(store)
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait(30)
    with MongoStore(corpus_url) as again:
        assert (again.version, again.content_version) == (before, content)
        assert_filled(again)
        again.put_record(made("d", "dates"))
        assert sorted(again.record_ids()) == ["a", "b", "d"]
        with again.snapshot() as snapshot:
            assert seen(snapshot, "a", direction="both") == [("out", "ref", "b", "here")]
            assert snapshot.nodes(["a", "new"]) == {"a": Node("a", "document")}
            assert (snapshot.default_space, snapshot.spaces()) == ("main", {"main": 3})
        assert {row["died"] for row in rows(again, view="record")} == {ALIVE}
        assert sorted(row["key"] for row in rows(again, view="record")) == ["a", "b", "d"]
        spoil(again)
        assert sorted(again.record_ids()) == ["a", "c", "d"]
        assert found(again, "apples pears") == []


def test_a_second_process_is_told_who_writes_and_reads_meanwhile(corpus_url: str) -> None:
    with MongoStore(f"{corpus_url}&lock_timeout=0.3") as store:
        fill(store)
        with writing(corpus_url, "in the block") as writer:
            assert_filled(store)
            with pytest.raises(CorpusBusy, match=f"process {writer.pid} on "):
                store.put_record(made("late"))
            writer.communicate(b"\n", timeout=60)
        assert (len(store), store.get_config()["name"]) == (52, "other")
        store.put_record(made("late"))
        assert len(store) == 53


_ADDING = """
    import sys
    from ir.store.mongo import MongoStore
    from ir.testing.made import made
    store = MongoStore(sys.argv[1])
    for at in range(4):
        store.put_record(made(f"{sys.argv[2]}{at}"))
"""


def test_nothing_is_lost_between_writers(corpus_url: str) -> None:
    script = textwrap.dedent(_ADDING)
    several = [
        subprocess.Popen([sys.executable, "-c", script, f"{corpus_url}&lock_timeout=60", name]) for name in "xyz"
    ]
    assert [one.wait(120) for one in several] == [0, 0, 0]
    with MongoStore(corpus_url) as store:
        assert sorted(store.record_ids()) == sorted(f"{name}{at}" for name in "xyz" for at in range(4))


def test_a_writer_that_was_taken_for_dead_cannot_commit(store: MongoStore, corpus_url: str) -> None:
    fill(store)
    with MongoStore(corpus_url) as other:

        def be_overtaken() -> None:
            spoil(store)
            state(store).update_one({"_id": "state"}, {"$set": {"writer.until": time.time() - 1}})
            other.put_record(made("d", "dates"))

        with pytest.raises(CorpusBusy, match="took this one for dead"), store.transaction():
            be_overtaken()
        assert sorted(store.record_ids()) == sorted(other.record_ids()) == ["a", "b", "d"]
        assert found(store, "dates") == ["d"]


def test_the_late_rows_of_a_writer_that_was_taken_for_dead_count_for_nothing(
    store: MongoStore, corpus_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It wakes up while it writes its rows, after another has cleaned up behind it and committed."""
    fill(store)
    other = MongoStore(corpus_url)
    write = Rows.write

    def overtaken(self: Rows, changes: Any, number: int, drawn: Any) -> None:
        monkeypatch.setattr(Rows, "write", write)
        state(store).update_one({"_id": "state"}, {"$set": {"writer.until": time.time() - 1}})
        other.put_record(made("d", "dates"))
        write(self, changes, number, drawn)

    monkeypatch.setattr(Rows, "write", overtaken)
    with pytest.raises(CorpusBusy, match="took this one for dead"):
        store.delete_records(["a", "b"])
    for one in (store, other, MongoStore(corpus_url)):
        assert sorted(one.record_ids()) == ["a", "b", "d"]
        assert [found(one, fruit) for fruit in ("apples", "pears", "dates")] == [["a"], ["b"], ["d"]]
        one.close()
    with MongoStore(f"{corpus_url}&keep=0") as sweeping:
        sweeping.put_record(made("e", "elder"))
        sweeping.delete_record("d")
    with MongoStore(corpus_url) as last:
        assert sorted(last.record_ids()) == ["a", "b", "e"]


def test_dead_rows_stay_for_a_while_and_then_go(store: MongoStore, corpus_url: str) -> None:
    fill(store)
    store.delete_record("a")
    assert len(rows(store, view="record", key="a")) == 1
    with MongoStore(f"{corpus_url}&keep=0") as sweeping:
        sweeping.put_record(made("y"))
        sweeping.put_record(made("z"))
    assert rows(store, view="record", key="a") == []


def test_a_build_is_not_lost_because_the_dead_could_not_be_swept(
    corpus_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with MongoStore(f"{corpus_url}&keep=0") as store:
        fill(store)
        with monkeypatch.context() as away:
            away.setattr(Rows, "sweep", _nobody_there)
            store.delete_record("a")
            store.put_record(made("d", "dates"))
        assert sorted(store.record_ids()) == ["b", "d"]
        assert len(rows(store, view="record", key="a")) == 1
        store.put_record(made("e"))
        assert rows(store, view="record", key="a") == []


def _nobody_there(*_: object) -> None:
    raise CorpusError("The server did not answer.")


def test_a_commit_that_did_not_get_through_changes_nothing(
    store: MongoStore, corpus_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store)
    before = store.version
    with monkeypatch.context() as away:
        away.setattr(Rows, "write", _half_written)
        with pytest.raises(CorpusError, match="did not answer"):
            spoil(store)
    assert store.version == before
    assert_filled(store)
    with MongoStore(corpus_url) as other:
        assert_filled(other)
        spoil(other)
    assert sorted(store.record_ids()) == ["a", "c"]
    assert len(rows(store, view="record", key="a", died=ALIVE)) == 1


_write = Rows.write


def _half_written(self: Rows, changes: Any, number: int, drawn: Any) -> None:
    _write(self, list(changes)[:1], number, drawn)
    _nobody_there()


def test_a_held_snapshot_outlives_the_rows_that_it_was_read_from(corpus_url: str) -> None:
    with MongoStore(f"{corpus_url}&keep=0") as store, MongoStore(f"{corpus_url}&keep=0") as other:
        fill(store)
        with store.snapshot() as held:
            other.delete_records(["a", "b"])
            other.put_record(made("x"))
            other.put_record(made("y"))
            assert rows(store, view="record", key="a") == []
            assert ids(held, held.lexical(words("apples"), 5, EVERYTHING)) == ["a"]
            assert ids(held, held.dense(unit(1, 0, 0), 1, EVERYTHING)) == ["a"]


def test_only_what_changed_is_read_again(store: MongoStore, corpus_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(store)
    with MongoStore(corpus_url) as reader:
        assert found(reader, "apples") == ["a"]
        store.put_record(made("d", "dates"))
        monkeypatch.setattr(Rows, "load", _not_again)
        assert found(reader, "apples dates") == ["a", "d"]
        assert len(reader) == 3


def _not_again(*_: object) -> None:
    raise AssertionError("the whole view was read again")


def test_a_corpus_that_was_dropped_and_made_again_is_another(store: MongoStore, corpus_url: str) -> None:
    fill(store)
    with MongoStore(corpus_url) as reader:
        assert found(reader, "apples") == ["a"]
        before = reader.version
        store.drop()
        assert (store.exists(), len(store), reader.exists(), reader.get_config()) == (False, 0, False, {})
        for name in ("p", "q", "r", "s", "t", "u", "v"):
            store.put_record(made(name, "quinces"))
        assert reader.version != before
        assert (found(reader, "apples"), len(reader), reader.get_config()) == ([], 7, {})


def test_a_text_longer_than_a_document_may_be(store: MongoStore, corpus_url: str) -> None:
    long = "höher " * 3_000_000  # 21 MB in UTF-8
    store.put_record(made("long", long))
    store.set_ledger_entry("k", {"text": "\0" + "x" * 100})
    with MongoStore(corpus_url) as again:
        assert again.get_record("long").text == long
        assert again.get_ledger_entry("k") == {"text": "\0" + "x" * 100}
    store.put_record(made("long", "short"))
    with MongoStore(corpus_url) as again:
        assert again.get_record("long").text == "short"


def test_names_that_mongodb_has_a_meaning_for(store: MongoStore, corpus_url: str) -> None:
    odd = {"$set": 1, "a.b": {"$gt": [1, None]}, "": "empty", "n": 2**70, "f": 1e300, "nul\0": "\0"}
    store.put_record(made("$a.b\0", "apples", **odd))
    store.set_config({"name": "$x", "$where": "sleep(1)"})
    store.add_space("v1.5")
    store.put_vectors("v1.5", {"$a.b\0": np.ones(2)})
    with MongoStore(corpus_url) as again:
        assert again.get_record("$a.b\0").metadata == odd
        assert again.spaces() == {"main": 3, "v1.5": 2}
        assert again.get_config() == {"name": "$x", "$where": "sleep(1)"}


def test_a_format_of_the_future_is_refused(store: MongoStore) -> None:
    fill(store)
    state(store).update_one({"_id": "state"}, {"$set": {"format": 99}})
    for use in (lambda: len(store), lambda: fill(store)):
        with pytest.raises(FormatMismatch, match="has format 99"):
            use()


def test_nobody_answers() -> None:
    store = MongoStore("mongodb://me:s3cret@127.0.0.1:9/db/c?timeout=1")
    with pytest.raises(CorpusError, match=r"mongodb://me@127.0.0.1:9/db/c did not answer within 1 seconds") as told:
        len(store)
    assert "s3cret" not in str(told.value) + repr(store) + repr(store.address)
    store.close()


def test_options_that_the_driver_does_not_know_are_told_without_the_password() -> None:
    store = MongoStore("mongodb://me:s3cret@127.0.0.1:9/db/c?timeout=1&tls=maybe")
    with pytest.raises(InvalidInput, match=r"cannot use the address mongodb://me@127.0.0.1:9/db/c") as told:
        len(store)
    assert "s3cret" not in str(told.value)


def test_a_login_that_is_refused(corpus_url: str) -> None:
    """The server for tests knows no users, so that any login fails, as a wrong one does elsewhere."""
    where = corpus_url.partition("://")[2]
    with MongoStore(f"mongodb://me:s3cret@{where}&timeout=3&authMechanism=SCRAM-SHA-256") as store:
        with pytest.raises(CorpusError) as told:
            len(store)
        assert "s3cret" not in str(told.value)


def test_what_is_read_by_a_driver_alone_is_plain(store: MongoStore) -> None:
    """Somebody without ``ir`` finds the records of a version: their rows say what they are."""
    fill(store)
    client: Any = pymongo.MongoClient(store.address.uri)
    try:
        collection = client[store.address.database][f"{store.address.prefix}.rows"]
        texts = [row["value"] for row in collection.find({"view": "record", "died": ALIVE}).sort("key", 1)]
        assert ["apples" in text for text in texts] == [True, False]
    finally:
        client.close()
