"""A corpus as one file: it comes back the same, and a file that is not whole is refused without harm."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ir.base import Record, ledger_key
from ir.errors import CorpusBusy, CorpusCorrupt, FormatMismatch, InvalidInput, IrError, StoreUnwritable
from ir.index import Progress, build
from ir.links import Edge, Node
from ir.portable import export_corpus, import_corpus, peek
from ir.sources import CorpusSource
from ir.store import CorpusStore, LocalStore

Edit = Callable[[dict[str, bytes]], None]


def fill(store: CorpusStore, count: int = 7, dim: int = 3) -> CorpusStore:
    rng = np.random.default_rng(5)
    with store.transaction():
        store.set_config({"name": "small", "embedder": "light", "embedder_id": "x", "dim": dim, "language": "english"})
        for number in range(count):
            artifact_id = f"a{number}"
            record_id = Record.make_id(artifact_id, "chunk", 0)
            vector = rng.standard_normal(dim).astype(np.float32)
            store.put_record(Record(record_id, artifact_id, "chunk", 0, f"text {number} é", vector, {"n": number}))
            entry = {"artifact_id": artifact_id, "version": str(number), "record_ids": [record_id]}
            store.set_ledger_entry(ledger_key(artifact_id), entry)
            store.set_links(artifact_id, {"next": [f"a{number + 1}", ["other", "b"]]})
        if count:
            store.put_nodes([Node("a0", "function", {"line": 3})])
            store.set_edges({"entity": [Edge("entity", "calls", "a0", None, {"confidence": 0.5})]})
            store.set_symbols("k", {"defines": ["f"]})
            store.add_space("second")
            store.put_vectors("second", {Record.make_id("a1", "chunk", 0): np.array([1.0, 2.0])})
        store.set_calibration("dense", {"floor": 0.25})
    return store


def contents(store: CorpusStore) -> dict[str, Any]:
    records = [store.get_record(record_id) for record_id in sorted(store.record_ids())]
    return {
        "records": [{**vars(record), "vector": record.vector.tobytes()} for record in records],
        "ledger": dict(store.ledger_items()),
        "links": dict(store.link_items()),
        "nodes": list(store.iter_nodes()),
        "edges": list(store.iter_edges()),
        "symbols": list(store.iter_entries("symbols")),
        "second": {
            name: vector.tolist() for name, vector in store.get_vectors(store.record_ids(), space="second").items()
        }
        if "second" in store.spaces()
        else None,
        "content": store.content_version,
        "config": store.get_config(),
        "calibration": {mode: store.get_calibration(mode) for mode in store.calibration_modes()},
    }


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    path = tmp_path / "small.ir"
    export_corpus(fill(CorpusStore.memory()), path)
    return path


def rewrite(path: Path, edit: Edit) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    edit(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def edit_manifest(change: Callable[[dict[str, Any]], None]) -> Edit:
    def edit(members: dict[str, bytes]) -> None:
        manifest = json.loads(members["manifest.json"])
        change(manifest)
        members["manifest.json"] = json.dumps(manifest).encode()

    return edit


def sealed(edit: Edit) -> Edit:
    """The edit, with a manifest that agrees with it."""
    import hashlib

    def whole(members: dict[str, bytes]) -> None:
        edit(members)
        manifest = json.loads(members["manifest.json"])
        for name, data in members.items():
            if name in manifest["members"]:
                manifest["members"][name] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        members["manifest.json"] = json.dumps(manifest).encode()

    return whole


def put(name: str, data: bytes) -> Edit:
    return lambda members: members.__setitem__(name, data)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_a_file_is_as_private_as_its_owner_wants_files_to_be(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        export_corpus(fill(CorpusStore.memory()), tmp_path / "own.ir")
    finally:
        os.umask(before)
    assert (tmp_path / "own.ir").stat().st_mode & 0o777 == 0o600
    export_corpus(fill(CorpusStore.memory()), tmp_path / "own.ir")
    assert (tmp_path / "own.ir").stat().st_mode & 0o777 == 0o600


def test_everything_comes_back(tmp_path: Path) -> None:
    store, seen = fill(CorpusStore.memory()), list[Progress]()
    counts = export_corpus(store, tmp_path / "new" / "small.ir", progress=seen.append)
    other = CorpusStore.memory()
    assert import_corpus(tmp_path / "new" / "small.ir", other, progress=seen.append) == counts == ("small", 7, 7, 8)
    assert peek(tmp_path / "new" / "small.ir") == counts
    assert contents(other) == contents(store)
    assert Progress("export", 7, 7) in seen
    assert Progress("import", 7, 7) in seen


def test_vectors_can_be_read_by_numpy(exported: Path) -> None:
    with zipfile.ZipFile(exported) as archive, archive.open("vectors-0.npy") as file:
        assert np.load(file).shape == (7, 3)


texts = st.text(st.characters(blacklist_categories=["Cs"]), max_size=20)
scalars = (
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | texts
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(texts.filter(str.strip), texts, st.dictionaries(texts, scalars, max_size=3)), max_size=5),
    st.dictionaries(
        texts.filter(str.strip), st.dictionaries(texts.filter(str.strip), st.lists(texts.filter(str.strip)))
    ),
)
def test_any_corpus_survives_the_trip(tmp_path: Path, rows: list[Any], links: dict[str, Any]) -> None:
    store = CorpusStore.memory()
    for index, (artifact_id, text, metadata) in enumerate(rows):
        vector = np.arange(4, dtype=np.float32) * np.float32(0.1) + np.float32(index)
        record_id = Record.make_id(artifact_id, "k", index)
        store.put_record(Record(record_id, artifact_id, "k", index, text, vector, metadata))
    for artifact_id, edges in links.items():
        store.set_links(artifact_id, edges)
    other = CorpusStore.memory()
    export_corpus(store, tmp_path / "c.ir")
    import_corpus(tmp_path / "c.ir", other)
    assert contents(other) == contents(store)


def test_a_filled_target_is_refused_and_replaced_on_request(exported: Path) -> None:
    target = fill(CorpusStore.memory(), count=2, dim=5)
    target.set_calibration("lexical", {"floor": 9.0})
    before = contents(target)
    with pytest.raises(InvalidInput, match="'small' already holds 2 records"):
        import_corpus(exported, target)
    assert contents(target) == before
    import_corpus(exported, target, replace=True, name="renamed")
    assert len(target) == 7
    assert target.get_config()["name"] == "renamed"
    assert (target.get_calibration("dense"), target.get_calibration("lexical")) == ({"floor": 0.25}, None)


@pytest.mark.parametrize("keep", [0, 10, 0.3, 0.7, 0.99])
def test_a_file_cut_short_is_refused(exported: Path, keep: float) -> None:
    data = exported.read_bytes()
    exported.write_bytes(data[: int(keep if keep >= 1 else keep * len(data))])
    target = CorpusStore.memory()
    with pytest.raises(CorpusCorrupt, match=r"small.ir is not a whole portable corpus"):
        import_corpus(exported, target)
    assert contents(target) == contents(CorpusStore.memory())


@pytest.mark.slow
@pytest.mark.parametrize("offset", range(3))
def test_a_flipped_byte_anywhere_is_refused_or_harmless(exported: Path, offset: int) -> None:
    data, good = exported.read_bytes(), contents(fill(CorpusStore.memory()))
    for position in range(offset, len(data), 9):
        exported.write_bytes(
            data[:position] + bytes([data[position] ^ (0x41, 0xFF, 0x10)[offset]]) + data[position + 1 :]
        )
        target = CorpusStore.memory()
        try:
            import_corpus(exported, target)
        except IrError:
            assert len(target) == 0
            assert target.get_config() == {}
        else:
            assert contents(target) == good


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (put("../../evil", b"x"), "'../../evil'"),
        (put("/etc/passwd", b"x"), "not those of a corpus"),
        (lambda members: members.pop("edges.jsonl"), "not those of a corpus"),
        (lambda members: members.pop("manifest.json"), "has no manifest.json"),
        (put("manifest.json", b"[]"), "manifest.json cannot be read"),
        (put("config.json", b"{}"), "config.json does not have the size"),
        (edit_manifest(lambda manifest: manifest["members"].pop("edges.jsonl")), "not those of a corpus"),
        (sealed(put("records.jsonl", b"")), "does not have 7 records"),
        (sealed(put("records.jsonl", b'{"id": 1}\n' * 7)), "is not a record"),
        (sealed(put("records.jsonl", b"{\n")), "is not JSON"),
        (sealed(put("vectors-0.npy", b"noise")), "vectors-0.npy cannot be read"),
        (sealed(put("ledger.jsonl", b"[1, 2, 3]\n")), "not a pair"),
        (sealed(put("config.json", b"[]")), "config.json is not a mapping"),
    ],
)
def test_a_file_made_wrong_is_refused(exported: Path, edit: Edit, message: str) -> None:
    rewrite(exported, edit)
    target = CorpusStore.memory()
    with pytest.raises(CorpusCorrupt, match=message):
        import_corpus(exported, target)
    assert contents(target) == contents(CorpusStore.memory())


def test_a_failed_replacement_leaves_the_old_corpus(exported: Path) -> None:
    rewrite(exported, sealed(put("edges.jsonl", b"[]\n")))
    target = fill(CorpusStore.memory(), count=2)
    before = contents(target)
    with pytest.raises(CorpusCorrupt):
        import_corpus(exported, target, replace=True)
    assert contents(target) == before


def test_another_format_says_so(exported: Path) -> None:
    rewrite(exported, edit_manifest(lambda manifest: manifest.update(format=99)))
    with pytest.raises(FormatMismatch, match="has the format 99; this version of ir reads 2"):
        import_corpus(exported, CorpusStore.memory())


def test_a_missing_file_and_an_unwritable_place(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="Cannot read"):
        import_corpus(tmp_path / "none.ir", CorpusStore.memory())
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnwritable, match="Cannot write"):
        export_corpus(fill(CorpusStore.memory()), tmp_path / "file" / "c.ir")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no named pipes among its files")
def test_what_is_no_file_is_not_replaced_by_one(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreUnwritable, match=r"pipe is not a file\. Choose another place"):
        export_corpus(fill(CorpusStore.memory()), tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()
    assert len(list(tmp_path.iterdir())) == 1
    (tmp_path / "link").symlink_to(tmp_path / "linked.ir")
    export_corpus(fill(CorpusStore.memory()), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert peek(tmp_path / "linked.ir").records == 7


class _Restless(CorpusStore):
    """A store that is written to whenever it is read."""

    def get_records(self, record_ids: Sequence[str]) -> list[Record]:
        self.set_links("a0", {"next": [self.version]})
        return super().get_records(record_ids)


def test_a_corpus_that_keeps_changing_is_not_exported_half(tmp_path: Path) -> None:
    (tmp_path / "c.ir").write_bytes(b"older")
    with pytest.raises(CorpusBusy, match="changed 3 times"):
        export_corpus(fill(_Restless({}, {}, {}, {})), tmp_path / "c.ir")
    assert (tmp_path / "c.ir").read_bytes() == b"older"
    assert [path.name for path in tmp_path.iterdir()] == ["c.ir"]


def test_a_built_corpus_travels_between_kinds_of_stores(tmp_path: Path) -> None:
    notes = {f"n{number}": f"note {number} about {'tea' if number % 2 else 'bread'}" for number in range(30)}
    with LocalStore(tmp_path / "one") as first, LocalStore(tmp_path / "two") as second:
        corpus = build(CorpusSource.from_mapping(notes, name="notes", embedder="light"), store=first)
        export_corpus(first, tmp_path / "notes.ir")
        memory = CorpusStore.memory()
        import_corpus(tmp_path / "notes.ir", memory)
        export_corpus(memory, tmp_path / "again.ir")
        import_corpus(tmp_path / "again.ir", second)
        assert contents(second) == contents(memory) == contents(first)
        moved = build(CorpusSource.from_mapping(notes, name="notes", embedder="light"), store=second)
        assert moved.report is not None
        assert moved.report.unchanged == list(notes)
        expected = [(hit.artifact_id, round(hit.score, 4)) for hit in corpus.search("tea", mode="hybrid")]
        assert [(hit.artifact_id, round(hit.score, 4)) for hit in moved.search("tea", mode="hybrid")] == expected
