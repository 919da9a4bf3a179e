"""Several embeddings of one corpus: named spaces of vectors, side by side."""

from __future__ import annotations

import numpy as np
import pytest

from ir.errors import InvalidInput
from ir.protocols import Store
from ir.testing.made import EVERYTHING, found, ids, made, unit, where
from ir.testing.transaction_contract import abort


def fill_two(store: Store) -> None:
    """Three records, of which two have a vector in the space ``"other"``."""
    store.put_records(
        [
            made("a", "apples", (1, 0, 0), colour="red"),
            made("b", "pears", (0, 1, 0), colour="green"),
            made("c", "plums", (0, 0, 1), colour="blue"),
        ]
    )
    store.add_space("other")
    store.put_vectors("other", {"a": np.array([0.0, 2.0]), "b": np.array([3.0, 0.0])})


class SpacesContract:
    """Part of :class:`ir.testing.contracts.StoreContract`."""

    def test_a_corpus_begins_with_one_space(self, store: Store) -> None:
        assert (store.default_space, store.spaces()) == ("main", {"main": None})
        store.put_record(made("a"))
        assert store.spaces() == {"main": 3}
        with store.snapshot() as snapshot:
            assert (snapshot.default_space, snapshot.spaces(), snapshot.unembedded()) == ("main", {"main": 3}, 0)

    def test_a_second_space_adds(self, store: Store) -> None:
        fill_two(store)
        assert store.spaces() == {"main": 3, "other": 2}
        assert store.unembedded(space="other") == ["c"]
        assert store.unembedded() == []
        held = store.get_vectors(["a", "b", "c", "nobody"], space="other")
        assert {name: vector.tolist() for name, vector in held.items()} == {"a": [0, 2], "b": [3, 0]}
        assert store.get_vectors(["a"])["a"].tolist() == [1, 0, 0]
        with store.snapshot() as snapshot:
            assert ids(snapshot, snapshot.dense(unit(0, 1), 5, EVERYTHING, "other")) == ["a", "b"]
            assert ids(snapshot, snapshot.dense(unit(0, 0, 1), 1, EVERYTHING)) == ["c"]
            assert ids(snapshot, snapshot.dense(unit(0, 1), 5, where({"colour": "green"}), "other")) == ["b"]
            assert snapshot.unembedded("other") == 1
            refs = snapshot.dense(unit(1, 1, 1), 5, EVERYTHING).refs
            names = [row.id for row in snapshot.rows(refs)]
            scores = dict(zip(names, snapshot.dense_scores(unit(0, 1), refs, "other").tolist(), strict=True))
            assert scores == pytest.approx({"a": 1.0, "b": 0.0, "c": 0.0}, abs=1e-3)
            vectors = dict(zip(names, snapshot.vectors(refs, "other"), strict=True))
            assert vectors["c"] is None
            assert vectors["a"] is not None
            assert vectors["a"].tolist() == pytest.approx([0, 1], abs=1e-3)

    def test_a_vector_of_another_text_than_the_record_has_by_now_is_not_kept(self, store: Store) -> None:
        fill_two(store)
        store.put_records([made("b", "quinces", (0, 1, 0))])
        store.delete_record("a")
        row = np.array([1.0, 1.0])
        texts = {"a": "apples", "b": "pears", "c": "plums"}
        with store.transaction():
            assert store.put_vectors_of("other", dict.fromkeys(texts, row), texts) == 1
        assert list(store.get_vectors(["a", "b", "c"], space="other")) == ["c"]
        assert store.unembedded(space="other") == ["b"]

    def test_all_records_are_found_by_words_whatever_space_they_have(self, store: Store) -> None:
        fill_two(store)
        store.set_default_space("other")
        assert found(store, "apples pears plums") == ["a", "b", "c"]
        with store.snapshot() as snapshot:
            assert len(snapshot) == 3
            groups, kinds = snapshot.grouping(snapshot.dense(unit(1, 1, 1), 5, EVERYTHING, "main").refs)
            assert (len(set(groups.tolist())), kinds) == (3, ["document"] * 3)

    def test_the_default_can_be_another(self, store: Store) -> None:
        fill_two(store)
        with store.snapshot() as held:
            store.set_default_space("other")
            assert (held.default_space, held.dim) == ("main", 3)
        assert store.default_space == "other"
        assert store.get_record("a").vector.tolist() == [0, 2]
        assert store.get_record("c").vector.tolist() == []
        assert sorted(store.matrix()[0]) == ["a", "b"]
        with store.snapshot() as snapshot:
            assert (snapshot.default_space, snapshot.dim, snapshot.unembedded()) == ("other", 2, 1)
            assert ids(snapshot, snapshot.dense(unit(1, 0), 1, EVERYTHING)) == ["b"]
        store.put_record(made("d", "figs", (1, 1)))
        store.put_record(made("e", "dates", (1, 1, 0)), space="main")
        assert store.unembedded() == ["c", "e"]
        assert store.unembedded(space="main") == ["d"]
        store.put_vectors("main", {"d": np.array([0.0, 1.0, 1.0])})
        with store.snapshot() as snapshot:
            assert ids(snapshot, snapshot.dense(unit(0, 1, 1), 1, EVERYTHING, "main")) == ["d"]
            assert snapshot.unembedded("main") == 0

    def test_a_record_may_come_without_a_vector(self, store: Store) -> None:
        store.put_records([made("a", "apples", ()), made("b", "pears", (0, 1, 0)), made("c", "plums", ())])
        assert (store.unembedded(), store.spaces(), len(store)) == (["a", "c"], {"main": 3}, 3)
        assert store.get_record("a").vector.tolist() == []
        assert found(store, "apples pears") == ["a", "b"]
        with store.snapshot() as snapshot:
            assert ids(snapshot, snapshot.dense(unit(1, 1, 1), 5, EVERYTHING)) == ["b"]
            assert snapshot.unembedded() == 2
        store.put_vectors("main", {"a": np.array([0.0, 0.0, 1.0])})
        with store.snapshot() as snapshot:
            assert ids(snapshot, snapshot.dense(unit(0, 0, 1), 5, EVERYTHING)) == ["a", "b"]

    def test_a_changed_record_has_no_vectors_of_its_old_text(self, store: Store) -> None:
        fill_two(store)
        store.put_record(made("a", "cherries", (1, 0, 0)))
        assert store.unembedded(space="other") == ["a", "c"]
        store.delete_record("b")
        assert store.get_vectors(["a", "b"], space="other") == {}
        with store.snapshot() as snapshot:
            assert ids(snapshot, snapshot.dense(unit(0, 1), 5, EVERYTHING, "other")) == []

    def test_dropping_a_space(self, store: Store) -> None:
        fill_two(store)
        store.set_default_space("other")
        store.drop_space("main")
        assert store.spaces() == {"other": 2}
        with store.snapshot() as snapshot:
            assert ids(snapshot, snapshot.dense(unit(0, 1), 5, EVERYTHING)) == ["a", "b"]
            assert len(snapshot) == 3
        store.add_space("main")
        assert store.spaces() == {"main": None, "other": 2}
        assert store.unembedded(space="main") == ["a", "b", "c"]

    def test_vectors_of_a_space_are_of_one_size(self, store: Store) -> None:
        fill_two(store)
        with pytest.raises(InvalidInput, match=r"'c'.* 3 dimensions.* 2"):
            store.put_vectors("other", {"c": np.array([1.0, 2.0, 3.0])})
        with pytest.raises(InvalidInput, match="dimensions"):
            store.put_vectors("other", {"c": np.array([1.0, 2.0]), "a": np.array([1.0])})
        assert store.unembedded(space="other") == ["c"]

    def test_what_is_wrong_with_spaces_is_said(self, store: Store) -> None:
        fill_two(store)
        with pytest.raises(InvalidInput, match="'other' in this corpus already"):
            store.add_space("other")
        with pytest.raises(InvalidInput, match="cannot be called"):
            store.add_space("../escape")
        with pytest.raises(InvalidInput, match=r"no space 'third'.*'main', 'other'"):
            store.put_vectors("third", {"a": np.array([1.0])})
        with pytest.raises(InvalidInput, match="no space 'third'"):
            store.set_default_space("third")
        with pytest.raises(InvalidInput, match="is the default one"):
            store.drop_space("main")
        with pytest.raises(InvalidInput, match="'nobody', which is not in this store"):
            store.put_vectors("other", {"nobody": np.array([1.0, 2.0])})
        with store.snapshot() as snapshot, pytest.raises(InvalidInput, match="no space 'third'"):
            snapshot.dense(unit(1, 0), 1, EVERYTHING, "third")
        assert store.spaces() == {"main": 3, "other": 2}

    def test_a_failed_transaction_leaves_the_spaces(self, store: Store) -> None:
        fill_two(store)

        def spoil(store: Store) -> None:
            store.add_space("third")
            store.put_vectors("third", {"a": np.array([1.0])})
            store.put_vectors("other", {"c": np.array([1.0, 1.0])})
            store.set_default_space("third")
            store.drop_space("main")

        with pytest.raises(ValueError, match="stop"):
            abort(store, spoil)
        assert (store.default_space, store.spaces()) == ("main", {"main": 3, "other": 2})
        assert store.unembedded(space="other") == ["c"]
        assert store.get_vectors(["c"])["c"].tolist() == [0, 0, 1]

    def test_a_snapshot_keeps_its_vectors(self, store: Store) -> None:
        fill_two(store)
        with store.snapshot() as held:
            store.put_vectors("other", {"c": np.array([0.0, 1.0])})
            store.set_default_space("other")
            store.drop_space("main")
            assert ids(held, held.dense(unit(0, 1), 5, EVERYTHING, "other")) == ["a", "b"]
            assert ids(held, held.dense(unit(0, 0, 1), 1, EVERYTHING)) == ["c"]
        with store.snapshot() as later:
            assert sorted(ids(later, later.dense(unit(0, 1), 5, EVERYTHING))) == ["a", "b", "c"]
