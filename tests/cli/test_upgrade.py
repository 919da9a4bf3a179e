"""Answered at once by words and a fast model; the better one reads everything in the background, then takes over."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.models import tiny

from ir.embed import FAST
from ir.index import open_store
from ir.index.upgrade import upgrade_of
from ir.index.upgrade_job import do, folder_of, is_running, standing

Ir = Callable[..., Any]
PATIENCE_S = 60


@pytest.fixture(autouse=True)
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ir: Ir) -> str:
    """The better model of this machine: a real network, small enough for a test."""
    folder = str(tiny.write_bert(tmp_path / "better"))
    monkeypatch.delenv("IR_EMBEDDER")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr("ir.embed.better_embedder", lambda: folder)
    return folder


@pytest.fixture
def many(notes: Path) -> Path:
    """More notes than the better model reads on the way."""
    for number in range(60):
        (notes / f"n{number}.txt").write_text(f"green tea and hot water {number}\n")
        os.utime(notes / f"n{number}.txt", (1e9, 1e9))  # what was written just now proves nothing by its time
    return notes


def name_of(ir: Ir) -> str:
    (corpus,) = ir("ls", "--json").json["corpora"]
    return str(corpus["name"])


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.02)


def wait_for_job(name: str) -> None:
    def done() -> bool:
        with open_store(name) as store:
            told = upgrade_of(store)
            return told is not None and told.done and not is_running(folder_of(store, name))

    wait_until(done)


def at_terminal(*words: str, **environment: str) -> str:
    """What a command in a process of its own shows on a terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "ir", *words]
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env={**os.environ, **environment})
    os.close(theirs)
    shown = bytearray()
    try:
        while block := os.read(ours, 4096):
            shown += block
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert process.wait(PATIENCE_S) in (0, 1), shown.decode()
    return shown.decode()


def test_a_folder_is_answered_by_the_fast_model_and_says_so(ir: Ir, notes: Path) -> None:
    found = ir("search", "notes", "steep tea")
    assert found.code == 0
    assert f"answered by words and {FAST}" in found.err
    again = ir("search", "notes", "steep tea", "--json")
    assert again.json["meta"]["answered_by"] == {
        "words": True,
        "space": "main",
        "embedder": FAST,
        "upgrading": {"to": again.json["meta"]["answered_by"]["upgrading"]["to"], "done": 0.0},
    }
    assert again.err == ""  # where nothing is under way it is said once
    (corpus,) = ir("ls", "--json").json["corpora"]
    assert (corpus["upgrade"]["done"], corpus["upgrade"]["total"], corpus["upgrade"]["running"]) == (0, 3, False)


def test_nothing_is_started_in_a_pipe(ir: Ir, notes: Path) -> None:
    ir("search", "notes", "steep tea")
    with open_store(name_of(ir)) as store:
        assert not (store.path / "upgrade.lock").exists()  # type: ignore[attr-defined]


@pytest.mark.slow
def test_at_a_terminal_the_better_model_reads_in_the_background(ir: Ir, notes: Path) -> None:
    ir("search", "notes", "steep tea")
    shown = at_terminal("search", "notes", "steep tea")
    assert "making better vectors in the background" in shown
    assert f"ir info {name_of(ir)}" in shown
    wait_for_job(name_of(ir))
    after = ir("search", "notes", "steep tea", "--json")
    assert after.json["meta"]["answered_by"] == {"words": True, "space": "better", "embedder": "better"}
    assert after.err == ""
    info = ir("info", "notes", "--json").json
    assert (info["embedder"], info.get("upgrade")) == ("better", None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "environment"),
    [([], {"CI": "true"}), (["--no-upgrade"], {}), ([], {"IR_UPGRADE": "never"})],
    ids=["service", "option", "setting"],
)
def test_nothing_is_started_where_it_is_not_wanted(
    ir: Ir, notes: Path, words: list[str], environment: dict[str, str]
) -> None:
    ir("search", "notes", "steep tea")
    shown = at_terminal("search", "notes", "steep tea", *words, **environment)
    assert "in the background" not in shown
    with open_store(name_of(ir)) as store:
        assert not (store.path / "upgrade.lock").exists()  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.parametrize(("words", "setting"), [(["--upgrade"], "auto"), ([], "always")])
