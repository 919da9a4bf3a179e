"""What a store gives back of what it was given: records, ledger, links, settings, calibrations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ir.errors import InvalidInput
from ir.protocols import Store
from ir.testing.made import found, made

STRANGE = "ünï·çødé/日本語 'quoted\" 🦊 \n%_"


class KeepingContract:
    """Part of :class:`ir.testing.contracts.StoreContract`."""

    # -- records -----------------------------------------------------------------------------------------------

    def test_an_empty_store(self, store: Store) -> None:
        ids, matrix, metas = store.matrix()
        assert (len(store), store.record_ids(), ids, metas) == (0, [], [], [])
        assert matrix.shape == (0, 0)
        assert store.get_config() == {}
        assert (list(store.ledger_items()), list(store.link_items()), store.calibration_modes()) == ([], [], [])

    def test_an_empty_store_is_true(self, store: Store) -> None:
        assert bool(store)

    def test_a_record_comes_back_as_it_was_put(self, store: Store) -> None:
        given = made("r", "Some text", (0.25, -2.0, 3.5), artifact="a", kind="chunk", index=7, page=3, tags=["x"])
        store.put_record(given)
        kept = store.get_record("r")
        assert (kept.id, kept.artifact_id, kept.surface_kind, kept.surface_index) == ("r", "a", "chunk", 7)
        assert (kept.text, kept.metadata) == ("Some text", {"page": 3, "tags": ["x"]})
        assert kept.vector.dtype == np.float32
        assert kept.vector.tolist() == [0.25, -2.0, 3.5]

    def test_metadata_comes_back_in_json_types(self, store: Store) -> None:
        store.put_record(made("r", pair=(1, 2), number=np.int64(4), deep={"set": {"only"}, 5: None}, yes=True))
        kept = store.get_record("r").metadata
        assert kept == {"pair": [1, 2], "number": 4, "deep": {"set": ["only"], "5": None}, "yes": True}
        assert type(kept["number"]) is int

    def test_halves_of_surrogate_pairs_are_replaced(self, store: Store) -> None:
        """No encoding can store them; every store gives back the same, under the id as given and as it was kept."""
        half, kept_as = "cut \ud83d", "cut \ufffd"
        fields: Any = {half: [half, {"deep": half}]}
        store.put_record(made(half, half, artifact=half, kind=half, **fields))
        for name in (half, kept_as):
            kept = store.get_record(name)
            assert (kept.id, kept.artifact_id, kept.surface_kind, kept.text) == (kept_as,) * 4
            assert kept.metadata == {kept_as: [kept_as, {"deep": kept_as}]}
            assert [record.id for record in store.get_records([name])] == [kept_as]
        store.set_ledger_entry(half, {"artifact_id": half})
        store.set_ledger_entries({f"{half}!": {"artifact_id": half}})
        store.set_links(half, {half: [half]})
        store.set_config({half: half})
        store.set_calibration(half, {half: half})
        entries = {kept_as: {"artifact_id": kept_as}, f"{kept_as}!": {"artifact_id": kept_as}}
        assert dict(store.ledger_items()) == entries
        assert store.get_ledger_entry(half) == store.get_ledger_entry(kept_as) == {"artifact_id": kept_as}
        assert store.get_links(half) == {kept_as: [kept_as]}
        assert store.get_config() == {kept_as: kept_as}
        assert store.get_calibration(half) == {kept_as: kept_as}
        store.delete_record(half)
        store.delete_links(half)
        store.delete_ledger_entry(half)
        assert (len(store), list(store.link_items()), len(list(store.ledger_items()))) == (0, [], 1)

    def test_what_came_back_is_a_copy(self, store: Store) -> None:
        given = made("r", tags=["x"])
        store.put_record(given)
        given.metadata["tags"].append("late")
        given.vector[0] = 9.0
        taken = store.get_record("r")
        taken.metadata["tags"].append("mine")
        kept = store.get_record("r")
        assert kept.metadata == {"tags": ["x"]}
        assert kept.vector[0] == 1.0

    def test_a_missing_record_is_named(self, store: Store) -> None:
        with pytest.raises(KeyError, match="nobody"):
            store.get_record("nobody")

    def test_many_records_at_once(self, store: Store) -> None:
        store.put_records([made(f"r{number}") for number in range(50)])
        store.put_records([])
        assert len(store) == 50
        assert sorted(store.record_ids()) == sorted(f"r{number}" for number in range(50))

    def test_the_last_of_two_records_with_one_id_stays(self, store: Store) -> None:
        store.put_record(made("r", "about apples", (1, 0, 0), colour="red"))
        store.put_record(made("r", "about pears", (0, 1, 0), artifact="other", kind="chunk", colour="green"))
        kept = store.get_record("r")
        assert (len(store), store.record_ids()) == (1, ["r"])
        assert (kept.text, kept.artifact_id, kept.surface_kind) == ("about pears", "other", "chunk")
        assert (kept.metadata, kept.vector.tolist()) == ({"colour": "green"}, [0, 1, 0])
        assert (found(store, "apples"), found(store, "pears")) == ([], ["r"])

    def test_two_records_with_one_id_in_one_call(self, store: Store) -> None:
        store.put_records([made("r", "first"), made("other"), made("r", "second")])
        assert store.get_record("r").text == "second"
        assert len(store) == 2

    def test_deleting(self, store: Store) -> None:
        store.put_records([made("a"), made("b"), made("c"), made("d")])
        store.delete_record("a")
        store.delete_records(["b", "c", "never there"])
        store.delete_record("never there")
        store.delete_records([])
        assert store.record_ids() == ["d"]
        with pytest.raises(KeyError):
            store.get_record("a")

    def test_strange_ids(self, store: Store) -> None:
        store.put_record(made(STRANGE, artifact=STRANGE + "!", kind="Ünkind"))
        store.set_links(STRANGE, {"réf": [STRANGE]})
        store.set_ledger_entry(STRANGE, {"artifact_id": STRANGE})
        assert store.record_ids() == [STRANGE]
        assert store.get_record(STRANGE).artifact_id == STRANGE + "!"
        assert list(store.link_items()) == [(STRANGE, {"réf": [STRANGE]})]
        assert list(store.ledger_items()) == [(STRANGE, {"artifact_id": STRANGE})]
        store.delete_record(STRANGE)
        store.delete_links(STRANGE)
        store.delete_ledger_entry(STRANGE)
        assert (len(store), list(store.link_items()), list(store.ledger_items())) == (0, [], [])

    def test_large_texts(self, store: Store) -> None:
        text = "filler words " * 30_000 + "needle"
        store.put_records([made("large", text), made("small", "a needle")])
        assert store.get_record("large").text == text
        assert found(store, "needle") == ["large", "small"]

    def test_one_store_holds_vectors_of_one_size(self, store: Store) -> None:
        store.put_records([made("a"), made("b")])
        with pytest.raises(InvalidInput, match=r"'c'.* 2 dimensions.* 3"):
            store.put_records([made("c", vector=(1, 2)), made("d", vector=(1, 2))])
        with pytest.raises(InvalidInput, match="dimensions"):
            store.put_records([made("c"), made("d", vector=(1, 2))])
        assert sorted(store.record_ids()) == ["a", "b"]

    def test_an_emptied_store_takes_vectors_of_another_size(self, store: Store) -> None:
        store.put_record(made("a"))
        store.delete_record("a")
        store.put_record(made("b", vector=(1, 2)))
        assert store.matrix()[1].shape == (1, 2)

    def test_vectors_must_be_rows_of_finite_numbers(self, store: Store) -> None:
        with pytest.raises(InvalidInput, match="'a' holds values that are not finite"):
            store.put_record(made("a", vector=(1.0, float("nan"))))
        with pytest.raises(InvalidInput, match="one row"):
            store.put_record(made("a", vector=((1.0, 2.0),)))  # type: ignore[arg-type]
        assert len(store) == 0

    # -- the matrix ----------------------------------------------------------------------------------------------

    def test_the_matrix_has_rows_of_length_one(self, store: Store) -> None:
        store.put_records([made("a", vector=(3, 4, 0), page=1), made("zero", vector=(0, 0, 0))])
        ids, matrix, metas = store.matrix()
        rows = dict(zip(ids, matrix.tolist(), strict=True))
        assert rows["a"] == pytest.approx([0.6, 0.8, 0.0], abs=1e-6)
        assert rows["zero"] == [0, 0, 0]
        assert matrix.dtype == np.float32
        assert metas[ids.index("a")] == {
            "artifact_id": "of a",
            "surface_kind": "document",
            "surface_index": 0,
            "text": "text of a",
            "metadata": {"page": 1},
        }

    def test_the_matrix_is_kept_until_the_next_write(self, store: Store) -> None:
        store.put_record(made("a"))
        first = store.matrix()[1]
        assert store.matrix()[1] is first
        store.put_record(made("b"))
        assert store.matrix()[1].shape == (2, 3)
        store.delete_record("a")
        assert store.matrix()[0] == ["b"]

    # -- the ledger ----------------------------------------------------------------------------------------------

    def test_ledger(self, store: Store) -> None:
        assert store.get_ledger_entry("k") is None
        store.set_ledger_entry("k", {"version": "1", "stat": None, "record_ids": ("a", "b")})
        store.set_ledger_entry("k", {"version": "2", "stat": None, "record_ids": ("a", "b")})
        store.set_ledger_entry("other", {"version": "1"})
        assert store.get_ledger_entry("k") == {"version": "2", "stat": None, "record_ids": ["a", "b"]}
        assert dict(store.ledger_items()).keys() == {"k", "other"}
        store.delete_ledger_entry("k")
        store.delete_ledger_entry("k")
        assert list(store.ledger_items()) == [("other", {"version": "1"})]

    def test_ledger_entries_are_copies(self, store: Store) -> None:
        given = {"record_ids": ["a"]}
        store.set_ledger_entry("k", given)
        given["record_ids"].append("late")
        taken = store.get_ledger_entry("k")
        assert taken is not None
        taken["record_ids"].append("mine")
        dict(store.ledger_items())["k"]["record_ids"].append("mine")
        assert store.get_ledger_entry("k") == {"record_ids": ["a"]}

    def test_the_ledger_may_change_while_it_is_read(self, store: Store) -> None:
        for number in range(20):
            store.set_ledger_entry(f"k{number}", {"version": number})
        for key, _ in store.ledger_items():
            store.delete_ledger_entry(key)
            store.set_ledger_entry(f"new {key}", {})
        assert all(key.startswith("new ") for key, _ in store.ledger_items())

    # -- links -----------------------------------------------------------------------------------------------------

    def test_links(self, store: Store) -> None:
        assert store.get_links("a") == {}
        store.set_links("a", {"ref": ["b", ["other", "c"]], "next": ["d"], "empty": []})
        assert store.get_links("a") == {"ref": ["b", ["other", "c"]], "next": ["d"]}
        store.set_links("a", {"prev": ["z"]})
        assert list(store.link_items()) == [("a", {"prev": ["z"]})]

    def test_no_empty_links_linger(self, store: Store) -> None:
        store.set_links("a", {"ref": ["b"]})
        store.set_links("a", {"ref": []})
        store.set_links("b", {})
        assert list(store.link_items()) == []
        store.set_links("c", {"ref": ["d"]})
        store.delete_links("c")
        store.delete_links("c")
        assert store.get_links("c") == {}

    def test_links_are_copies(self, store: Store) -> None:
        store.set_links("a", {"ref": [["s", "b"]]})
        store.get_links("a")["ref"][0].append("mine")
        dict(store.link_items())["a"]["ref"].clear()
        assert store.get_links("a") == {"ref": [["s", "b"]]}

    def test_targets_are_a_list(self, store: Store) -> None:
        with pytest.raises(InvalidInput, match="'ref' must be a list of targets"):
            store.set_links("a", {"ref": "b"})

    def test_links_may_change_while_they_are_read(self, store: Store) -> None:
        for number in range(20):
            store.set_links(f"a{number}", {"ref": ["x"]})
        for artifact_id, _ in store.link_items():
            store.delete_links(artifact_id)
        assert list(store.link_items()) == []

    # -- settings and calibrations -------------------------------------------------------------------------------

    def test_settings(self, store: Store) -> None:
        store.set_config({"name": "n", "embedder_id": "e", "dim": np.int64(3)})
        store.set_config({"name": "m", "nested": {"x": [1]}})
        store.get_config()["nested"]["x"].append(2)
        assert store.get_config() == {"name": "m", "nested": {"x": [1]}}

    def test_an_unknown_language_is_refused(self, store: Store) -> None:
        store.set_config({"language": "german"})
        with pytest.raises(InvalidInput, match="language"):
            store.set_config({"language": "klingon"})
        assert store.get_config() == {"language": "german"}

    def test_calibrations(self, store: Store) -> None:
        assert store.get_calibration("dense") is None
        store.set_calibration("hybrid|blend|rerank", {"floor": 0.5, "grid": [[0.1, 0.2]]})
        store.set_calibration("dense", {"floor": 0.1})
        store.set_calibration("dense", {"floor": 0.2})
        taken = store.get_calibration("hybrid|blend|rerank")
        assert taken == {"floor": 0.5, "grid": [[0.1, 0.2]]}
        taken["grid"][0].append(9)
        assert store.get_calibration("hybrid|blend|rerank") == {"floor": 0.5, "grid": [[0.1, 0.2]]}
        assert store.get_calibration("dense") == {"floor": 0.2}
        assert store.calibration_modes() == ["dense", "hybrid|blend|rerank"]

    @pytest.mark.parametrize("mode", ["", "  ", "a/b", "a\\b", None])
    def test_names_that_no_calibration_can_have(self, store: Store, mode: str) -> None:
        with pytest.raises(InvalidInput, match="path separator"):
            store.set_calibration(mode, {})
        assert store.calibration_modes() == []
