"""What a store gives to those who read all of it, some at a time: copies, exports."""

from __future__ import annotations

import pytest

from ir.links import links_of_edges
from ir.protocols import Store
from ir.testing.made import made


class PagingContract:
    """Part of :class:`ir.testing.contracts.StoreContract`."""

    def test_some_records_by_their_ids(self, store: Store) -> None:
        store.put_records([made("a", page=1), made("b", page=2), made("c", page=3)])
        found = store.get_records(["c", "nobody", "a", "c"])
        assert sorted((record.id, record.metadata["page"]) for record in found) == [("a", 1), ("c", 3)]
        assert store.get_records([]) == []

    @pytest.mark.parametrize("batch", [1, 3, 100])
    def test_all_records_page_by_page(self, store: Store, batch: int) -> None:
        given = [made(f"r{at}", f"words {at}", (1.0, at, 0.5)) for at in range(10)]
        store.put_records(given)
        store.delete_records(["r1", "r8"])
        store.put_record(made("r3", "changed"))
        pages = list(store.iter_records(batch))
        assert max(map(len, pages)) <= batch
        texts = {record.id: record.text for page in pages for record in page}
        assert texts == {**{one.id: one.text for one in given if one.id not in ("r1", "r8")}, "r3": "changed"}
        assert sum(map(len, pages)) == len(store) == 8

    def test_ledger_and_links_page_by_page(self, store: Store) -> None:
        with store.transaction():
            for at in range(7):
                store.set_ledger_entry(f"k{at}", {"record_ids": [str(at)]})
                store.set_links(f"a{at}", {"ref": [f"a{at + 1}"]})
            store.delete_links("a3")
            inside = sorted(entry for page in store.iter_entries("ledger", 2) for entry in page)
        assert inside == [(f"k{at}", {"record_ids": [str(at)]}) for at in range(7)]
        pages = list(store.iter_edges(4))
        assert max(map(len, pages)) <= 4
        assert [key for page in pages for key, _ in page] == ["a0", "a1", "a2", "a4", "a5", "a6"]
        links = {key: links_of_edges(edges) for page in pages for key, edges in page}
        assert links == dict(store.link_items())

    def test_nothing_has_no_pages(self, store: Store) -> None:
        assert list(store.iter_records(5)) == []
        assert list(store.iter_entries("ledger", 5)) == list(store.iter_entries("symbols", 5)) == []
        assert list(store.iter_edges(5)) == []
        assert list(store.iter_nodes(5)) == []
