"""A first build that failed, was interrupted or still goes on: the corpus counts as not built, whoever asks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ir.config import corpus_dir
from ir.registry import name_for_path

Ir = Callable[..., Any]


@pytest.fixture
def unfinished(ir: Ir, notes: Path) -> str:
    """The name of the corpus of `notes`, whose first build failed."""
    assert ir("search", "notes", "tea", "--embedder", "nope").code == 3
    name = name_for_path(notes.resolve())
    assert corpus_dir(name).exists()
    return name


def test_the_next_search_builds_what_the_first_could_not(ir: Ir, notes: Path, unfinished: str) -> None:
    done = ir("search", "notes", "green tea")
    assert done.code == 0, done.err
    assert done.out.startswith("notes/tea.md:3: ")
    assert "indexing" in done.err


def test_so_does_a_build_and_a_discovery(ir: Ir, notes: Path, unfinished: str) -> None:
    assert "3 added" in ir("build", "notes", "--dry-run").out
    assert ir("discover", "notes", "green tea").code == 0
    assert "3 unchanged" in ir("build", "notes").out


def test_a_build_that_was_killed_is_made_up_for_by_the_next_search(ir: Ir, notes: Path) -> None:
    code = (
        "import os, signal; from ir.store.local import crash_points\n"
        "crash_points.on_reach(lambda name: name == 'records:written' and os.kill(os.getpid(), signal.SIGKILL))\n"
        "from ir.cli.main import run; run(['build', 'notes'])"
    )
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)
    assert killed.returncode == -9
    assert ir("search", "notes", "green tea").code == 0


def test_nobody_takes_it_for_a_corpus(ir: Ir, notes: Path, tmp_path: Path, unfinished: str) -> None:
    assert unfinished not in ir("ls").out
    about = ir("info", "notes")
    assert about.code == 3
    assert "has not been built" in about.err
    file = tmp_path / "out.ir"
    exported = ir("export", "notes", str(file))
    assert (exported.code, file.exists()) == (3, False)
    assert "has not been built" in exported.err
    assert "pull None" not in ir("doctor").out
    for command in (["coverage", "notes"], ["graph", "notes", "export"], ["store", "copy", "notes", "other"]):
        refused = ir(*command)
        assert refused.code == 3, command
        assert "built" in refused.err, command


def test_a_registered_corpus_is_shown_as_not_built_and_named_with_what_builds_it(ir: Ir, notes: Path) -> None:
    ir("register", "kit", "notes")
    assert ir("build", "kit", "--embedder", "nope").code == 3
    (line,) = ir("ls").out.splitlines()[1:]
    assert "not built" in line
    assert ir("info", "kit", "--json").json["built"] is False
    refused = ir("search", "kit", "tea")
    assert refused.code == 3
    assert "ir build kit" in refused.err
    assert ir("build", "kit").code == 0
    assert ir("search", "kit", "green tea").code == 0


def test_it_gets_the_language_that_is_set(ir: Ir, notes: Path, unfinished: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("IR_LANGUAGE", "german")
    ir("build", "notes")
    assert ir("info", "notes", "--json").json["language"] == "german"


def test_what_is_left_of_it_can_be_removed(ir: Ir, notes: Path, unfinished: str) -> None:
    assert ir("rm", unfinished, "--yes").code == 0
    assert not corpus_dir(unfinished).exists()


def test_an_unfinished_corpus_gives_way_to_an_import(ir: Ir, notes: Path, tmp_path: Path) -> None:
    ir("build", "notes")
    file = tmp_path / "notes.ir"
    ir("export", "notes", str(file))
    ir("register", "kit", "notes")
    ir("build", "kit", "--embedder", "nope")
    assert ir("import", str(file), "--name", "kit").code == 0
    assert ir("search", "kit", "green tea").code == 0


@pytest.fixture
def first_build(notes: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process in the middle of the first build of `notes`; a line to its stdin lets it go on."""
    code = (
        "import sys; from ir.store.local import crash_points\n"
        "def wait(name):\n"
        "    if name == 'records:written': print('here', flush=True); sys.stdin.readline()\n"
        "crash_points.on_reach(wait)\n"
        "from ir.cli.main import run; sys.exit(run(sys.argv[1:]))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, "build", "notes", "--embedder", "light"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "here\n"
        yield process
        process.kill()


def test_a_search_during_the_first_build_says_what_is_going_on(
    ir: Ir, first_build: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_LOCK_TIMEOUT_S", "0.2")
    done = ir("search", "notes", "tea")
    assert done.code == 3
    assert f"process {first_build.pid}" in done.err
    assert "not been built" not in done.err
    assert "Searching is possible" not in done.err


def test_a_search_by_name_during_the_first_build_does_not_ask_for_another(
    ir: Ir, notes: Path, first_build: Any
) -> None:
    name = name_for_path(notes.resolve())
    ir("register", name, "notes")
    done = ir("search", name, "tea")
    assert done.code == 3
    assert f"being built just now by another process (process {first_build.pid})" in done.err
    assert "ir build" not in done.err


def test_a_search_that_may_wait_answers_when_the_first_build_is_done(ir: Ir, first_build: Any) -> None:
    first_build.stdin.write("\n")
    first_build.stdin.flush()
    done = ir("search", "notes", "green tea")
    assert done.code == 0, done.err
    assert done.out.startswith("notes/tea.md:3: ")
