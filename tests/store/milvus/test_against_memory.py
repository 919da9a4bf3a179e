"""Whatever is written, Milvus answers as the store in memory does: the Milvus core in process, not a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.extras import reason_for

pytest.importorskip("milvus_lite", reason=reason_for("milvus_lite"))

from tests.property.test_stores import batches, drive, few_runs, names, write

from ir.base import ledger_key
from ir.errors import InvalidInput
from ir.links import Edge, Node
from ir.protocols import Snapshot, Store
from ir.store import CorpusStore
from ir.store.milvus import MilvusStore
from ir.testing.made import EVERYTHING, made, scores_by_id, unit

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def milvus_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    file = f"milvus+lite:{tmp_path_factory.mktemp('milvus')}/corpora.db"
    with MilvusStore(f"{file}?corpus=holder") as holder:
        holder.set_config({"name": "holder"})
        yield file


@settings(few_runs, max_examples=12)
@given(st.lists(batches, min_size=1, max_size=4))
def test_random_writes(milvus_file: str, batch_list: list[Any]) -> None:
    url = f"{milvus_file}?corpus=p{uuid4().hex[:12]}"

    def renewed(store: Any) -> MilvusStore:
        store.close()
        return MilvusStore(url)

    drive(batch_list, lambda: MilvusStore(url), renewed)


# -- graphs and spaces ------------------------------------------------------------------------------------------------

few_ids = st.sampled_from(["a:0", "a:1", "b:0"])
few_records = st.builds(
    lambda name, text, vector: made(name, text, vector, artifact=name[0]),
    few_ids,
    st.sampled_from(["red foxes", "hens run"]),
    st.lists(st.integers(-2, 2), min_size=2, max_size=2),
)
ends = st.one_of(names, few_ids)
kinds = st.sampled_from(["calls", "refers", "é'\""])
properties = st.dictionaries(st.sampled_from(["line", "how"]), st.integers(0, 2), max_size=2)
corpora = st.sampled_from([None, None, "here", "there"])
nodes = st.builds(Node, ends, kinds, properties)
edge_lists = ends.flatmap(
    lambda source: st.lists(st.builds(Edge, st.just(source), kinds, ends, corpora, properties), max_size=4).map(
        lambda edges: {source: edges}
    )
)
spaces = st.sampled_from(["main", "other", "Third.one"])
pairs = st.lists(st.integers(-2, 2), min_size=2, max_size=2).map(lambda numbers: np.array(numbers, dtype=np.float32))
graph_writes = st.one_of(
    st.tuples(st.just("put_nodes"), st.tuples(st.lists(nodes, min_size=1, max_size=3))),
    st.tuples(st.just("delete_nodes"), st.tuples(st.lists(ends, min_size=1, max_size=2))),
    st.tuples(st.just("set_edges"), st.tuples(edge_lists)),
    st.tuples(st.just("set_edges"), st.tuples(edge_lists)),
    st.tuples(st.just("set_symbols"), st.tuples(names, st.one_of(st.none(), properties))),
    st.tuples(
        st.just("set_ledger_entry"), names.map(lambda name: (ledger_key(name), {"artifact_id": name, "record_ids": []}))
    ),
    st.tuples(st.just("set_config"), st.tuples(st.fixed_dictionaries({"name": st.sampled_from(["here", "there"])}))),
    st.tuples(st.just("put_records"), st.tuples(st.lists(few_records, min_size=1, max_size=3))),
    st.tuples(st.just("delete_records"), st.tuples(st.lists(few_ids, min_size=1, max_size=3))),
    st.tuples(st.just("add_space"), st.tuples(spaces)),
    st.tuples(st.just("drop_space"), st.tuples(spaces)),
    st.tuples(st.just("set_default_space"), st.tuples(spaces)),
    st.tuples(st.just("put_vectors"), st.tuples(spaces, st.dictionaries(few_ids, pairs, min_size=1, max_size=3))),
)
graph_batches = st.tuples(
    st.sampled_from(["alone", "together", "aborted"]), st.lists(graph_writes, min_size=1, max_size=6)
)


#: Something that later writes are about.
BEGINNING: list[tuple[str, tuple[Any, ...]]] = [
    ("put_records", ([made("a:0", "red foxes", (1, 2), artifact="a"), made("b:0", "hens run", (2, 1), artifact="b")],)),
    ("add_space", ("other",)),
    ("put_vectors", ("other", {"a:0": np.array([1.0, 1.0])})),
]


class Tolerant:
    """A store that goes on after a write that it refuses, and remembers what it said."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.said: list[str] = []

    def transaction(self) -> Any:
        return self._store.transaction()

    def __getattr__(self, name: str) -> Any:
        def called(*given: Any) -> None:
            try:
                getattr(self._store, name)(*given)
            except InvalidInput as error:
                self.said.append(str(error))

        return called


