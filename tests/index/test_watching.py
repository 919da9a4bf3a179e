"""Watching a folder: changes arrive, errors are survived, and it ends when told to."""

from __future__ import annotations

import queue
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.extras import needs

from ir.embed import make_embedder
from ir.errors import InvalidInput
from ir.index import BuildReport, Corpus, build, watch
from ir.sources import CorpusSource
from ir.store import CorpusStore

light, _ = make_embedder("light")
Events = "queue.Queue[tuple[BuildReport | None, Exception | None]]"


class Watching:
    """A watch in a thread of its own."""

    def __init__(self, source: CorpusSource, store: CorpusStore, **kwargs: Any) -> None:
        self.events: queue.Queue[tuple[BuildReport | None, Exception | None]] = queue.Queue()
        self.stop = threading.Event()
        kwargs |= {"on_change": lambda report, error: self.events.put((report, error)), "stop": self.stop}
        self.thread = threading.Thread(target=watch, args=(source, store), kwargs=kwargs)
        self.thread.start()

    def next(self) -> tuple[BuildReport | None, Exception | None]:
        return self.events.get(timeout=20)

    def end(self) -> None:
        self.stop.set()
        self.thread.join(timeout=20)
        assert not self.thread.is_alive()


@pytest.fixture(params=["system", "poll"])
def watching(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Watching, Path, CorpusStore]]:
    if request.param == "system":
        needs("watchfiles")
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("first")
    source = CorpusSource.from_files(folder, name="docs", embedder="light")
    store = CorpusStore.memory()
    made = Watching(source, store, poll=request.param == "poll", interval_s=0.05, debounce_ms=50)
    yield made, folder, store
    made.end()


def test_changes_arrive(watching: tuple[Watching, Path, CorpusStore]) -> None:
    made, folder, store = watching
    first, error = made.next()
    assert error is None
    assert first is not None
    assert len(first.added) == 1
    (folder / "b.md").write_text("second")
    report, error = made.next()
    assert error is None
    assert report is not None
    assert len(report.added) == 1
    assert len(store) == 2


def test_a_folder_that_goes_and_comes_back(watching: tuple[Watching, Path, CorpusStore]) -> None:
    made, folder, store = watching
    made.next()
    for turn in range(2):
        shutil.rmtree(folder)
        # It may first be seen without its files, and then not at all.
        errors = []
        while not errors:
            errors = [str(error) for report, error in [made.next()] if error is not None]
        assert "There is no file or folder" in errors[0]
        folder.mkdir()
        (folder / "again.md").write_text(f"turn {turn}")
        while not (hits := Corpus("docs", store, light, "light-512-v1").search(f"turn {turn}", mode="lexical")) or (
            hits[0].text != f"turn {turn}"
        ):
            made.next()
        (folder / "more.md").write_text(f"more of turn {turn}")
        seen: list[str] = []
        while "more.md" not in seen:
            report, _ = made.next()
            seen += report.added + report.changed if report else []


def test_what_a_build_kept_stays(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("first")
    (folder / "b.md").write_text("second")
    source = CorpusSource.from_files(folder, name="docs", embedder="light")
    store = CorpusStore.memory()
    build(source, store=store)
    (folder / "a.md").unlink()
    build(source, store=store, full=False)
    made = Watching(source, store, poll=True, interval_s=0.05)
    try:
        (tmp_path / "c.md").write_text("third")
        (tmp_path / "c.md").rename(folder / "c.md")  # whole at once: a look in between would find it empty
        report, _ = made.next()
        assert report is not None
        assert (report.added, report.removed) == (["c.md"], [])
    finally:
        made.end()
    assert len(store) == 3


class _Sometimes(CorpusStore):
    """A store that cannot be written to while it is told so."""

    broken = True

    def set_config(self, settings: Any) -> None:
        if self.broken:
            raise OSError(28, "No space left on device")
        super().set_config(settings)


def test_a_failed_build_is_told_and_tried_again() -> None:
    store = _Sometimes({}, {}, {}, {})
    source = CorpusSource.from_mapping({"a": "x"}, name="m", embedder="light")
    made = Watching(source, store, poll=True, interval_s=0.02)
    try:
        report, error = made.next()
        assert report is None
        assert "No space left" in str(error)
        store.broken = False
        report, error = made.next()
        assert error is None
        assert report is not None
        assert report.added == ["a"]
    finally:
        made.end()


def test_what_is_no_folder_can_only_be_polled() -> None:
    source = CorpusSource.from_mapping({"a": "x"}, name="m", embedder="light")
    with pytest.raises(InvalidInput, match="--poll"):
        watch(source, CorpusStore.memory())
