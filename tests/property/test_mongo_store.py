"""A corpus in MongoDB answers as the store in memory does, whatever was written before: DocumentDB, not mongod."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.extras import reason_for

pytest.importorskip("pymongo", reason=reason_for("pymongo"))

from tests.property.test_stores import batches, completed, drive, few_runs, kept, seen, write
from tests.store.mongo.fixtures import new_corpus_url

from ir.store import CorpusStore
from ir.store.mongo import MongoStore

pytestmark = pytest.mark.slow


@settings(few_runs, max_examples=15)
@given(st.lists(batches, min_size=1, max_size=5))
def test_random_operations(batch_list: list[Any]) -> None:
    url = new_corpus_url()

    def renewed(store: CorpusStore) -> CorpusStore:
        store.close()
        return CorpusStore.open(url)

    drive(batch_list, lambda: CorpusStore.open(url), renewed)


@settings(few_runs, max_examples=10)
@given(st.lists(batches, min_size=2, max_size=6), st.sampled_from([600, 0]))
def test_a_reader_that_follows_by_changes_sees_what_one_that_reads_everything_sees(
    batch_list: list[Any], keep: int
) -> None:
    """Also where earlier versions are swept at once, and where a writer died on the way."""
    url = new_corpus_url(keep=keep)
    oracle = CorpusStore.memory()
    with MongoStore(url) as writer, MongoStore(url) as reader:
        for number, batch in enumerate(batch_list):
            write(oracle, batch)
            if number % 2:
                with dying_before_the_commit(writer):
                    write(writer, ("together", [("set_config", ({"name": "never"},)), *batch[1]]))
            write(writer, batch)
            assert kept(reader) == kept(oracle)
            with reader.snapshot() as followed, oracle.snapshot() as expected, MongoStore(url) as fresh:
                assert seen(followed) == seen(expected)
                if len(expected):
                    assert completed(followed).keys() == completed(expected).keys()
                assert kept(fresh) == kept(oracle)


@contextmanager
def dying_before_the_commit(store: MongoStore) -> Iterator[None]:
    """The rows of a transaction are written, but not the line that makes them count."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(store._lease, "commit", _dead)
        with pytest.raises(_Dead):
            yield


class _Dead(Exception):
    """In place of a process that ends."""


def _dead(*_: object) -> None:
    raise _Dead
