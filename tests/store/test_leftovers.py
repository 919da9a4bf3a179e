"""What a corpus does not need any more goes, and nothing is left of what was deleted."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import ir
from ir.analysis import analyzer_for
from ir.base import ledger_key
from ir.errors import CorpusBusy
from ir.protocols import Where
from ir.store import LocalStore
from ir.store.leftovers import Cleanable, Leftover
from ir.store.local.forward import hash_of
from ir.store.local.pin import Pin
from ir.store.local.scratch import abandoned

SECRET = "xylophonists"
TEXT = f"the {SECRET} met behind the harbour at night"


def source(items: dict[str, str]) -> ir.CorpusSource:
    return ir.CorpusSource.from_mapping(items, name="numbers", metadata_of=lambda key, raw: {"about": raw[:24]})


def texts(count: int) -> dict[str, str]:
    return {f"item-{number}": f"common text number {number} of the meadow" for number in range(count)}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LocalStore]:
    store = LocalStore(tmp_path / "corpus", lock_timeout=0.2)
    yield store
    store.close()


def build(store: LocalStore, items: dict[str, str]) -> ir.Corpus:
    return ir.build(source(items), store=store, embedder="light")


def opened(store: LocalStore) -> ir.Corpus:
    return ir.Corpus("numbers", store, "light", "light-512-v1")


def files_with(folder: Path, *words: bytes) -> list[str]:
    """The files below a folder, or names of files, that hold one of the words."""
    found = []
    for path in sorted(folder.rglob("*")):
        held = path.name.encode() + (path.read_bytes() if path.is_file() else b"")
        found += [f"{path.relative_to(folder)}: {word!r}" for word in words if word.lower() in held.lower()]
    return found


def traces(word: str) -> list[bytes]:
    """The word, its stem, and the number under which files know the stem."""
    (stem,) = analyzer_for("english").terms(word)
    return [word.encode(), stem.encode(), hash_of(stem).to_bytes(8, "little")]


def old_generations(store: LocalStore) -> list[Leftover]:
    return [one for one in store.leftovers() if one.what == "old generation"]


@pytest.mark.parametrize("count", [20, 3000])
def test_compaction_leaves_nothing_of_a_deleted_text(store: LocalStore, count: int) -> None:
    build(store, {f"about-{SECRET}": TEXT, **texts(count)})
    assert len(files_with(store.path, *traces(SECRET))) >= 3, "the words must be where they are looked for"
    build(store, texts(count))
    store.clean(compact=True)
    assert files_with(store.path, *traces(SECRET)) == []
    corpus = opened(store)
    assert corpus.search("meadow number 7", k=1)[0].artifact_id == "item-7"
    assert corpus.search(SECRET, mode="lexical") == []


def test_a_replaced_text_is_gone_after_compaction(store: LocalStore) -> None:
    items = texts(2500)
    build(store, {**items, "item-3": f"{TEXT} {'and ' * 9000}"})  # longer than a page of the database
    build(store, items)
    store.clean(compact=True)
    assert files_with(store.path, *traces(SECRET)) == []


def test_a_deletion_by_itself_is_compacted_too(store: LocalStore) -> None:
    build(store, {"secret": TEXT, **texts(30)})
    store.delete_records([record_id for record_id in store.record_ids() if SECRET in store.get_record(record_id).text])
    store.delete_ledger_entry(ledger_key("secret"))
    assert any(one.what == "deleted records" for one in store.leftovers())
    store.clean(compact=True)
    assert files_with(store.path, *traces(SECRET)) == []
    assert store.leftovers() == []


def test_compaction_keeps_content_and_vectors(store: LocalStore) -> None:
    build(store, {"secret": TEXT, **texts(2500)})
    build(store, texts(2500))
    held = {record_id: store.get_record(record_id) for record_id in store.record_ids()[::97]}
    content, version = store.content_version, store.version
    store.clean(compact=True)
    assert store.content_version == content
    assert int(store.version) == int(version) + 1, "whoever has the old files open must turn to the new ones"
    for record_id, record in held.items():
        again = store.get_record(record_id)
        np.testing.assert_array_equal(again.vector, record.vector)
        assert (again.text, again.metadata) == (record.text, record.metadata)
    kept = store.version
    store.clean(compact=True)
    assert store.version == kept, "there was nothing left to compact"
    assert build(store, texts(2501)).report.added == ["item-2500"]


def test_old_generations_go_and_are_counted_before(store: LocalStore) -> None:
    for count in (10, 20, 30):
        build(store, texts(count))
    half_made = store.path / "generations" / ".00000009-0badf00d"
    half_made.mkdir()
    (half_made / "rows").write_bytes(b"x" * 1000)
    aside = store.path / ".corpus.db-1-1"
    aside.write_bytes(b"y" * 10)
    store.close()
    told = store.leftovers()
    assert [(one.what, one.bytes) for one in told if one.what.startswith("half")] == [
        ("half-made generation", 1000),
        ("half-made database", 10),
    ]
    assert len(old_generations(store)) == 1
    before = sum(path.stat().st_size for path in store.path.rglob("*") if path.is_file())
    removed = [one for one in store.clean() if not one.kept]
    after = sum(path.stat().st_size for path in store.path.rglob("*") if path.is_file())
    assert {one.name for one in removed} == {one.name for one in told if not one.compacting}
    assert before - after >= sum(one.bytes for one in removed) > 1010
    assert [path.name for path in (store.path / "generations").iterdir()] != []
    assert len(opened(store).search("meadow", k=100)) == 30


def test_what_a_reader_has_open_stays_until_it_lets_go(store: LocalStore) -> None:
    build(store, texts(10))
    reader = LocalStore(store.path)
    with reader.snapshot() as pinned:
        for count in range(11, 16):
            build(store, texts(count))
        kept = [one for one in store.clean(compact=True) if one.what == "old generation" and one.kept]
        assert [one.kept for one in kept] == ["a process is searching it"]
        assert len(pinned) == 10
        ranked = pinned.lexical({"meadow": 1.0}, 100, Where())
        assert len(ranked.refs) == 10
    del pinned, ranked
    reader.close()
    assert [one.kept for one in store.clean()] == [""]
    assert old_generations(store) == []


def test_nobody_cleans_under_a_build(store: LocalStore) -> None:
    build(store, texts(5))
    other = LocalStore(store.path, lock_timeout=0.1)
    for compact in (False, True):
        with store.transaction(), pytest.raises(CorpusBusy, match=str(os.getpid())):
            other.clean(compact=compact)
    assert isinstance(other, Cleanable)


def test_the_log_of_a_large_build_does_not_stay(store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ir.store.local.store._LONG_LOG", 100_000)
    build(store, texts(500))
    assert (store.path / "corpus.db-wal").stat().st_size == 0


def test_there_is_nothing_to_clean_where_nothing_was_built(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "nothing")
    assert store.leftovers() == store.clean(compact=True) == []
    assert not store.path.exists()


def test_temporary_folders_of_processes_that_died_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    long_ago = time.time() - 200_000
    for name in ("ir-old", "ir-young", "ir-read", "ir-elses", "other"):
        inside = tmp_path / name / ("00000003-0badf00d" if name != "ir-elses" else "something")
        inside.mkdir(parents=True)
        if name != "ir-young":
            os.utime(tmp_path / name, (long_ago, long_ago))
    pin = Pin(tmp_path / "ir-read" / "00000003-0badf00d")
    assert [folder.name for folder in abandoned()] == ["ir-old"]
    del pin
    assert sorted(folder.name for folder in abandoned()) == ["ir-old", "ir-read"]
