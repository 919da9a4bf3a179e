"""PostgreSQL answers as the store in memory does, whatever was written before and whatever is filtered by."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.extras import reason_for

pytest.importorskip("psycopg", reason=reason_for("psycopg"))

import numpy as np
import psycopg
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.property.test_filters import conditions, filters, paths, values
from tests.property.test_stores import DIM, batches, drive, few_runs
from tests.store.postgres.fixtures import new_corpus_url

from ir.base import json_clean
from ir.filters import matches, parse_filter
from ir.protocols import Where
from ir.store import CorpusStore
from ir.store.postgres import PostgresStore
from ir.store.postgres.filters import condition_of
from ir.testing.made import made, unit

pytestmark = pytest.mark.slow


@settings(few_runs, max_examples=15)
@given(st.lists(batches, min_size=1, max_size=5))
def test_random_operations(batch_list: list[Any]) -> None:
    url = new_corpus_url()

    def with_an_index_made_anew(store: CorpusStore) -> CorpusStore:
        """Another lexical index in between, so that the one that is compared was made from the records alone."""
        store.close()
        for lexical in ("tsvector", "none", "bm25"):
            with CorpusStore.open(f"{url}&lexical={lexical}") as other, other.snapshot():
                pass
        return CorpusStore.open(url)

    drive(batch_list, lambda: CorpusStore.open(url), with_an_index_made_anew)


@pytest.mark.parametrize("seed", range(4))
def test_an_index_of_near_vectors_changes_no_answer(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the index in use for everything, small corpora are found completely and in the right order."""
    monkeypatch.setattr("ir.store.postgres.nearest.INDEXED_FROM", 1)
    monkeypatch.setattr("ir.store.postgres.filtered.FEW", 0)
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(400, DIM)).astype(np.float32)
    vectors[::50] = 0
    oracle, store = CorpusStore.memory(), CorpusStore.open(new_corpus_url())
    records = [made(f"r{n}", "a fox", row, half=n % 2, tenth=n % 10) for n, row in enumerate(vectors)]
    for each in (oracle, store):
        with each.transaction():
            each.put_records(records)
        each.delete_records([f"r{n}" for n in range(0, 400, 7)])
    with oracle.snapshot() as expected, store.snapshot() as snapshot:
        for spec in (None, {"half": 1}, {"tenth": 3}, {"tenth": {"$in": [3, 99]}, "half": 1}):
            where = Where(parse_filter(spec))
            for limit in (1, 10, 1000):
                query = unit(*rng.normal(size=DIM))
                theirs = snapshot.dense(query, limit, where)
                ours = expected.dense(query, limit, where)
                assert theirs.scores.tolist() == pytest.approx(ours.scores.tolist(), abs=1e-5)
                words = snapshot.lexical({"fox": 1.0}, limit, where)
                assert len(words.refs) == len(expected.lexical({"fox": 1.0}, limit, where).refs)
    store.close()


# -- filters ----------------------------------------------------------------------------------------------------


def a_value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.randrange(8 if depth < 2 else 6)
    if kind == 6:
        return [a_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == 7:
        return {rng.choice("abc0"): a_value(rng, depth + 1) for _ in range(rng.randrange(3))}
    return [None, True, False, rng.randrange(-2, 4), rng.choice([-0.5, 0.0, 1.0, 2.5]), rng.choice(["", "a", "ab"])][
        kind
    ]


def a_document(rng: random.Random) -> dict[str, Any]:
    keys = ["a", "b", "c", "0", "a.b", "a.b.c", "b.0"]
    return {rng.choice(keys): a_value(rng) for _ in range(rng.randrange(5))}


@pytest.fixture(scope="module")
def documents() -> Iterator[tuple[PostgresStore, dict[str, dict[str, Any]]]]:
    rng = random.Random(5)
    held = {f"d{number}": a_document(rng) for number in range(600)}
    held["strange"] = {"a": "\x00 and \ud83e", "b": ["\x00"], "naïve.ключ": "\ud7ff\x01", 'quo"te\\': {"$x": "%s"}}
    store = PostgresStore(new_corpus_url())
    store.put_records([replace(made(name), metadata=meta) for name, meta in held.items()])
    yield store, held
    store.close()


def agree(spec: Any, documents: tuple[PostgresStore, dict[str, dict[str, Any]]]) -> None:
    store, held = documents
    tree = parse_filter(spec)
    with store.snapshot() as snapshot:
        found = snapshot.rows(snapshot.dense(unit(1, 0, 0), 1000, Where(tree)).refs)
    expected = {name for name, metadata in held.items() if tree is None or matches(tree, json_clean(metadata))}
    assert {row.id for row in found} == expected


@settings(few_runs, max_examples=500)
@given(paths, st.one_of(values, conditions))
def test_filters_on_one_field(documents: Any, path: str, condition: Any) -> None:
    agree({path: condition}, documents)


@settings(few_runs, max_examples=300)
@given(filters)
def test_whole_filters(documents: Any, spec: Any) -> None:
    agree(spec, documents)


@pytest.mark.parametrize(
    "spec",
    [
        {"a": "\x00 and \ud83e"},
        {"a": {"$contains": "\x00"}},
        {"b": "\x00"},
        {"naïve.ключ": "\ud7ff\x01"},
        {'quo"te\\': {"$exists": True}},
        {'quo"te\\': {"$ne": 3}},
        {"a": {"$gt": float("-inf")}},
        {"a": {"$lt": 1e300}},
        {"a": {"$contains": ""}},
        {"": None},
        {"a..b": {"$exists": False}},
        {"a": {"$in": [None, "ab", [], {}, [1.0]]}},
        {"a": {"$gt": "Z"}},
        {"$or": []},
        {"$nor": []},
    ],
    ids=str,
)
def test_strange_filters(documents: Any, spec: Any) -> None:
    agree(spec, documents)


@pytest.mark.parametrize(
    "spec", [{"a": 1}, {"a.b": {"$gt": 1}}, {"c": {"$in": ["x", None]}}, {"b": {"$contains": "x"}}]
)
def test_usual_filters_are_answered_by_the_server(spec: Any) -> None:
    assert condition_of(Where(parse_filter(spec))) is not None


def test_filters_on_equality_can_use_the_index(documents: Any) -> None:
    store, _ = documents
    condition = condition_of(Where(parse_filter({"a": "ab"})))
    with psycopg.connect(**store.address.parameters) as connection:
        connection.execute(f"SET search_path = {store.address.schema}, public; SET enable_seqscan = off".encode())
        query = f"EXPLAIN SELECT FROM records WHERE {condition.text}"
        plan = "\n".join(line for (line,) in connection.execute(query.encode(), condition.parameters))
    assert "records_metadata" in plan
