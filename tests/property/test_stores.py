"""Every store answers as the one in memory does, whatever was written before."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ir.base import Record, ledger_key
from ir.errors import InvalidInput
from ir.links import Edge, Node
from ir.protocols import Ranking, Snapshot, Store
from ir.store import CorpusStore
from ir.testing.made import all_refs, unit, where, words

pytestmark = pytest.mark.slow

DIM = 4
COSINE_TOLERANCE = 2e-3
BM25_TOLERANCE = 1e-3

# -- what may happen to a store ---------------------------------------------------------------------------------

#: The name of a method, or a function of a store, and its arguments.
Operation = tuple[Any, tuple[Any, ...]]

names = st.sampled_from(["a", "b", "c", "d", "é/ü", "f 'g'"])
vocabulary = ["the", "red", "foxes", "run", "running", "getUserName", "user_name", "http.client.retry", "Straße", "42"]
#: Repeated up to some hundred words: the lengths of long texts are rounded.
sentences = st.tuples(st.lists(st.sampled_from(vocabulary), max_size=9), st.sampled_from([1, 1, 2, 7, 31])).map(
    lambda drawn: " ".join(drawn[0] * drawn[1])
)
vectors = st.lists(st.integers(-3, 3), min_size=DIM, max_size=DIM)
metadata = st.fixed_dictionaries(
    {},
    optional={
        "n": st.one_of(st.integers(0, 3), st.booleans(), st.none(), st.sampled_from([0.5, 2.0])),
        "tag": st.one_of(st.sampled_from(["x", "xy", "z"]), st.lists(st.sampled_from(["x", "y", 1]), max_size=2)),
        "deep": st.fixed_dictionaries({}, optional={"k": st.integers(0, 2)}),
        "title": st.sampled_from(["Foxes", "User guide"]),
    },
)
edges = st.dictionaries(st.sampled_from(["ref", "next"]), st.lists(names, max_size=2), max_size=2)
properties = st.dictionaries(st.sampled_from(["line", "why"]), st.one_of(st.integers(0, 9), names), max_size=1)
SPACES = ["main", "other", "third"]


@st.composite
def records(draw: st.DrawFn) -> Record:
    artifact, kind, index = draw(names), draw(st.sampled_from(["document", "chunk"])), draw(st.integers(0, 2))
    return Record(
        id=f"{artifact}:{index}",
        artifact_id=artifact,
        surface_kind=kind,
        surface_index=index,
        text=draw(sentences),
        vector=np.array(draw(vectors), dtype=np.float32),
        metadata=draw(metadata),
    )


record_ids = st.tuples(names, st.integers(0, 2)).map(lambda pair: f"{pair[0]}:{pair[1]}")
#: Nodes of every kind: names are artifacts where the ledger has them, else nobody unless they are declared.
node_ids = st.one_of(names, record_ids)


@st.composite
def edge_lists(draw: st.DrawFn) -> dict[str, list[Edge]]:
    source = draw(node_ids)
    drawn = st.builds(
        Edge,
        st.just(source),
        st.sampled_from(["ref", "calls"]),
        node_ids,
        st.sampled_from([None, None, "other corpus", "é/ü"]),
        properties,
    )
    return {source: draw(st.lists(drawn, max_size=4))}


def set_artifact(store: Store, artifact_id: str) -> None:
    store.set_ledger_entry(ledger_key(artifact_id), {"artifact_id": artifact_id})


def tried(store: Store, name: str, *arguments: Any) -> None:
    """What may be refused: every store refuses the same."""
    with suppress(InvalidInput):
        getattr(store, name)(*arguments)


def put_vectors(store: Store, space: str, vectors: dict[str, list[int]]) -> None:
    known = set(store.record_ids())
    held = {name: np.array(vector, dtype=np.float32) for name, vector in vectors.items() if name in known}
    tried(store, "put_vectors", space, held)


writes: st.SearchStrategy[Operation] = st.one_of(
    st.tuples(st.just("put_records"), st.tuples(st.lists(records(), min_size=1, max_size=5))),
    st.tuples(st.just("put_records"), st.tuples(st.lists(records(), min_size=1, max_size=5))),
    st.tuples(st.just("put_record"), st.tuples(records())),
    st.tuples(st.just("delete_records"), st.tuples(st.lists(record_ids, min_size=1, max_size=3))),
    st.tuples(st.just("delete_record"), st.tuples(record_ids)),
    st.tuples(st.just("set_links"), st.tuples(names, edges)),
    st.tuples(st.just("set_edges"), st.tuples(edge_lists())),
    st.tuples(st.just("put_nodes"), st.tuples(st.lists(st.builds(Node, node_ids, names, properties), max_size=2))),
    st.tuples(st.just("delete_nodes"), st.tuples(st.lists(node_ids, max_size=2))),
    st.tuples(st.just(set_artifact), st.tuples(names)),
    st.tuples(st.just(tried), st.tuples(st.just("add_space"), st.sampled_from(SPACES))),
    st.tuples(st.just(tried), st.tuples(st.just("drop_space"), st.sampled_from(SPACES))),
    st.tuples(st.just(tried), st.tuples(st.just("set_default_space"), st.sampled_from(SPACES))),
    st.tuples(
        st.just(put_vectors),
        st.tuples(st.sampled_from(SPACES), st.dictionaries(record_ids, vectors, min_size=1, max_size=4)),
    ),
    st.tuples(st.just("delete_links"), st.tuples(names)),
    st.tuples(st.just("set_ledger_entry"), st.tuples(names, st.dictionaries(names, st.integers(), max_size=1))),
    st.tuples(st.just("delete_ledger_entry"), st.tuples(names)),
    st.tuples(st.just("set_config"), st.tuples(st.fixed_dictionaries({"name": names}))),
    st.tuples(st.just("set_calibration"), st.tuples(st.sampled_from(["dense", "hybrid|blend"]), metadata)),
)
#: Some writes, and how they are made: each by itself, in one transaction, or in one that fails.
batches = st.tuples(
    st.sampled_from(["alone", "together", "together", "aborted"]), st.lists(writes, min_size=1, max_size=5)
)

FILTERS: list[dict[str, Any] | None] = [
    None,
    {"n": {"$gte": 1}},
    {"n": 2},
    {"n": True},
    {"n": None},
    {"tag": "x"},
    {"tag": {"$contains": "y"}},
    {"deep.k": {"$lt": 2}},
    {"$or": [{"tag": {"$in": ["z", 1]}}, {"n": {"$exists": False}}]},
    {"$nor": [{"tag": "x"}, {"deep.k": 1}]},
]
QUERIES = ["red fox", "the user name", "getUserName", "running hens 42", "straße", "absent"]
VECTORS = [unit(1, 0, 0, 0), unit(1, -1, 2, 0.5)]


class Abort(Exception):
    """Ends a transaction that is to be undone."""


def write(store: Store, batch: tuple[str, Sequence[Operation]]) -> None:
    manner, operations = batch
    if manner == "alone":
        for operation, arguments in operations:
            perform(store, operation, arguments)
        return
    try:
        with store.transaction():
            for operation, arguments in operations:
                perform(store, operation, arguments)
            if manner == "aborted":
                raise Abort
    except Abort:
        pass


def perform(store: Store, operation: Any, arguments: tuple[Any, ...]) -> None:
    if callable(operation):
        operation(store, *arguments)
    else:
        getattr(store, operation)(*arguments)


# -- what must then be the same ---------------------------------------------------------------------------------


def kept(store: Store) -> dict[str, Any]:
    """Everything in the store, in a form that can be compared."""
    held = [store.get_record(record_id) for record_id in sorted(store.record_ids())]
    ids, matrix, metas = store.matrix()
    return {
        "records": [{**vars(record), "vector": record.vector.tolist()} for record in held],
        "count": len(store),
        "matrix": sorted(zip(ids, matrix.round(5).tolist(), (str(meta) for meta in metas), strict=True)),
        "links": sorted(store.link_items()),
        "nodes": [node for page in store.iter_nodes(2) for node in page],
        "edges": [entry for page in store.iter_edges(2) for entry in page],
        "spaces": {name: vectors_in(store, name) for name in store.spaces()},
        "dimensions": store.spaces(),
        "default": store.default_space,
        "content": store.content_version,
        "ledger": sorted(store.ledger_items()),
        "config": store.get_config(),
        "calibration": {mode: store.get_calibration(mode) for mode in store.calibration_modes()},
    }


def vectors_in(store: Store, space: str) -> tuple[dict[str, list[float]], list[str]]:
    """The vectors of a space by record, and the records that have none."""
    held = store.get_vectors(store.record_ids(), space=space)
    return {name: vector.tolist() for name, vector in sorted(held.items())}, store.unembedded(space=space)


NODES = [f"{name}{rest}" for name in ("a", "b", "c", "d", "é/ü", "f 'g'") for rest in ("", ":0", ":1", ":2")]


def seen(snapshot: Snapshot) -> list[Any]:
    """What a version says of nodes and edges and of its spaces."""
    told: list[Any] = [snapshot.content_version, snapshot.nodes(NODES), snapshot.default_space]
    for direction in ("out", "in", "both"):
        for types in (None, ["ref"], ["calls", "next"]):
            for limit in (None, 1):
                told.append(snapshot.neighbours(NODES, types=types, direction=direction, limit=limit))
            told.append(snapshot.degrees(NODES, types=types, direction=direction))
    return told


def assert_spaces_alike(oracle: Snapshot, other: Snapshot) -> None:
    assert oracle.spaces() == other.spaces()
    for name, dim in oracle.spaces().items():
        assert oracle.unembedded(name) == other.unembedded(name)
        for vector in VECTORS if dim else ():
            for spec in FILTERS[:4]:
                expected = scored(oracle, oracle.dense(vector, 100, where(spec), name))
                given_ = scored(other, other.dense(vector, 100, where(spec), name))
                assert given_ == pytest.approx(expected, abs=COSINE_TOLERANCE)


def scored(snapshot: Snapshot, ranking: Ranking) -> dict[str, float]:
    assert (np.diff(ranking.scores) <= 0).all()
    rows = snapshot.rows(ranking.refs)
    assert len({row.id for row in rows}) == len(rows)
    return {row.id: float(score) for row, score in zip(rows, ranking.scores, strict=True)}


def assert_same_top(few: dict[str, float], every: dict[str, float], tolerance: float) -> None:
    """``few`` are the best of ``every``, up to ties."""
    best = sorted(every.values(), reverse=True)[: len(few)]
    assert sorted(few.values(), reverse=True) == pytest.approx(best, abs=tolerance)
    assert few == pytest.approx({name: every[name] for name in few}, abs=tolerance)


def assert_near_alike(oracle: Snapshot, other: Snapshot) -> None:
    assert (len(oracle), oracle.kinds(), oracle.dim) == (len(other), other.kinds(), other.dim)
    for spec in FILTERS:
        for kinds in (None, ["chunk"]):
            allowed = where(spec, kinds)
            for vector in VECTORS:
                expected = scored(oracle, oracle.dense(vector, 100, allowed))
                assert scored(other, other.dense(vector, 100, allowed)) == pytest.approx(expected, abs=COSINE_TOLERANCE)
                few = scored(other, other.dense(vector, 3, allowed))
                assert len(few) == min(3, len(expected))
                assert_same_top(few, expected, COSINE_TOLERANCE)


def assert_found_alike(oracle: Snapshot, other: Snapshot) -> None:
    """The same records hold the terms. Their scores may count deleted records until an index is made anew."""
    for spec in FILTERS:
        for query in QUERIES:
            expected = scored(oracle, oracle.lexical(words(query), 100, where(spec)))
            assert scored(other, other.lexical(words(query), 100, where(spec))).keys() == expected.keys()


def assert_scored_alike(oracle: Snapshot, other: Snapshot) -> None:
    for spec in FILTERS:
        for kinds in (None, ["chunk"]):
            allowed = where(spec, kinds)
            for query in QUERIES:
                expected = scored(oracle, oracle.lexical(words(query), 100, allowed))
                every = scored(other, other.lexical(words(query), 100, allowed))
                assert every == pytest.approx(expected, abs=BM25_TOLERANCE)
                few = scored(other, other.lexical(words(query), 3, allowed))
                assert len(few) == min(3, len(expected))
                assert_same_top(few, expected, BM25_TOLERANCE)


def completed(snapshot: Snapshot) -> dict[str, tuple[Any, ...]]:
    """For each record its scores, its row and its kind, looked up by ref."""
    if not len(snapshot):
        return {}
    refs = all_refs(snapshot, DIM)
    columns = [snapshot.dense_scores(vector, refs) for vector in VECTORS]
    columns += [snapshot.lexical_scores(words(query), refs) for query in QUERIES]
    groups, kinds = snapshot.grouping(refs)
    rows = snapshot.rows(refs)
    by_group = {(int(group), row.artifact_id) for group, row in zip(groups, rows, strict=True)}
    assert len(by_group) == len(set(groups.tolist())) == len({row.artifact_id for row in rows})
    return {
        row.id: (row, kind, [float(column[at]) for column in columns])
        for at, (row, kind) in enumerate(zip(rows, kinds, strict=True))
    }


def assert_completed_alike(oracle: Snapshot, other: Snapshot) -> None:
    expected, given_ = completed(oracle), completed(other)
    assert expected.keys() == given_.keys()
    for name, (row, kind, scores) in expected.items():
        assert given_[name][:2] == (row, kind)
        assert given_[name][2] == pytest.approx(scores, abs=COSINE_TOLERANCE)
    terms = sorted({term for query in QUERIES for term in words(query)})
    ours, theirs = oracle.term_stats(terms), other.term_stats(terms)
    assert (ours.documents, dict(ours.frequencies)) == (theirs.documents, dict(theirs.frequencies))
    assert ours.average_length == pytest.approx(theirs.average_length)


def drive(
    batch_list: Sequence[tuple[str, Sequence[Operation]]],
    make: Callable[[], CorpusStore],
    renew: Callable[[CorpusStore], CorpusStore] = lambda store: store,
) -> None:
    oracle, other = CorpusStore.memory(), make()
    for batch in batch_list:
        write(oracle, batch)
        write(other, batch)
        assert kept(other) == kept(oracle)
        with oracle.snapshot() as expected, other.snapshot() as snapshot:
            assert_found_alike(expected, snapshot)
            assert seen(snapshot) == seen(expected)
    with oracle.snapshot() as expected, other.snapshot() as snapshot:
        assert_near_alike(expected, snapshot)
        assert_scored_alike(expected, snapshot)
    other = renew(other)
    with oracle.snapshot() as expected, other.snapshot() as snapshot:
        assert_near_alike(expected, snapshot)
        assert_scored_alike(expected, snapshot)
        assert_completed_alike(expected, snapshot)
        assert_spaces_alike(expected, snapshot)
        assert seen(snapshot) == seen(expected)
    other.close()


few_runs = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


@settings(few_runs, max_examples=60)
@given(st.lists(batches, min_size=1, max_size=5))
def test_dicts(batch_list: list[Any]) -> None:
    drive(batch_list, lambda: CorpusStore({}, {}, {}, {}))


@settings(few_runs, max_examples=60)
@given(st.lists(batches, min_size=1, max_size=5))
def test_an_index_made_step_by_step_is_the_one_made_at_once(batch_list: list[Any]) -> None:
    """Searching between the writes, so that every cache is filled and has to be given up, changes nothing."""
    searched, fresh = CorpusStore.memory(), CorpusStore.memory()
    for batch in batch_list:
        write(searched, batch)
        write(fresh, batch)
        with searched.snapshot() as snapshot:
            completed(snapshot)
    with fresh.snapshot() as expected, searched.snapshot() as snapshot:
        assert_near_alike(expected, snapshot)
        assert_scored_alike(expected, snapshot)
        assert_completed_alike(expected, snapshot)


@settings(few_runs, max_examples=40)
@given(st.lists(batches, min_size=1, max_size=5))
def test_a_held_snapshot_does_not_move(batch_list: list[Any]) -> None:
    store = CorpusStore.memory()
    for batch in batch_list:
        with store.snapshot() as held:
            before = completed(held), seen(held)
            write(store, batch)
            assert (completed(held), seen(held)) == before


@settings(few_runs, max_examples=20)
@given(st.lists(batches, min_size=1, max_size=5))
def test_local(batch_list: list[Any]) -> None:
    from ir.store.local import LocalStore

    folder = Path(tempfile.mkdtemp())

    def without_derived_files(store: CorpusStore) -> CorpusStore:
        store.close()
        shutil.rmtree(folder / "corpus" / "generations", ignore_errors=True)
        return LocalStore(folder / "corpus")

    try:
        drive(batch_list, lambda: LocalStore(folder / "corpus"), without_derived_files)
    finally:
        shutil.rmtree(folder)
