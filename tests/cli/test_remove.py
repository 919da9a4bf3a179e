"""``ir rm`` where it cannot remove, and while others write."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.crash import world

import ir as library
from ir.config import corpus_dir
from ir.errors import CorpusNotBuilt
from ir.store.local.lock import WriterLock

Ir = Callable[..., Any]


@pytest.fixture
def kit(ir: Ir, notes: Path) -> Path:
    ir("register", "kit", "notes")
    ir("build", "kit")
    return corpus_dir("kit")


def test_a_corpus_that_cannot_be_removed_stays(ir: Ir, notes: Path, kit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, **_: object) -> None:
        if path.exists():
            whole(path / "generations")
            raise PermissionError(13, "Permission denied")

    whole = shutil.rmtree
    with monkeypatch.context() as patch:
        patch.setattr("ir.store.local.removing.shutil.rmtree", refuse)
        refused = ir("rm", "kit", "--yes")
    assert refused.code == 3
    assert "cannot be removed: Permission denied" in refused.err
    assert [path.name for path in kit.parent.iterdir()] == ["kit"]
    assert ir("search", "kit", "green tea").out.startswith("notes/tea.md:3")


def test_a_folder_that_may_not_be_written_is_left_alone(ir: Ir, notes: Path, kit: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("the superuser may write everywhere")
    (kit / "generations").chmod(0o555)
    try:
        assert ir("rm", "kit", "--yes").code == 3
        assert ir("search", "kit", "green tea").code == 0
    finally:
        (kit / "generations").chmod(0o755)


@pytest.mark.slow
def test_a_corpus_is_not_removed_from_under_a_build(
    ir: Ir, notes: Path, kit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import sys; from ir.store.local import crash_points\n"
        "def wait(name):\n"
        "    if name == 'transaction:begun': print('here', flush=True); sys.stdin.readline()\n"
        "crash_points.on_reach(wait)\n"
        "from ir.cli.main import run; sys.exit(run(['build', 'kit']))"
    )
    monkeypatch.setenv("IR_LOCK_TIMEOUT_S", "0.1")
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as builder:
        assert builder.stdout is not None
        assert builder.stdout.readline() == "here\n"
        refused = ir("rm", "kit", "--yes")
        _, said = builder.communicate("\n", timeout=60)
    assert refused.code == 3
    assert f"process {builder.pid}" in refused.err
    assert builder.returncode == 0, said
    assert ir("rm", "kit", "--yes").code == 0
    assert not kit.exists()


def test_a_build_that_waited_while_the_corpus_was_removed_makes_it_anew(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    world.build(folder, 1)
    lock = WriterLock(folder)
    lock.acquire(0)
    failed: list[BaseException] = []

    def build() -> None:
        try:
            world.build(folder, 2)
        except BaseException as error:
            failed.append(error)

    waiting = threading.Thread(target=build)
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    shutil.rmtree(folder)
    lock.release()
    waiting.join(60)
    assert not failed
    assert world.version_seen(folder) == 2


def test_a_corpus_removed_under_an_open_handle_is_said_to_be_removed(ir: Ir, notes: Path, kit: Path) -> None:
    opened, idle = library.open_corpus("kit"), library.open_corpus("kit")
    assert opened.search("green tea", mode="hybrid")
    assert ir("rm", "kit", "--yes").code == 0
    for corpus in (opened, idle):
        for read in (
            lambda corpus=corpus: corpus.search("green tea"),
            lambda corpus=corpus: library.discover(corpus, "green tea"),
            lambda corpus=corpus: len(corpus),
            lambda corpus=corpus: corpus.store.record_ids(),
            lambda corpus=corpus: library.records_for_artifact(corpus, "tea.md"),
            lambda corpus=corpus: corpus.store.get_config(),
        ):
            with pytest.raises(CorpusNotBuilt, match="was removed after it was opened here"):
                read()
    assert not kit.exists(), "looking at it does not bring it back"


def test_a_corpus_removed_and_built_again_is_read_anew_by_an_open_handle(ir: Ir, notes: Path, kit: Path) -> None:
    opened = library.open_corpus("kit")
    assert opened.search("green tea", mode="hybrid")[0].artifact_id == "tea.md"
    assert ir("rm", "kit", "--yes").code == 0
    (notes / "tea.md").write_text("# Coffee\n\nGrind green beans for tea lovers.\n")
    ir("register", "kit", "notes")
    assert ir("build", "kit").code == 0
    (hit, *_) = opened.search("green tea", mode="hybrid")
    assert (hit.artifact_id, "Coffee" in hit.text) == ("tea.md", True)


def test_who_removes_a_corpus_may_write_a_new_one_with_the_same_store(kit: Path) -> None:
    store = library.CorpusStore.local("kit")
    assert len(store)
    store.remove()
    assert len(store) == 0
    library.build(library.CorpusSource.from_mapping({"a": "tea"}, name="kit"), store=store, embedder="light")
    assert len(store) == 1
