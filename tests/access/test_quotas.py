"""A workspace never holds more than its quota, whatever store its corpora are in and however they are written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.access.stores import STORES, address_of, new_workspace

import ir
from ir.access import Quota, Usage, open_access
from ir.app.building import BuildRequest, build
from ir.app.registering import RemoveRequest, remove
from ir.app.workspaces import WorkspaceQuotaRequest, set_quota
from ir.config import corpus_dir
from ir.config.workspace import in_workspace
from ir.errors import AccessUnavailable, QuotaExceeded
from ir.index import open_store, store_for


@pytest.fixture(params=STORES)
def workspace(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A workspace of its own, whose corpora are kept in one of the stores."""
    monkeypatch.setenv("IR_STORE", address_of(request.param))
    return new_workspace()


def folder_of(path: Path, *texts: str) -> Path:
    path.mkdir(exist_ok=True)
    for number, text in enumerate(texts):
        (path / f"{number}.md").write_text(text, "utf-8")
    return path


def registered(name: str, folder: Path) -> None:
    ir.register(name, "files", root=str(folder), embedder="light")


def allow(workspace: str, **quota: Any) -> None:
    with open_access() as access:
        if access.workspace(workspace) is None:
            access.create_workspace(workspace)
        access.set_quota(workspace, Quota(**quota))


def used(workspace: str) -> Usage:
    with open_access() as access:
        return access.usage(workspace)


def test_a_build_that_holds_too_many_records_fails_and_leaves_all_as_it_was(workspace: str, tmp_path: Path) -> None:
    allow(workspace, records=3)
    with in_workspace(workspace):
        registered("notes", folder_of(tmp_path / "notes", "about tea", "about coffee"))
        assert build(BuildRequest("notes")).records == 2
        with open_store("notes") as store:
            before = store.version, store.content_version
        folder_of(tmp_path / "notes", "about milk", "about water", "about juice", "about wine")
        with pytest.raises(QuotaExceeded, match="may hold 3 records, and this would make it 4"):
            build(BuildRequest("notes"))
        with open_store("notes") as store:
            assert (store.version, store.content_version) == before
        assert {hit.text for hit in ir.search("notes", "tea", k=5)} == {"about tea", "about coffee"}
        assert used(workspace).records == 2
        allow(workspace, records=4)
        assert build(BuildRequest("notes")).records == 4
    assert used(workspace).records == 4


def test_the_corpora_of_a_workspace_share_its_quota(workspace: str, tmp_path: Path) -> None:
    allow(workspace, records=3)
    with in_workspace(workspace):
        registered("one", folder_of(tmp_path / "one", "a b", "c d"))
        registered("two", folder_of(tmp_path / "two", "e f", "g h"))
        build(BuildRequest("one"))
        with pytest.raises(QuotaExceeded):
            build(BuildRequest("two"))
        remove(RemoveRequest("one", everywhere=True))
        assert build(BuildRequest("two")).records == 2
    assert used(workspace).records == 2


def test_disk_is_measured_before_anything_can_be_seen(workspace: str, tmp_path: Path) -> None:
    with in_workspace(workspace):
        registered("notes", folder_of(tmp_path / "notes", "about tea"))
        build(BuildRequest("notes"))
        with open_store("notes") as store:
            size = store.taken_up()
        assert size > 0
        allow(workspace, bytes=size + 10_000)
        set_quota(WorkspaceQuotaRequest(workspace, disk=str(size + 10_000)))
        assert used(workspace) == Usage(1, size)
        folder_of(tmp_path / "notes", *(f"{number} " + "lots of words " * 200 for number in range(150)))
        with pytest.raises(QuotaExceeded, match="bytes"):
            build(BuildRequest("notes"))
        assert [hit.text for hit in ir.search("notes", "tea", k=5)] == ["about tea"]
        with store_for("notes") as store:
            assert len(store) == 1
        set_quota(WorkspaceQuotaRequest(workspace, unlimited=True))
        assert build(BuildRequest("notes")).records >= 150


