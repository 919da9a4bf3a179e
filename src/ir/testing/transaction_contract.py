"""Many writes as one, and versions that stand still."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ir.protocols import Store
from ir.testing.made import EVERYTHING, found, ids, made, unit, where, words


class Interrupted(BaseException):
    """Not an ``Exception``: as a keyboard interrupt is not."""


def fill(store: Store) -> None:
    """Something in every view."""
    store.put_records([made("a", "apples", (1, 0, 0)), made("b", "pears", (0, 1, 0))])
    store.set_ledger_entry("k", {"version": "1"})
    store.set_links("a", {"ref": ["b"]})
    store.set_config({"name": "n"})
    store.set_calibration("dense", {"floor": 1})


def spoil(store: Store) -> None:
    """Change, add and remove something in every view."""
    store.put_records([made("a", "plums", (0, 0, 1)), made("c", "cherries")])
    store.delete_record("b")
    store.set_ledger_entry("k", {"version": "2"})
    store.set_ledger_entry("new", {})
    store.delete_links("a")
    store.set_links("c", {"ref": ["a"]})
    store.set_config({"name": "other", "language": "german"})
    store.set_calibration("dense", {"floor": 2})
    store.set_calibration("lexical", {"floor": 3})


def abort(store: Store, write: Callable[[Store], None], error: type[BaseException] = ValueError) -> None:
    """Write in a transaction that fails at its end."""
    with store.transaction():
        write(store)
        raise error("stop")


def assert_filled(store: Store) -> None:
    """Just what :func:`fill` wrote."""
    assert sorted(store.record_ids()) == ["a", "b"]
    assert len(store) == 2
    assert store.get_record("a").text == "apples"
    assert store.get_record("a").vector.tolist() == [1, 0, 0]
    assert list(store.ledger_items()) == [("k", {"version": "1"})]
    assert list(store.link_items()) == [("a", {"ref": ["b"]})]
    assert store.get_config() == {"name": "n"}
    assert store.calibration_modes() == ["dense"]
    assert store.get_calibration("dense") == {"floor": 1}
    assert sorted(store.matrix()[0]) == ["a", "b"]
    assert [found(store, fruit) for fruit in ("apples", "pears", "plums", "cherries")] == [["a"], ["b"], [], []]


class TransactionContract:
    """Part of :class:`ir.testing.contracts.StoreContract`."""

    def test_a_transaction_keeps_its_writes(self, store: Store) -> None:
        with store.transaction():
            fill(store)
            assert store.get_record("a").text == "apples"
            assert store.get_ledger_entry("k") == {"version": "1"}
        assert_filled(store)

    @pytest.mark.parametrize("error", [ValueError, Interrupted])
    def test_an_error_undoes_everything(self, store: Store, error: type[BaseException]) -> None:
        fill(store)
        with pytest.raises(error, match="stop"):
            abort(store, spoil, error)
        assert_filled(store)

    def test_an_error_leaves_an_empty_store_empty(self, store: Store) -> None:
        with pytest.raises(ValueError, match="stop"):
            abort(store, fill)
        assert (len(store), store.get_config(), store.calibration_modes()) == (0, {}, [])
        assert list(store.ledger_items()) == list(store.link_items()) == []
        fill(store)
        assert_filled(store)

    def test_inner_transactions_join_the_outer(self, store: Store) -> None:
        def spoil_twice(store: Store) -> None:
            with store.transaction():
                spoil(store)
            with store.transaction():
                store.put_record(made("d"))

        fill(store)
        with pytest.raises(ValueError, match="stop"):
            abort(store, spoil_twice)
        assert_filled(store)
        with store.transaction(), store.transaction():
            store.put_record(made("d"))
        assert sorted(store.record_ids()) == ["a", "b", "d"]

    def test_a_refused_write_does_not_end_the_transaction(self, store: Store) -> None:
        with store.transaction():
            fill(store)
            with pytest.raises(ValueError, match="dimensions"):
                store.put_record(made("wrong", vector=(1, 2)))
        assert_filled(store)

    def test_writing_goes_on_after_an_error(self, store: Store) -> None:
        with pytest.raises(ValueError, match="stop"):
            abort(store, lambda store: store.put_record(made("x")))
        fill(store)
        assert_filled(store)

    def test_all_records_can_be_exchanged_for_ones_of_another_size(self, store: Store) -> None:
        fill(store)
        with store.transaction():
            store.delete_records(["a", "b"])
            store.put_records([made("a", vector=(1, 2)), made("b", vector=(2, 1))])
        with store.snapshot() as snapshot:
            assert (len(snapshot), snapshot.dim) == (2, 2)
            assert ids(snapshot, snapshot.dense(unit(0, 1), 1, EVERYTHING)) == ["a"]

    # -- versions --------------------------------------------------------------------------------------------------

    def test_a_snapshot_stays_as_it_was(self, store: Store) -> None:
        fill(store)
        with store.snapshot() as held:
            version = held.version
            before = held.dense(unit(1, 1, 1), 10, EVERYTHING)
            spoil(store)
            assert held.version == version
            assert len(held) == 2
            assert held.config() == {"name": "n"}
            assert sorted(ids(held, held.dense(unit(1, 1, 1), 10, EVERYTHING))) == ["a", "b"]
            assert sorted(row.text for row in held.rows(before.refs)) == ["apples", "pears"]
            assert ids(held, held.lexical(words("apples"), 10, EVERYTHING)) == ["a"]
            assert ids(held, held.lexical(words("plums cherries"), 10, EVERYTHING)) == []
            assert ids(held, held.dense(unit(0, 1, 0), 1, where({"missing": None}))) == ["b"]
        with store.snapshot() as later:
            assert later.version != version
            assert sorted(ids(later, later.dense(unit(1, 1, 1), 10, EVERYTHING))) == ["a", "c"]

    def test_two_snapshots_at_once(self, store: Store) -> None:
        store.put_record(made("a"))
        with store.snapshot() as first:
            store.put_record(made("b"))
            with store.snapshot() as second:
                store.put_record(made("c"))
                assert (len(first), len(second)) == (1, 2)

    def test_every_write_of_records_makes_a_new_version(self, store: Store) -> None:
        writes: list[Callable[[], None]] = [
            lambda: None,
            lambda: store.put_record(made("a", "one")),
            lambda: store.put_record(made("a", "two")),
            lambda: store.put_records([made("b"), made("c")]),
            lambda: store.delete_record("a"),
            lambda: store.set_config({"language": "french"}),
        ]
        versions = []
        for write in writes:
            write()
            with store.snapshot() as snapshot:
                versions.append(snapshot.version)
        assert len(set(versions)) == len(versions)

    def test_reading_makes_no_version(self, store: Store) -> None:
        fill(store)
        with store.snapshot() as first:
            found(store, "apples")
            store.matrix()
            store.get_record("a")
        with store.snapshot() as second:
            assert first.version == second.version

    def test_closing_is_harmless(self, store: Store) -> None:
        fill(store)
        with store as same:
            assert same is store
        store.close()
