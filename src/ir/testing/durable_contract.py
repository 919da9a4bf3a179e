"""What outlives a process, and what several users of one corpus see of each other."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from ir.analysis import Analyzer, analyzer, split
from ir.errors import CorpusBusy
from ir.protocols import Store
from ir.testing.made import EVERYTHING, found, ids, made, unit, words
from ir.testing.transaction_contract import abort, assert_filled, fill, spoil

Reopen = Callable[[], Store]


class DurableContract:
    """Part of :class:`ir.testing.contracts.DurableStoreContract`."""

    def test_what_was_written_is_there_after_closing(self, store: Store, reopen: Reopen) -> None:
        fill(store)
        store.close()
        with reopen() as again:
            assert_filled(again)

    def test_a_later_store_goes_on(self, store: Store, reopen: Reopen) -> None:
        fill(store)
        store.close()
        with reopen() as again:
            again.put_record(made("c", "cherries"))
            again.delete_record("a")
        with reopen() as third:
            assert sorted(third.record_ids()) == ["b", "c"]
            assert (found(third, "cherries"), found(third, "apples")) == (["c"], [])

    def test_words_that_a_former_analyzer_did_not_index_are_found(self, store: Store, reopen: Reopen) -> None:
        with pytest.MonkeyPatch.context() as former:
            former.setattr(analyzer, "VERSION", 0)
            former.setattr(analyzer, "_made", Analyzer)
            former.setattr(split, "_grams", lambda *_: iter(()))
            store.put_records([made("tea", "绿茶 leaves"), made("cat", "猫")])
            assert found(store, "leaves") == ["tea"]
            store.close()
        with reopen() as again:
            assert found(again, "茶") == ["tea"]
            again.put_record(made("fish", "鱼"))
            assert (found(again, "leaves"), found(again, "猫"), found(again, "鱼")) == (["tea"], ["cat"], ["fish"])

    def test_closing_twice_is_harmless(self, store: Store, reopen: Reopen) -> None:
        fill(store)
        store.close()
        store.close()
        with reopen() as again:
            assert len(again) == 2

    def test_nothing_of_a_failed_transaction_is_left(self, store: Store, reopen: Reopen) -> None:
        fill(store)
        with pytest.raises(ValueError, match="stop"):
            abort(store, spoil)
        with reopen() as other:
            assert_filled(other)
        store.close()
        with reopen() as again:
            assert_filled(again)

    def test_nobody_else_sees_a_transaction_before_its_end(self, store: Store, reopen: Reopen) -> None:
        fill(store)
        with reopen() as other:
            with store.transaction():
                spoil(store)
                assert_filled(other)
            assert sorted(other.record_ids()) == ["a", "c"]
            assert found(other, "cherries") == ["c"]
            assert other.get_config() == store.get_config()

    def test_the_next_snapshot_sees_what_another_committed(self, store: Store, reopen: Reopen) -> None:
        fill(store)
        with reopen() as other:
            assert found(other, "plums") == []
            other.matrix()
            store.put_record(made("d", "plums", (0, 0, 1), colour="blue"))
            with other.snapshot() as snapshot:
                assert len(snapshot) == 3
                assert ids(snapshot, snapshot.lexical(words("plums"), 5, EVERYTHING)) == ["d"]
                assert ids(snapshot, snapshot.dense(unit(0, 0, 1), 1, EVERYTHING)) == ["d"]
            assert sorted(other.matrix()[0]) == ["a", "b", "d"]
            other.delete_record("a")
            assert found(store, "apples") == []

    def test_a_snapshot_stays_while_another_writes(self, store: Store, reopen: Reopen) -> None:
        fill(store)
        with store.snapshot() as held, reopen() as other:
            version = held.version
            refs = held.dense(unit(1, 0, 0), 10, EVERYTHING).refs
            spoil(other)
            other.put_records([made(f"n{number}", "apples") for number in range(20)])
            assert (held.version, len(held), held.config()) == (version, 2, {"name": "n"})
            assert [row.text for row in held.rows(refs)] == ["apples", "pears"]
            assert ids(held, held.lexical(words("apples"), 10, EVERYTHING)) == ["a"]
            assert ids(held, held.dense(unit(1, 0, 0), 10, EVERYTHING)) == ["a", "b"]

    def test_a_second_writer_waits_or_is_told(self, store: Store, reopen: Reopen) -> None:
        outcome: list[str] = []
        about_to_write = threading.Event()

        def write_too() -> None:
            with reopen() as other:
                about_to_write.set()
                try:
                    other.put_record(made("second", "two"))
                    outcome.append("waited")
                except CorpusBusy:
                    outcome.append("told")

        writer = threading.Thread(target=write_too)
        with store.transaction():
            store.put_record(made("first", "one"))
            writer.start()
            assert about_to_write.wait(60)
            store.put_record(made("third", "three"))
        writer.join(120)
        assert outcome in (["waited"], ["told"])
        expected = ["first", "third"] if outcome == ["told"] else ["first", "second", "third"]
        with reopen() as again:
            assert sorted(again.record_ids()) == expected
            assert found(again, "one two three") == expected
