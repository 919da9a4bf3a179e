"""Spaces of vectors in Milvus: each has a collection of its own, which comes and goes with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest
from tests.extras import reason_for

pytest.importorskip("milvus_lite", reason=reason_for("milvus_lite"))

from ir.errors import CorpusError
from ir.store.milvus import MilvusStore
from ir.testing.made import EVERYTHING, found, ids, made, unit, where
from ir.testing.spaces_contract import fill_two


@pytest.fixture(scope="module")
def milvus_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    file = f"milvus+lite:{tmp_path_factory.mktemp('milvus')}/corpora.db"
    with MilvusStore(f"{file}?corpus=holder") as holder:
        holder.set_config({"name": "holder"})
        yield file


@pytest.fixture
def store(milvus_file: str) -> Iterator[MilvusStore]:
    with MilvusStore(f"{milvus_file}?corpus=s{uuid4().hex[:12]}") as store:
        yield store


def test_filters_that_milvus_cannot_tell_work_in_every_space(store: MilvusStore) -> None:
    store.put_records([made(f"r{at}", vector=(1, at, 0), n=at, gap=None if at % 2 else at) for at in range(6)])
    store.add_space("other")
    store.put_vectors("other", {f"r{at}": np.array([1.0, at]) for at in range(4)})
    with store.snapshot() as snapshot:
        for spec, names in (
            ({"n": {"$gte": 2}}, ["r2", "r3"]),
            ({"gap": None}, ["r1", "r3"]),  # by reading the records
            ({"n": 5}, []),
        ):
            assert ids(snapshot, snapshot.dense(unit(1, 0), 10, where(spec), "other")) == names
        assert ids(snapshot, snapshot.dense(unit(1, 0), 10, where(None, ["absent"]), "other")) == []
        groups, kinds = snapshot.grouping(snapshot.dense(unit(1, 0), 10, EVERYTHING, "other").refs)
        assert (len(set(groups.tolist())), set(kinds)) == (4, {"document"})


def test_a_replaced_vector_stays_in_earlier_versions(store: MilvusStore) -> None:
    fill_two(store)
    before = store.content_version
    with store.snapshot() as held:
        store.put_vectors("other", {"a": np.array([5.0, 0.0])})
        assert ids(held, held.dense(unit(0, 1), 1, EVERYTHING, "other")) == ["a"]
        assert held.dense_scores(unit(0, 1), held.dense(unit(1, 0, 0), 1, EVERYTHING).refs, "other").tolist() == [1.0]
    with store.snapshot() as later:
        (first, _) = later.dense(unit(0, 1), 5, EVERYTHING, "other").scores.tolist()
        assert first == pytest.approx(0.0, abs=1e-6)
        assert ids(later, later.dense(unit(1, 0, 0), 1, EVERYTHING)) == ["a"]  # it kept its vector in the other space
    assert (len(store), store.content_version, found(store, "apples")) == (3, before, ["a"])


def test_a_vector_that_came_later_is_not_seen_by_an_earlier_version(store: MilvusStore) -> None:
    fill_two(store)
    with store.snapshot() as held:
        store.put_vectors("other", {"c": np.array([1.0, 1.0])})
        refs = held.dense(unit(0, 0, 1), 1, EVERYTHING).refs
        assert ids(held, held.dense(unit(0, 0, 1), 1, EVERYTHING)) == ["c"]
        assert held.vectors(refs, "other") == [None]
        assert held.dense_scores(unit(1, 0), refs, "other").tolist() == [0.0]


def test_a_change_of_language_keeps_the_vectors_of_every_space(store: MilvusStore) -> None:
    fill_two(store)
    store.set_config({"language": "german"})
    assert found(store, "apples", "german") == ["a"]
    assert (store.spaces(), store.unembedded(space="other")) == ({"main": 3, "other": 2}, ["c"])
    assert store.get_vectors(["a"], space="other")["a"].tolist() == [0, 2]


def test_names_that_are_alike_have_collections_of_their_own(store: MilvusStore) -> None:
    store.put_record(made("a"))
    names = ["bge-small", "bge_small", "BGE-small", "bgesmall", "x" * 60, "x" * 59, "1"]
    for at, name in enumerate(names):
        store.add_space(name)
        store.put_vectors(name, {"a": np.array([1.0, at])})
    assert [store.get_vectors(["a"], space=name)["a"].tolist() for name in names] == [[1, at] for at in range(7)]
    assert len(store._collections.spaces_there()) == 8


def test_the_collection_of_a_dropped_space_goes_with_the_versions_that_show_it(tmp_path: Path) -> None:
    url = f"milvus+lite:{tmp_path}/corpora.db?corpus=c"
    with MilvusStore(url) as store:
        fill_two(store)
        with store.snapshot() as held:
            store.drop_space("other")
            store.put_record(made("d"))
            assert ids(held, held.dense(unit(0, 1), 5, EVERYTHING, "other")) == ["a", "b"]
        assert len(store._collections.spaces_there()) == 2
        # Another one of that name begins empty, while the old one is still there.
        store.add_space("other")
        store.put_vectors("other", {"c": np.array([1.0, 0.0])})
        assert store.unembedded(space="other") == ["a", "b", "d"]
        with store.snapshot() as held, MilvusStore(f"{url}&keep=0") as other:
            other.drop_space("other")
            other.put_record(made("e"))
            assert len(store._collections.spaces_there()) == 1
            with pytest.raises(CorpusError, match="no longer kept"):
                held.dense(unit(0, 1), 5, EVERYTHING, "other")
        assert store.spaces() == {"main": 3}


def test_a_space_that_was_emptied_takes_vectors_of_another_size(store: MilvusStore) -> None:
    fill_two(store)
    store.delete_records(["a", "b", "c"])
    store.put_records([made("a", vector=(1, 2))])
    store.put_vectors("other", {"a": np.array([1.0, 2.0, 3.0])})
    assert store.spaces() == {"main": 2, "other": 3}
    with store.snapshot() as snapshot:
        assert ids(snapshot, snapshot.dense(unit(1, 1, 1), 5, EVERYTHING, "other")) == ["a"]


def test_no_corpus_takes_collections_for_its_own_that_belong_to_another(tmp_path: Path) -> None:
    file = f"milvus+lite:{tmp_path}/corpora.db"
    with MilvusStore(f"{file}?corpus=c_space_main") as longer, MilvusStore(f"{file}?corpus=c") as shorter:
        longer.put_record(made("a"))
        shorter.put_record(made("b"))  # its first write clears away what a dead writer might have left
        with MilvusStore(f"{file}?corpus=c_records") as third:
            third.put_record(made("c"))
            shorter.drop()
            assert third.record_ids() == ["c"]
        assert (longer.record_ids(), shorter.exists()) == (["a"], False)
        with longer.snapshot() as snapshot:
            assert ids(snapshot, snapshot.dense(unit(1, 0, 0), 5, EVERYTHING)) == ["a"]
