"""Filters that few records pass: their rows are gone to directly, wherever they lie by then."""

from __future__ import annotations

import time

import pytest
from tests.extras import reason_for

pytest.importorskip("psycopg", reason=reason_for("psycopg"))

import numpy as np
import psycopg
from tests.store.postgres.fixtures import common_database, shared_server

from ir.store import CorpusStore
from ir.store.postgres import PostgresStore
from ir.testing.made import found, ids, made, unit, where, words

FEW = where({"group": "g1"})


def filled(store: CorpusStore) -> CorpusStore:
    rows = np.random.default_rng(3).normal(size=(90, 3))
    store.put_records([made(f"r{at}", f"apples {at}", row.tolist(), group=f"g{at % 9}") for at, row in enumerate(rows)])
    return store


def answers(store: CorpusStore) -> tuple[list[str], list[str]]:
    with store.snapshot() as snapshot:
        dense = snapshot.dense(unit(1, 2, 3), 3, FEW)
        return ids(snapshot, dense), ids(snapshot, snapshot.lexical(words("apples 10 19"), 20, FEW))


@pytest.fixture
def store(corpus_url: str) -> PostgresStore:
    made_here = PostgresStore(corpus_url)
    filled(made_here)
    return made_here


def test_the_table_is_written_anew_between_two_searches(store: PostgresStore) -> None:
    expected = answers(filled(CorpusStore.memory()))[0]
    store.delete_records(["r0", "r2", "r3"])
    assert answers(store)[0] == expected
    with psycopg.connect(shared_server().url(common_database()), autocommit=True) as connection:
        place = f"SELECT ctid::text FROM \"{store.address.schema}\".records WHERE id = 'r10'".encode()
        before = connection.execute(place).fetchone()
        # Rows that were deleted just now stay, and the others where they are, while any other session may see them.
        deadline = time.monotonic() + 30
        while connection.execute(place).fetchone() == before:
            assert time.monotonic() < deadline, "the rows never moved"
            connection.execute(f'VACUUM FULL "{store.address.schema}".records'.encode())
    assert answers(store)[0] == expected
    assert found(store, "10") == ["r10"]


def test_numbers_too_many_for_a_set_of_bits(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ir.store.postgres.filtered._MOST_BITS", 10)
    assert answers(store) == answers(filled(CorpusStore.memory()))


def test_nothing_passes(store: PostgresStore) -> None:
    with store.snapshot() as snapshot:
        nobody = where({"group": "g77"})
        assert len(snapshot.dense(unit(1, 0, 0), 5, nobody).refs) == 0
        assert len(snapshot.lexical(words("apples"), 5, nobody).refs) == 0
