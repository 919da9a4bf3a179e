"""The version that names what a corpus holds, whatever it went through."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ir.links import Edge, Node
from ir.protocols import Store
from ir.testing.made import made
from ir.testing.transaction_contract import abort

#: Every single one of them is a difference.
CHANGES: dict[str, Callable[[Store], None]] = {
    "another text": lambda store: store.put_record(made("a", "apple", (1, 0, 0), page=1)),
    "other metadata": lambda store: store.put_record(made("a", "apples", (1, 0, 0), page=2)),
    "no metadata": lambda store: store.put_record(made("a", "apples", (1, 0, 0))),
    "another artifact": lambda store: store.put_record(made("a", "apples", (1, 0, 0), artifact="x", page=1)),
    "another kind": lambda store: store.put_record(made("a", "apples", (1, 0, 0), kind="chunk", page=1)),
    "another place": lambda store: store.put_record(made("a", "apples", (1, 0, 0), index=1, page=1)),
    "a record more": lambda store: store.put_record(made("c")),
    "a record less": lambda store: store.delete_record("a"),
    "another language": lambda store: store.set_config({**store.get_config(), "language": "german"}),
    "another model": lambda store: store.set_config({**store.get_config(), "fingerprint": "f2"}),
    "a node more": lambda store: store.put_nodes([Node("n", "entity")]),
    "another type": lambda store: store.put_nodes([Node("a", "page", {"p": 1})]),
    "another property": lambda store: store.put_nodes([Node("a", "document", {"p": 2})]),
    "a node less": lambda store: store.delete_nodes(["a"]),
    "an edge more": lambda store: store.set_links("b", {"ref": ["a"]}),
    "an edge less": lambda store: store.delete_links("a"),
    "another target": lambda store: store.set_links("a", {"ref": ["c"]}),
    "another corpus": lambda store: store.set_links("a", {"ref": [["other", "b"]]}),
    "another edge type": lambda store: store.set_links("a", {"see": ["b"]}),
    "an edge twice": lambda store: store.set_links("a", {"ref": ["b", "b"]}),
    "a property of an edge": lambda store: store.set_edges({"a": [Edge("a", "ref", "b", None, {"line": 1})]}),
    "a space more": lambda store: _second_space(store),
}


def _second_space(store: Store) -> None:
    store.add_space("other")
    store.put_vectors("other", {"b": np.array([1.0, 0.0])})


def fill(store: Store, *, backwards: bool = False) -> None:
    """The same content, written in one order or the other."""
    writes: list[Callable[[], None]] = [
        lambda: store.set_config({"name": "n", "embedder_id": "e", "fingerprint": "f1"}),
        lambda: store.put_record(made("a", "apples", (1, 0, 0), page=1)),
        lambda: store.put_record(made("b", "pears", (0, 1, 0))),
        lambda: store.put_nodes([Node("a", "document", {"p": 1})]),
        lambda: store.set_links("a", {"ref": ["b"]}),
    ]
    for write in reversed(writes) if backwards else writes:
        write()


class ContentContract:
    """Part of :class:`ir.testing.contracts.StoreContract`."""

    def test_a_snapshot_tells_the_version_of_its_content(self, store: Store) -> None:
        fill(store)
        before = store.content_version
        with store.snapshot() as held:
            store.put_record(made("c"))
            assert held.content_version == before != store.content_version
        with store.snapshot() as later:
            assert later.content_version == store.content_version

    def test_the_version_of_a_content_is_known_in_advance(self, store: Store) -> None:
        """The same in every store, on every machine, for as long as corpora of this form are read."""
        assert store.content_version == "59895637b009084e784df54ebc08f225"
        fill(store)
        assert store.content_version == "e99aa1cbf8c35718850f852653fa0f65"

    def test_the_order_of_writing_does_not_count(self, store: Store) -> None:
        fill(store, backwards=True)
        assert store.content_version == "e99aa1cbf8c35718850f852653fa0f65"

    def test_what_is_not_indexed_does_not_count(self, store: Store) -> None:
        fill(store)
        before = store.content_version
        store.set_calibration("dense", {"floor": 0.5})
        store.set_ledger_entry("k", {"version": "1"})
        store.set_config({**store.get_config(), "name": "other", "built_at": "today", "language": "english"})
        assert store.content_version == before

    @pytest.mark.parametrize("change", CHANGES)
    def test_any_difference_counts_and_can_be_taken_back(self, store: Store, change: str) -> None:
        fill(store)
        before = store.content_version
        CHANGES[change](store)
        assert store.content_version != before
        if "other" in store.spaces():
            store.drop_space("other")
        store.delete_records(["a", "c"])
        store.delete_nodes(["n"])
        store.delete_links("b")
        fill(store)
        assert store.content_version == before

    def test_a_failed_transaction_changes_nothing(self, store: Store) -> None:
        fill(store)
        before = store.content_version

        def spoil(store: Store) -> None:
            for change in CHANGES.values():
                change(store)
            assert store.content_version != before

        with pytest.raises(ValueError, match="stop"):
            abort(store, spoil)
        assert store.content_version == before
