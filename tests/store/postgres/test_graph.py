"""Nodes and edges in tables: what the store in memory says of them, whatever was written, held back or undone."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from tests.extras import reason_for

pytest.importorskip("psycopg", reason=reason_for("psycopg"))

import psycopg

from ir.base import ledger_key
from ir.links import Direction, Edge, Node
from ir.protocols import Snapshot, Store
from ir.store import CorpusStore
from ir.store.base import BaseStore
from ir.store.postgres import PostgresStore, pending
from ir.testing.made import made

#: Names that share their beginning further than an index looks, and others that are hard to keep or to compare.
NAMES = [
    *(f"{'deep/' * 100}{end}" for end in ("a", "b", "ab")),
    "\x00",
    "\x01",
    "\ud7ff",
    "a",
    "B",
    "é",
    "🦊",
    '{"a",NULL}\\',
    "%s",
]
TYPES = ["calls", "Imports", "\x00", "t" * 30]
#: Of which an index knows only the beginning.
LONG_TYPES = ["t" * 60 + "a", "t" * 60 + "b"]


@pytest.fixture
def store(corpus_url: str) -> Iterator[PostgresStore]:
    store = PostgresStore(corpus_url)
    yield store
    store.close()


def some_edges(rng: random.Random, source: str, types: list[str]) -> list[Edge]:
    corpora = [None, None, None, "mine", "other", "\x01"]
    properties: list[dict[str, Any]] = [{}, {"line": 3}, {"\x00": ["\x01", 1.0, None]}]
    return [
        Edge(source, rng.choice(types), rng.choice(NAMES), rng.choice(corpora), rng.choice(properties))
        for _ in range(rng.choice([0, 1, 3, 9]))
    ]


def change(rng: random.Random, stores: list[BaseStore], types: list[str]) -> None:
    """One random write, made to each of the stores."""
    names = rng.sample(NAMES, rng.randrange(1, 5))
    kind = rng.randrange(7)
    edges = {name: some_edges(rng, name, types) for name in names}
    nodes = [Node(name, rng.choice(TYPES), rng.choice([{}, {"size": 2.5, "\x00": [1]}])) for name in names]
    for store in stores:
        if kind < 3:
            store.set_edges(edges)
        elif kind == 3:
            store.put_nodes(nodes)
        elif kind == 4:
            store.delete_nodes(names)
        elif kind == 5:
            store.put_records([made(name, vector=(1, 0)) for name in names])
            store.set_ledger_entry(ledger_key(names[0]), {"artifact_id": names[0]})
        else:
            store.delete_records(names)
            store.delete_ledger_entry(ledger_key(names[-1]))


def assert_alike(ours: Store, theirs: Store) -> None:
    assert list(ours.iter_nodes(3)) == list(theirs.iter_nodes(3))
    assert list(ours.iter_edges(3)) == list(theirs.iter_edges(3))
    assert ours.get_edges(NAMES) == theirs.get_edges(NAMES)
    assert ours.content_version == theirs.content_version
    with ours.snapshot() as snapshot, theirs.snapshot() as expected:
        assert asked(snapshot) == asked(expected)


def asked(snapshot: Snapshot) -> list[Any]:
    answers: list[Any] = [snapshot.nodes(NAMES)]
    for direction in get_args(Direction):
        for types in (None, TYPES[:1], [*TYPES[2:], *LONG_TYPES, "other"], []):
            answers.append(snapshot.degrees(NAMES, types=types, direction=direction))
            for limit in (None, 0, 1, 3):
                found = snapshot.neighbours(NAMES, types=types, direction=direction, limit=limit)
                answers.append(found)
    return answers


@pytest.mark.parametrize("seed", range(3))
def test_random_graphs(store: PostgresStore, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "_HELD", 5 * 4**seed)
    rng, oracle = random.Random(seed), CorpusStore.memory()
    types = TYPES + LONG_TYPES if seed == 2 else TYPES
    for each in (oracle, store):
        each.set_config({"name": "mine"})
    for step in range(12):
        if step % 3 == 0:
            with oracle.transaction(), store.transaction():
                for _ in range(3):
                    change(rng, [oracle, store], types)
                    assert store.get_nodes(NAMES) == oracle.get_nodes(NAMES), "what is held back is read"
                    assert store.get_edges(NAMES) == oracle.get_edges(NAMES)
                if step == 6:
                    assert_alike(store, oracle)
        else:
            change(rng, [oracle, store], types)
        assert_alike(store, oracle)


def test_the_longest_names_fit_into_the_indexes(store: PostgresStore) -> None:
    rng = random.Random(1)
    source, target, edge_type = ("".join(chr(rng.randrange(0x10000, 0x10FFFF)) for _ in range(2000)) for _ in range(3))
    for given in (edge_type, edge_type[:50]):
        store.set_edges({source: [Edge(source, given, target)]})
        store.put_nodes([Node(source, given)])
        with store.snapshot() as snapshot:
            (found,) = snapshot.neighbours([target], direction="in", types=[given])
        assert [(one.id, one.type, one.place) for one in found] == [(source, given, "here")]


def test_the_same_edges_again_make_no_version(store: PostgresStore) -> None:
    def link() -> None:
        with store.transaction():
            store.put_nodes([Node("f", "function", {"line": 1})])
            store.set_edges({"f": [Edge("f", "calls", "g", None, {"line": 3}), Edge("f", "calls", "h")], "none": ()})

    link()
    before = store.version
    link()
    assert store.version == before
    store.set_links("f", {"calls": ["g", "h"]})
    assert store.version != before


def test_the_first_of_many_edges_are_found_without_the_others(store: PostgresStore) -> None:
    """In both directions, by the order of the indexes: a node with a million edges costs as much as one with three."""
    names = [f"n{number:05d}" for number in range(3000)]
    edges = {name: [Edge(name, "calls", "hub"), Edge(name, "refers", name)] for name in names}
    store.set_edges({**edges, "hub": [Edge("hub", "calls", name) for name in names]})
    with psycopg.connect(**store.address.parameters, autocommit=True) as connection:
        connection.execute(f"ANALYZE {store.address.schema}.edges".encode())
    with store.snapshot() as snapshot:
        connection = snapshot._connection  # type: ignore[attr-defined]
        before = _fetched(connection)
        (found,) = snapshot.neighbours(["hub"], direction="both", limit=10)
        after = _fetched(connection)
    assert [one.id for one in found] == names[:10] * 2
    assert after - before < 300


def _fetched(connection: psycopg.Connection[Any]) -> int:
    """How many rows of edges this session has fetched in the open transaction."""
    query = "SELECT coalesce(pg_stat_get_xact_tuples_fetched('edges'::regclass), 0)"
    row = connection.execute(query).fetchone()
    assert row is not None
    return int(row[0])