EVERYONE = [*"abcd", "é/ü", "f 'g'", *(f"{name}:{at}" for name in "ab" for at in range(3)), "nobody"]


def told(store: Store) -> Any:
    """What a store says of its graph and its spaces."""
    held = {
        name: {key: vector.tolist() for key, vector in store.get_vectors(store.record_ids(), space=name).items()}
        for name in store.spaces()
    }
    return (
        store.content_version,
        (store.default_space, store.spaces(), held, {name: store.unembedded(space=name) for name in store.spaces()}),
        (list(store.iter_nodes(2)), list(store.iter_edges(2)), store.get_nodes(EVERYONE), store.get_edges(EVERYONE)),
        sorted((entry for page in store.iter_entries("symbols", 2) for entry in page), key=lambda entry: entry[0]),
    )


def shown(snapshot: Snapshot) -> Any:
    """The same of a snapshot."""
    asked: list[dict[str, Any]] = [
        {"direction": direction, "types": types, "limit": limit}
        for direction in ("out", "in", "both")
        for types in (None, ["calls", "é'\""])
        for limit in (None, 1)
    ]
    return (
        (snapshot.content_version, snapshot.default_space, snapshot.spaces()),
        [snapshot.unembedded(name) for name in snapshot.spaces()],
        [snapshot.neighbours(EVERYONE, **one) for one in asked],
        [snapshot.degrees(EVERYONE, direction=one["direction"], types=one["types"]) for one in asked],
        snapshot.nodes(EVERYONE),
    )


def nearest(snapshot: Snapshot) -> dict[str, dict[str, float]]:
    """For each space what is near, with the scores."""
    found = {}
    for name, dim in snapshot.spaces().items():
        query = unit(*([1.0] * (dim or 2)))
        found[name] = scores_by_id(snapshot, snapshot.dense(query, 50, EVERYTHING, name))
    return found


@settings(few_runs, max_examples=15)
@given(st.lists(graph_batches, min_size=1, max_size=4))
def test_random_graphs_and_spaces(milvus_file: str, batch_list: list[Any]) -> None:
    url = f"{milvus_file}?corpus=g{uuid4().hex[:12]}"
    oracle = CorpusStore.memory()
    with MilvusStore(url) as store:
        for batch in [("alone", BEGINNING), *batch_list]:
            expected, given_ = Tolerant(oracle), Tolerant(store)
            write(expected, batch)  # type: ignore[arg-type]
            write(given_, batch)  # type: ignore[arg-type]
            assert given_.said == expected.said
            assert told(store) == told(oracle)
    with MilvusStore(url) as again, oracle.snapshot() as memory, again.snapshot() as snapshot:
        assert told(again) == told(oracle)
        assert shown(snapshot) == shown(memory)
        found = nearest(snapshot)
        assert found.keys() == nearest(memory).keys()
        for name, scores in nearest(memory).items():
            assert found[name] == pytest.approx(scores, abs=2e-3)
