"""Spaces of vectors in tables of their own: found as in memory, removed when nobody reads them any more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.extras import reason_for

pytest.importorskip("psycopg", reason=reason_for("psycopg"))

import numpy as np
import psycopg
from tests.store.postgres.fixtures import new_corpus_url

from ir.errors import InvalidInput
from ir.filters import parse_filter
from ir.protocols import Snapshot, Where
from ir.store import CorpusStore
from ir.store.base import BaseStore
from ir.store.postgres import PostgresStore
from ir.testing.made import EVERYTHING, ids, made, unit

#: Everything, what SQL decides, and what only reading can.
FILTERS: list[dict[str, Any] | None] = [None, {"half": 1}, {"tenth": {"$in": [3, 99]}, "half": 1}, {"list.0": 2}]
SPACES = {"main": 4, "other": 6}


@pytest.fixture
def store(corpus_url: str) -> Iterator[PostgresStore]:
    store = PostgresStore(corpus_url)
    yield store
    store.close()


def fill(store: BaseStore, rng: np.random.Generator) -> None:
    """Two spaces, in each of which some records have no vector, some one of zeros, and some have changed."""
    rows = {name: rng.normal(size=(300, dim)).astype(np.float32) for name, dim in SPACES.items()}
    rows["main"][::50] = rows["other"][::40] = 0
    with store.transaction():
        store.add_space("other")
        for space, numbers in (("main", range(200)), ("other", range(200, 300))):
            store.put_records(
                [made(f"r{n}", "a fox", rows[space][n], half=n % 2, tenth=n % 10, list=[n % 3]) for n in numbers],
                space=space,
            )
    store.put_vectors("other", {f"r{n}": rows["other"][n] for n in range(100, 220)})
    store.put_vectors("main", {f"r{n}": rows["main"][n] for n in range(150, 250)})
    store.delete_records([f"r{n}" for n in range(0, 300, 7)])
    store.put_record(made("r1", "a hen", rows["other"][1], half=1), space="other")


def scored(snapshot: Snapshot, space: str, spec: Any, limit: int, query: Any) -> list[tuple[float, str]]:
    found = snapshot.dense(query, limit, Where(parse_filter(spec)), space)
    pairs = zip(ids(snapshot, found), found.scores.tolist(), strict=True)
    return sorted((-round(score, 4), name) for name, score in pairs)


@pytest.mark.parametrize("indexed", [False, True])
def test_every_space_is_searched_as_in_memory(
    store: PostgresStore, indexed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if indexed:
        monkeypatch.setattr("ir.store.postgres.nearest.INDEXED_FROM", 1)
        monkeypatch.setattr("ir.store.postgres.filtered.FEW", 0)
    oracle = CorpusStore.memory()
    for each in (oracle, store):
        fill(each, np.random.default_rng(3))
        if indexed:
            with each.transaction():
                each.put_record(made("more", vector=(1, 1, 1, 1)))
    rng = np.random.default_rng(4)
    assert store.content_version == oracle.content_version
    with oracle.snapshot() as expected, store.snapshot() as snapshot:
        assert snapshot.spaces() == expected.spaces() == SPACES
        for space, dim in SPACES.items():
            assert snapshot.unembedded(space) == expected.unembedded(space) > 0
            assert store.unembedded(space=space) == oracle.unembedded(space=space)
            for spec in FILTERS:
                for limit in (1, 10, 1000):
                    query = unit(*rng.normal(size=dim))
                    assert scored(snapshot, space, spec, limit, query) == scored(expected, space, spec, limit, query)
                words = snapshot.lexical({"fox": 1.0}, 1000, Where(parse_filter(spec)))
                assert len(words.refs) == len(expected.lexical({"fox": 1.0}, 1000, Where(parse_filter(spec))).refs)


def test_each_space_gets_an_index_of_its_own(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ir.store.postgres.nearest.INDEXED_FROM", 3)
    with store.transaction():
        store.put_records([made(f"r{n}", vector=(1, n)) for n in range(4)])
        store.add_space("other")
        store.put_vectors("other", {f"r{n}": np.array([1.0, n, 2.0]) for n in range(4)})
        store.add_space("small")
        store.put_vectors("small", {"r0": np.array([1.0])})
    assert near_indexes(store) == ["records_near_2", "vectors_1_near_3"]
    store.set_default_space("other")
    store.drop_space("main")
    assert near_indexes(store) == ["vectors_1_near_3"]


def test_the_table_of_a_dropped_space_is_removed_once_nobody_reads_it(store: PostgresStore) -> None:
    def drop_twice() -> None:
        for name in ("one", "two"):
            store.add_space(name)
            store.put_vectors(name, {"a": np.array([1.0, 2.0])})
        with store.snapshot() as held:
            assert ids(held, held.dense(unit(1, 2), 1, EVERYTHING, "one")) == ["a"]
            store.drop_space("one")
            assert ids(held, held.dense(unit(1, 2), 1, EVERYTHING, "one")) == ["a"], "its reader keeps it"
        assert vector_tables(store) == ["vectors_1", "vectors_2"]
        store.drop_space("two")

    store.put_record(made("a"))
    drop_twice()
    assert vector_tables(store) == []
    assert store.spaces() == {"main": 3}


def test_a_dropped_space_leaves_no_vector_in_the_records(store: PostgresStore) -> None:
    store.put_records([made("a"), made("b")])
    store.add_space("other")
    store.set_default_space("other")
    store.drop_space("main")
    assert store._rows("SELECT id FROM records WHERE vector IS NOT NULL") == []
    store.add_space("main")
    store.put_vectors("main", {"a": np.array([1.0, 0.0])})
    assert store.spaces() == {"other": None, "main": 2}


def test_every_space_keeps_the_precision_of_the_corpus() -> None:
    with CorpusStore.open(new_corpus_url(vectors="half")) as store:
        store.add_space("other")
        store.put_record(made("a", vector=(0.1, 0.2)), space="other")
        assert store.get_vectors(["a"], space="other")["a"].tolist() == np.array([0.1, 0.2], dtype=np.float16).tolist()
        with pytest.raises(InvalidInput, match="beyond half precision"):
            store.put_vectors("other", {"a": np.array([1e6, 1.0])})
        assert store.unembedded(space="main") == ["a"]


def test_vectors_that_fit_in_no_row(store: PostgresStore) -> None:
    store.put_record(made("a"))
    store.add_space("other")
    wide = np.arange(4000, dtype=np.float32)
    store.put_vectors("other", {"a": wide})
    assert store.get_vectors(["a"], space="other")["a"].tolist() == wide.tolist()


def near_indexes(store: PostgresStore) -> list[str]:
    return _names(store, "SELECT indexname FROM pg_indexes WHERE schemaname = %s AND indexname LIKE '%%near%%'")


def vector_tables(store: PostgresStore) -> list[str]:
    return _names(store, "SELECT tablename FROM pg_tables WHERE schemaname = %s AND tablename LIKE 'vectors%%'")


def _names(store: PostgresStore, query: str) -> list[str]:
    with psycopg.connect(**store.address.parameters) as connection:
        return sorted(name for (name,) in connection.execute(query.encode(), (store.address.schema,)))
