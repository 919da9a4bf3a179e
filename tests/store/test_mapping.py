"""What is particular to a corpus in mappings; what all stores share is in the contract."""

from __future__ import annotations

import json
import threading
from collections import UserDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir.protocols import Where
from ir.store import CorpusStore
from ir.testing.made import EVERYTHING, found, ids, made, scores_by_id, unit, where, words


def test_the_mappings_hold_plain_values() -> None:
    meta: dict[str, Any] = {}
    vectors: dict[str, Any] = {}
    store = CorpusStore(meta, vectors, ledger={}, config={})
    store.put_record(made("r", "text", (1, 2, 3), artifact="a", kind="chunk", index=2, pair=(1, 2)))
    assert meta == {
        "r": {
            "artifact_id": "a",
            "surface_kind": "chunk",
            "surface_index": 2,
            "text": "text",
            "metadata": {"pair": [1, 2]},
        }
    }
    assert isinstance(vectors["r"], np.ndarray)
    assert (vectors["r"].tolist(), vectors["r"].dtype) == ([1, 2, 3], np.float32)


def test_mappings_that_already_hold_a_corpus() -> None:
    first = CorpusStore({}, {}, {}, {}, {}, {})
    first.put_records([made("a", "apples"), made("b", "pears")])
    first.set_links("a", {"ref": ["b"]})
    first.set_config({"name": "n"})
    second = CorpusStore(first.meta, first.vectors, first.ledger, first.config, first.calibration, first.links)
    assert found(second, "pears") == ["b"]
    assert second.get_links("a") == {"ref": ["b"]}
    assert second.get_config() == {"name": "n"}


def test_any_id_can_have_links_in_files(tmp_path: Path) -> None:
    dol = pytest.importorskip("dol", reason="the extra dol is not installed, so links in files were not tried")
    for name in ("ledger", "links"):
        (tmp_path / name).mkdir()
    ledger, links = (
        dol.wrap_kvs(
            dol.Files(str(tmp_path / name)), obj_of_data=json.loads, data_of_obj=lambda x: json.dumps(x).encode()
        )
        for name in ("ledger", "links")
    )
    store = CorpusStore({}, {}, ledger, {}, {}, links)
    odd = ("a/b", "../up", "x" * 5000, "nul\0", "ünï")
    for name in odd:
        store.set_links(name, {"ref": [name]})
    again = CorpusStore({}, {}, ledger, {}, {}, links)
    assert dict(again.link_items()) == {name: {"ref": [name]} for name in odd}
    for name in odd:
        assert again.get_links(name) == {"ref": [name]}
        again.delete_links(name)
    assert list(again.link_items()) == []


def test_links_as_they_were_kept_before_are_read(tmp_path: Path) -> None:
    links = {"a": {"ref": ["b"]}, "b": {"artifact_id": ["c"], "edges": ["d"]}}
    store = CorpusStore({}, {}, {}, {}, {}, links)
    assert dict(store.link_items()) == {"a": {"ref": ["b"]}, "b": {"artifact_id": ["c"], "edges": ["d"]}}
    assert store.get_links("a") == {"ref": ["b"]}
    store.set_links("a", {"ref": ["c"]})
    store.delete_links("b")
    assert dict(store.link_items()) == {"a": {"ref": ["c"]}}
    assert len(links) == 1


def test_views_left_out_are_kept_in_memory() -> None:
    store = CorpusStore({}, {}, {}, {})
    store.set_links("a", {"ref": ["b"]})
    store.set_calibration("dense", {"floor": 1})
    assert (store.get_links("a"), store.get_calibration("dense")) == ({"ref": ["b"]}, {"floor": 1})


class FullDisk(UserDict[str, Any]):
    """Takes a few values and then no more."""

    room = 3

    def __setitem__(self, key: str, value: Any) -> None:
        if key not in self.data and len(self.data) >= self.room:
            raise OSError("no space left")
        super().__setitem__(key, value)


def test_a_write_that_fails_half_way_is_undone() -> None:
    store = CorpusStore({}, FullDisk(), {}, {})
    store.put_records([made("a", "apples"), made("b")])
    with pytest.raises(OSError, match="no space"):
        store.put_records([made("a", "changed"), made("c"), made("d"), made("e")])
    assert sorted(store.meta) == sorted(store.vectors) == ["a", "b"]
    assert store.get_record("a").text == "apples"
    assert found(store, "apples") == ["a"]