def test_a_refused_build_leaves_no_files_behind(tmp_path: Path) -> None:
    registered("notes", folder_of(tmp_path / "notes", "about tea"))
    build(BuildRequest("notes"))
    generations = corpus_dir("notes") / "generations"
    before = sorted(path.name for path in generations.iterdir())
    with store_for("notes") as store:
        database = store.taken_up()
    allow("default", bytes=database + 40_000)
    folder_of(tmp_path / "notes", *(f"{number} " + "words " * 50 for number in range(30)))
    with pytest.raises(QuotaExceeded):
        build(BuildRequest("notes"))
    assert sorted(path.name for path in generations.iterdir()) == before


def test_what_a_workspace_held_before_it_had_a_quota_counts(workspace: str, tmp_path: Path) -> None:
    with in_workspace(workspace):
        registered("one", folder_of(tmp_path / "one", "a b", "c d"))
        registered("two", folder_of(tmp_path / "two", "e f", "g h"))
        build(BuildRequest("one"))
    with open_access() as access:
        access.create_workspace(workspace)
    line = set_quota(WorkspaceQuotaRequest(workspace, records=3))
    assert (line.corpora, line.records, line.most_records) == (2, 2, 3)
    with in_workspace(workspace), pytest.raises(QuotaExceeded):
        build(BuildRequest("two"))


def test_a_corpus_that_vanished_without_a_word_does_not_count_for_ever(tmp_path: Path) -> None:
    import shutil

    allow("default", records=3)
    registered("one", folder_of(tmp_path / "one", "a b", "c d"))
    registered("two", folder_of(tmp_path / "two", "e f", "g h"))
    build(BuildRequest("one"))
    shutil.rmtree(corpus_dir("one"))
    assert build(BuildRequest("two")).records == 2
    assert used("default").records == 2


def test_a_build_in_python_and_single_writes_are_held_to_the_quota_too() -> None:
    allow("default", records=1)
    source = ir.CorpusSource.from_mapping({"a": "one", "b": "two"}, name="numbers")
    with pytest.raises(QuotaExceeded):
        ir.build(source, embedder="light")
    ir.build(ir.CorpusSource.from_mapping({"a": "one"}, name="numbers"), embedder="light")
    with store_for("numbers") as store:
        record = replace(store.get_record(store.record_ids()[0]), id="another")
        with pytest.raises(QuotaExceeded):
            store.put_record(record)
        assert len(store) == 1


def test_a_copy_and_an_import_are_held_to_the_quota_too(tmp_path: Path) -> None:
    from ir.app.storing import CopyRequest, copy
    from ir.app.transfer import ExportRequest, ImportRequest, export, import_corpus

    ir.build(ir.CorpusSource.from_mapping({"a": "one", "b": "two"}, name="numbers"), embedder="light")
    export(ExportRequest("numbers", str(tmp_path / "numbers.irc")))
    allow("default", records=3)
    set_quota(WorkspaceQuotaRequest("default", records=3))
    with pytest.raises(QuotaExceeded):
        copy(CopyRequest("numbers", "again"))
    with pytest.raises(QuotaExceeded):
        import_corpus(ImportRequest(str(tmp_path / "numbers.irc"), "third"))
    assert used("default").records == 2


def test_a_workspace_without_a_quota_is_never_measured_and_needs_no_file(tmp_path: Path) -> None:
    from ir.access import access_file

    ir.build(ir.CorpusSource.from_mapping({"a": "one"}, name="numbers"), embedder="light")
    assert not access_file().exists()


def test_if_nobody_can_tell_what_is_allowed_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken.db").write_text("this is no database" * 100, "utf-8")
    monkeypatch.setenv("IR_SERVE_ACCESS", str(tmp_path / "broken.db"))
    with pytest.raises(AccessUnavailable):
        ir.build(ir.CorpusSource.from_mapping({"a": "one"}, name="numbers"), embedder="light")
    with store_for("numbers") as store:
        assert len(store) == 0