def test_it_is_started_where_it_is_asked_for(
    ir: Ir, notes: Path, words: list[str], setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IR_UPGRADE", setting)
    assert "making better vectors in the background" in ir("search", "notes", "tea", *words).err
    wait_for_job(name_of(ir))


def test_a_search_can_wait_for_the_better_model(ir: Ir, notes: Path) -> None:
    found = ir("search", "notes", "steep tea", "--wait", "--json")
    assert found.json["meta"]["answered_by"]["embedder"] == "better"
    refused = ir("search", "notes", "steep tea", "--wait", "--no-upgrade")
    assert (refused.code, "nothing to wait for" in refused.err) == (2, True)


def test_a_build_makes_both(ir: Ir, notes: Path) -> None:
    built = ir("build", "notes", "--json").json
    assert (built["embedder"], built["records"]) == ("better", 3)
    assert ir("search", "notes", "tea", "--json").json["meta"]["answered_by"]["space"] == "better"
    assert {"main", "better"} == set(ir("info", "notes", "--json").json["spaces"])
    assert ir("build", "notes", "--json").json["embedder"] == "better"


def test_a_build_without_an_upgrade_makes_the_fast_one(ir: Ir, notes: Path) -> None:
    assert ir("build", "notes", "--no-upgrade", "--json").json["embedder"] == FAST
    assert "waiting" in ir("ls").out
    assert "waiting" in ir("info", "notes").out
    done = ir("upgrade", "notes")
    assert "3 texts embedded; better answers now" in done.out
    assert "better answers already" in ir("upgrade", "notes").out


def test_a_build_by_a_named_model_makes_that_one_alone(ir: Ir, notes: Path, model: str) -> None:
    ir("build", "notes", "--embedder", "light")
    assert ir("info", "notes", "--json").json["spaces"] == ["main"]
    assert "upgrade" not in ir("search", "notes", "tea", "--json").json["meta"]["answered_by"]
    refused = ir("upgrade", "notes")
    assert (refused.code, f"--embedder {model}" in refused.err) == (2, True)
    shutil.rmtree(notes.parent / "notes")
    notes.mkdir()
    (notes / "a.txt").write_text("tea")
    ir("build", "notes", "--embedder", model)
    assert ir("info", "notes", "--json").json["spaces"] == ["better"]


def test_a_corpus_that_gets_better_can_be_given_a_model(ir: Ir, notes: Path) -> None:
    ir("build", "notes")
    assert ir("build", "notes", "--embedder", "light", "--json").json["embedder"] == "light-512-v1"
    assert len(ir("info", "notes", "--json").json["spaces"]) == 1
    assert ir("build", "notes", "--json").json["embedder"] == "light-512-v1"


def test_a_dry_run_says_what_would_change(ir: Ir, notes: Path) -> None:
    assert ir("build", "notes", "--dry-run", "--json").json["added"] == 3
    ir("build", "notes", "--no-upgrade")
    assert ir("build", "notes", "--dry-run", "--json").json["unchanged"] == 3
    ir("upgrade", "notes")
    assert ir("build", "notes", "--dry-run", "--json").json["unchanged"] == 3


def test_an_interrupted_build_can_be_searched(ir: Ir, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*given: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("ir.index.upgrade._taken_over", interrupt)
        broken = ir("build", "notes")
    assert broken.code == 130
    assert f"answers by words and {FAST}" in broken.err
    assert ir("search", "notes", "tea").code == 0
    assert "interrupted at 100 %" in ir("ls").out
    assert ir("build", "notes", "--json").json["embedder"] == "better"


def test_changed_files_are_found_at_once(ir: Ir, many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ir("build", "notes")
    (many / "new.txt").write_text("a recipe for marzipan\n")
    few = ir("search", "notes", "marzipan", "-k", "100", "--json")
    assert "new.txt" in {hit["artifact_id"] for hit in few.json["found"]}
    assert few.json["meta"]["answered_by"]["space"] == "better"
    monkeypatch.setattr("ir.index.upgrade.FEW", 2)
    monkeypatch.setattr("ir.app.upgrading._start", lambda store, name: True)
    for number in range(5):
        (many / f"more{number}.txt").write_text(f"a recipe for nougat {number}\n")
    found = ir("search", "notes", "nougat", "--upgrade", "--json")
    assert found.json["found"][0]["artifact_id"].startswith("more")
    told = found.json["meta"]["answered_by"]
    assert (told["space"], told["upgrading"]["done"] > 0.9) == ("main", True)
    assert f"answered by words and {FAST}" in found.err
    # In a pipe nobody would see to the rest, so that what changes is read by the better model before the answer.
    ir("upgrade", "notes")
    for number in range(5):
        (many / f"last{number}.txt").write_text(f"a recipe for fudge {number}\n")
    assert ir("search", "notes", "fudge", "--json").json["meta"]["answered_by"]["space"] == "better"


def test_a_model_that_is_gone_is_told_and_not_tried_at_every_search(
    ir: Ir, notes: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ir("search", "notes", "tea")
    Path(model).rename(f"{model}-away")
    assert ir("upgrade", "notes").code == 3
    assert "failed" in ir("ls").out
    started: list[str] = []
    monkeypatch.setattr("ir.app.upgrading._start", lambda store, name: started.append(name))
    told = ir("search", "notes", "tea", "--upgrade")
    assert (told.code, started) == (0, [])
    assert "vectors failed" in told.err
    Path(f"{model}-away").rename(model)
    assert ir("upgrade", "notes").code == 0


def test_a_damaged_model_does_not_keep_a_search_from_its_answer(ir: Ir, notes: Path, model: str) -> None:
    (Path(model) / "config.json").write_text("{")
    found = ir("search", "notes", "tea")
    assert (found.code, f"embedding with {FAST!r} alone" in found.err) == (0, True)


def test_a_floor_that_somebody_calibrated_is_not_lost_unasked(
    ir: Ir, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ir("build", "notes", "--no-upgrade")
    name = name_of(ir)
    with open_store(name) as store:
        store.set_calibration("hybrid", {"min_score": 0.1, "embedder_id": "light-512-v1"})
    started: list[str] = []
    monkeypatch.setattr("ir.app.upgrading._start", lambda store, name: started.append(name))
    ir("search", "notes", "tea", "--upgrade")
    assert started == []


def test_there_is_one_job_whoever_starts_it(ir: Ir, notes: Path) -> None:
    ir("search", "notes", "tea")
    name = name_of(ir)
    with open_store(name) as first, open_store(name) as second:
        others: list[int | None] = []

        def look(step: Any) -> None:
            others.append(do(second, name))
            told = standing(second, name)
            assert told is not None
            assert told.running

        assert do(first, name, progress=look) == 3
    assert set(others) == {None}


def test_a_corpus_that_is_removed_during_the_work_stays_away(ir: Ir, notes: Path) -> None:
    ir("search", "notes", "tea")
    name = name_of(ir)
    with open_store(name) as store:
        folder = folder_of(store, name)

        def remove(step: Any) -> None:
            if folder.exists():
                assert ir("rm", name, "--yes").code == 0

        assert do(store, name, progress=remove) == 0
    assert not folder.exists()
    assert ir("ls", "--json").json["corpora"] == []


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_folder_is_answered_as_it_is(ir: Ir, notes: Path) -> None:
    ir("search", "notes", "tea")
    with open_store(name_of(ir)) as store:
        folder = folder_of(store, "")
    for path in (*folder.rglob("*"), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert ir("search", "notes", "tea", "--upgrade").code == 0
    finally:
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.fixture
def slow_job(many: Path, ir: Ir, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """A job in another process that stands still in the middle of its work."""
    ir("search", "notes", "tea")
    name = name_of(ir)
    script = (
        "import sys, time, ir.index.upgrade as upgrade\n"
        "upgrade._FIRST = upgrade._MOST = upgrade._LEAST = 20\n"
        "kept = upgrade._written\n"
        "def slow(*given):\n    made = kept(*given)\n    time.sleep(120)\n    return made\n"
        "upgrade._written = slow\n"
        "from ir.cli.main import run\n"
        f"sys.exit(run(['upgrade', {name!r}]))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open_store(name) as store:
        wait_until(lambda: (told := standing(store, name)) is not None and told.done == 20)
    yield process
    process.kill()
    process.wait()


@pytest.mark.slow
def test_progress_is_shown_and_an_interrupted_job_is_resumed(ir: Ir, slow_job: subprocess.Popen[bytes]) -> None:
    name = name_of(ir)
    assert "upgrading to better: 31 %" in ir("ls").out
    (corpus,) = ir("ls", "--json").json["corpora"]
    assert (corpus["upgrade"]["done"], corpus["upgrade"]["total"], corpus["upgrade"]["running"]) == (20, 63, True)
    told = ir("search", "notes", "tea", "--json")
    assert "31 % done" in told.err  # also in a pipe, as it is under way
    assert told.json["meta"]["answered_by"]["upgrading"]["done"] == round(20 / 63, 3)
    assert "another process is at it" in ir("upgrade", name, "--background").out
    slow_job.send_signal(signal.SIGKILL)
    slow_job.wait()
    assert "interrupted at 31 %, resumes with the next search" in ir("info", "notes").out
    assert "43 texts embedded" in ir("upgrade", "notes").out


@pytest.mark.slow
def test_removing_wins_over_a_job_in_another_process(ir: Ir, slow_job: subprocess.Popen[bytes]) -> None:
    name = name_of(ir)
    with open_store(name) as store:
        folder = folder_of(store, name)
    assert ir("rm", name, "--yes").code == 0
    assert not folder.exists()


@pytest.mark.slow
def test_a_build_during_a_job_does_not_wait_for_its_end(ir: Ir, many: Path, slow_job: subprocess.Popen[bytes]) -> None:
    (many / "new.txt").write_text("a recipe for marzipan\n")
    built = ir("build", "notes", "--no-upgrade", "--json").json
    assert built["added"] == 1
    assert ir("search", "notes", "marzipan", "--json").json["found"][0]["artifact_id"] == "new.txt"


def test_watching_takes_in_changes_by_the_fast_model_and_starts_the_job(
    ir: Ir, many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    monkeypatch.setattr("ir.app.upgrading._start", lambda store, name: bool(started.append(name)) or True)
    monkeypatch.setattr("ir.index.upgrade.FEW", 2)
    from ir.app.context import Context
    from ir.app.watching import WatchRequest, watch

    said: list[str] = []

    def note(sentence: str) -> None:
        said.append(sentence)
        if "watching" in sentence:
            for number in range(4):
                (many / f"more{number}.txt").write_text(f"nougat {number}\n")

    done = watch(WatchRequest("notes", rounds=1, poll=True), Context(note=note))
    assert done.changes == 4
    assert len(started) == 2
    assert any("making better vectors in the background" in sentence for sentence in said)