def test_ties_go_to_the_artifact_that_sorts_first() -> None:
    store = CorpusStore.memory()
    store.put_records([made(name, "twin", artifact=name) for name in ("c", "a", "b")])
    store.put_record(made("a2", "twin", artifact="a", index=1))
    with store.snapshot() as snapshot:
        assert ids(snapshot, snapshot.dense(unit(1, 0, 0), 10, EVERYTHING)) == ["a", "a2", "b", "c"]
        assert ids(snapshot, snapshot.lexical(words("twin"), 10, EVERYTHING)) == ["a", "a2", "b", "c"]


def test_what_search_does_not_read_leaves_the_index_alone() -> None:
    store = CorpusStore.memory()
    store.put_record(made("a"))
    with store.snapshot() as first:
        first.lexical(words("text"), 1, EVERYTHING)
    store.set_links("a", {"ref": ["b"]})
    with store.snapshot() as second:
        assert second.version != first.version
        assert second.lexicon is first.lexicon  # type: ignore[attr-defined]


def test_the_version_says_whether_anything_was_written() -> None:
    store = CorpusStore.memory()
    versions = [store.version]
    for write in (
        lambda: store.put_record(made("a")),
        lambda: store.set_links("a", {"ref": ["b"]}),
        lambda: store.set_ledger_entry("k", {}),
        lambda: store.set_calibration("dense", {}),
        lambda: store.delete_links("a"),
    ):
        write()
        versions.append(store.version)
    assert len(set(versions)) == len(versions)
    store.delete_record("never there")
    store.delete_links("never there")
    assert store.version == versions[-1]


def test_a_version_is_never_used_twice() -> None:
    store = CorpusStore.memory()
    seen = []
    for text in ("one", "two"):
        with pytest.raises(ValueError, match="stop"), store.transaction():  # noqa: PT012
            store.put_record(made("a", text))
            with store.snapshot() as inside:
                seen.append((inside.version, inside.rows(np.array([0]))[0].text))
            raise ValueError("stop")
    assert seen[0][0] != seen[1][0]


def test_the_matrix_cannot_be_spoiled() -> None:
    store = CorpusStore.memory()
    store.put_record(made("a"))
    ids_, matrix, metas = store.matrix()
    ids_.clear()
    metas.clear()
    with pytest.raises(ValueError, match="read-only"):
        matrix[0, 0] = 5
    assert store.matrix()[0] == ["a"]
    assert len(store.matrix()[2]) == 1


def test_tiny_and_huge_vectors_have_a_direction() -> None:
    store = CorpusStore.memory()
    store.put_records([made("tiny", vector=(1e-30, 0, 0)), made("huge", vector=(3e38, 3e38, 0))])
    with store.snapshot() as snapshot:
        scores = scores_by_id(snapshot, snapshot.dense(unit(1, 0, 0), 5, EVERYTHING))
    assert scores == pytest.approx({"tiny": 1.0, "huge": 0.5**0.5}, abs=1e-5)


def test_many_filters_in_turn() -> None:
    store = CorpusStore.memory()
    store.put_records([made(f"r{number}", number=number) for number in range(60)])
    with store.snapshot() as snapshot:
        for number in range(60):
            assert ids(snapshot, snapshot.dense(unit(1, 0, 0), 5, where({"number": number}))) == [f"r{number}"]
        assert len(snapshot.dense(unit(1, 0, 0), 100, Where()).refs) == 60


def test_other_threads_see_a_transaction_whole() -> None:
    store = CorpusStore.memory()
    counts: list[int] = []

    def look() -> None:
        with store.snapshot() as snapshot:
            counts.append(len(snapshot))

    reader = threading.Thread(target=look)
    with store.transaction():
        store.put_record(made("a"))
        reader.start()
        store.put_record(made("b"))
    reader.join(60)
    assert counts == [2]


def test_local_is_the_embedded_store(ir_home: Path) -> None:
    with CorpusStore.local("my notes") as store:
        assert isinstance(store, CorpusStore)
        store.put_record(made("a", "apples"))
    with CorpusStore.local("my notes") as again:
        assert found(again, "apples") == ["a"]
    assert list(ir_home.glob("data/corpora/my_notes*"))


def test_import_is_lazy() -> None:
    import subprocess
    import sys

    code = "import sys, ir.store; sys.exit(bool({'faiss', 'tantivy', 'sqlite3'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
