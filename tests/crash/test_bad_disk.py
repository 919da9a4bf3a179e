"""Full disks, folders that cannot be written, databases that are not databases."""

from __future__ import annotations

import errno
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from tests.crash import world

import ir
from ir.errors import CorpusCorrupt, FormatMismatch, StoreUnwritable
from ir.store import LocalStore
from ir.store.local import FORMAT
from ir.store.local.faults import full_disk
from ir.store.local.quantiser import write_codes
from ir.store.local.rows_file import write_rows

ROOT = Path(__file__).parents[2]


def unshared(script: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script where it may mount file systems of its own."""
    command = ["unshare", "--mount", "--map-root-user", "sh", "-c", script]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=300)


@pytest.fixture
def mounts() -> None:
    if not shutil.which("unshare") or unshared("mount -t tmpfs none /mnt").returncode:
        pytest.skip("this machine lets nobody mount a small file system, so a full disk was not tried")


def test_a_full_disk_changes_nothing_and_says_so(tmp_path: Path, mounts: None) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    script = f"mount -t tmpfs -o size=4m none {disk} && exec {sys.executable} -m tests.crash.full_disk {disk}"
    outcome = unshared(script)
    assert outcome.returncode == 0, outcome.stderr
    lines = outcome.stdout.splitlines()
    assert len(lines) == 5
    assert all("is full or failing; nothing was changed. Free some space" in line for line in lines[:3])
    assert lines[3:] == ["version while full: 1", "version after: 2"]


def test_whoever_fills_the_disk_nothing_is_lost(tmp_path: Path, mounts: None) -> None:
    """At one size or another each of the writers is the one that finds no more room."""
    disk = tmp_path / "disk"
    disk.mkdir()
    culprits = set()
    for kilobytes in (420, 2000, 3560, 3700, 3900, 4100, 4300, 5000):
        run = f"exec {sys.executable} -m tests.crash.filling_disk {disk}"
        script = f"mount -t tmpfs -o size={kilobytes}k none {disk} && {run}"
        outcome = unshared(script)
        assert outcome.returncode == 0, f"{kilobytes} KB: {outcome.stderr}"
        said, cause, left = outcome.stdout.splitlines()
        assert "is full or failing; nothing was changed. Free some space" in said, kilobytes
        assert left == "3 3", kilobytes
        culprits.add(cause.partition(":")[0])
    assert culprits >= {"ValueError", "OSError", "OperationalError"}


def test_codes_that_find_no_room_are_said_to_be_on_a_full_disk(tmp_path: Path) -> None:
    """They are written beside the words, and hardly ever the ones that come last."""
    rows = np.random.default_rng(5).normal(size=(5000, 8)) @ np.random.default_rng(6).normal(size=(8, 64))
    file = write_rows(tmp_path / "rows", iter([rows.astype(np.float32)]), 64, len(rows))
    with pytest.raises(RuntimeError) as raised:
        write_codes(Path("/dev/full"), file)
    full = full_disk(raised.value, tmp_path)
    assert full is not None
    assert full.errno == errno.ENOSPC


SEARCH_WHILE_WRITING = """
import sys
from pathlib import Path
from tests.crash import world
corpus = world.build(Path(sys.argv[1]), 1)
store = corpus.store
try:
    with store.transaction():
        store.delete_record(store.record_ids()[0])
        print("found", len(corpus.search("common steady", mode="hybrid", k=100)))
        raise RuntimeError
except RuntimeError:
    pass
except Exception as error:
    print(type(error).__name__, error)
del corpus, store
print(len(list(Path(sys.argv[2]).iterdir())), world.version_seen(Path(sys.argv[1])))
"""


def searched_while_writing(tmp_path: Path, size: str) -> list[str]:
    """What a search in a transaction says if temporary files have a disk of their own, and what is left of both."""
    disk, script = tmp_path / "disk", tmp_path / "search.py"
    disk.mkdir()
    script.write_text(SEARCH_WHILE_WRITING)
    run = f"TMPDIR={disk} PYTHONPATH={ROOT}:$PYTHONPATH exec {sys.executable} {script} {tmp_path / 'corpus'} {disk}"
    outcome = unshared(f"mount -t tmpfs -o size={size} none {disk} && {run}")
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout.splitlines()


def test_temporary_files_may_be_on_another_disk(tmp_path: Path, mounts: None) -> None:
    assert searched_while_writing(tmp_path, "50m") == ["found 14", "0 1"]


def test_a_full_folder_for_temporary_files_is_named(tmp_path: Path, mounts: None) -> None:
    said, left = searched_while_writing(tmp_path, "16k")
    assert said.startswith(f"StoreUnwritable The folder for temporary files ({tmp_path / 'disk'}) is full")
    assert left == "0 1"


def test_a_missing_folder_for_temporary_files_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = world.build(tmp_path / "corpus", 1).store
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with store.transaction():
        store.delete_record(store.record_ids()[0])
        with pytest.raises(StoreUnwritable, match=r"temporary files \(.*gone\) is full or cannot be written"):
            store.snapshot().__enter__()


def test_a_read_only_folder_can_be_searched_but_not_written(tmp_path: Path, mounts: None) -> None:
    corpus = tmp_path / "corpus"
    world.build(corpus, 1)
    script = (
        f"mount --bind {corpus} {corpus} && mount -o remount,ro,bind {corpus} && exec {sys.executable} -c '"
        "import sys; from pathlib import Path; from tests.crash import world; path = Path(sys.argv[1]);"
        "print(world.version_seen(path))\ntry: world.build(path, 2)\nexcept Exception as error: print(repr(error))'"
        f" {corpus}"
    )
    outcome = unshared(script)
    assert outcome.returncode == 0, outcome.stderr
    seen, refused = outcome.stdout.splitlines()
    assert seen == "1"
    assert refused.startswith("StoreUnwritable")
    assert "read-only" in refused


def test_read_only_by_permission(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("the superuser may write everywhere; the test with a read-only mount covers this")
    corpus = tmp_path / "corpus"
    world.build(corpus, 1)
    corpus.chmod(0o555)
    try:
        with pytest.raises(StoreUnwritable, match="read-only"):
            world.build(corpus, 2)
        assert world.version_seen(corpus) == 1
    finally:
        corpus.chmod(0o755)


@pytest.mark.parametrize(
    "content", [b"not a database at all, but long enough to look like a file" * 40, b"", b"\0" * 9000]
)
def test_a_corrupt_database_is_named_and_left_alone(tmp_path: Path, content: bytes) -> None:
    world.build(tmp_path, 1).store.close()
    database = tmp_path / "corpus.db"
    database.write_bytes(content)
    corpus = ir.Corpus("world", LocalStore(tmp_path), world.embed, "toy-8")
    with pytest.raises((CorpusCorrupt, FormatMismatch), match=str(tmp_path)):
        corpus.search("common")
    with pytest.raises((CorpusCorrupt, FormatMismatch)):
        world.build(tmp_path, 2)
    assert database.read_bytes() == content


def test_damage_in_the_middle_of_the_database_is_named(tmp_path: Path) -> None:
    world.build(tmp_path, 1).store.close()
    database = tmp_path / "corpus.db"
    content = bytearray(database.read_bytes())
    content[8192:] = b"\xa5" * (len(content) - 8192)
    database.write_bytes(bytes(content))
    with pytest.raises(CorpusCorrupt, match="is damaged"):
        world.version_seen(tmp_path)


def damaged_copy(original: Path, copy: Path, start: int, noise: bytes) -> ir.Corpus:
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(original, copy)
    content = bytearray((copy / "corpus.db").read_bytes())
    content[start : start + len(noise)] = noise[: len(content) - start]
    (copy / "corpus.db").write_bytes(content)
    return ir.Corpus("world", LocalStore(copy), world.embed, "toy-8")


def test_records_that_the_database_lost_are_damage(tmp_path: Path) -> None:
    for version in (1, 2, 3):
        world.build(tmp_path / "original", version).store.close()
    size = (tmp_path / "original" / "corpus.db").stat().st_size
    for page in range(8192, size, 8192):
        corpus = damaged_copy(tmp_path / "original", tmp_path / "copy", page, random.Random(page).randbytes(8000))
        # What a search does not read it need not notice; a build that says "nothing changed" went through all of it.
        with suppress(CorpusCorrupt):
            assert len(corpus.search("common", mode="hybrid", k=100)) == len(world.contents(3))
        corpus.store.close()
        with pytest.raises(CorpusCorrupt, match="is damaged"):
            world.build(tmp_path / "copy", 3)


def test_whatever_byte_is_damaged_no_error_is_a_riddle(tmp_path: Path) -> None:
    world.build(tmp_path / "original", 1).store.close()
    whole = (tmp_path / "original" / "corpus.db").read_bytes()
    chance = random.Random(3)
    used = [place for place in range(100, len(whole)) if whole[place]]
    for place in chance.sample(used, 60):
        corpus = damaged_copy(
            tmp_path / "original", tmp_path / "copy", place, chance.randbytes(chance.choice([1, 4, 60]))
        )
        with suppress(CorpusCorrupt, FormatMismatch):
            corpus.search("common", mode="hybrid", filter={"x": {"$exists": False}})
        corpus.store.close()
        with suppress(CorpusCorrupt, FormatMismatch):
            world.build(tmp_path / "copy", 1).store.close()


@pytest.mark.parametrize(("found", "remedy"), [(FORMAT + 1, "Upgrade ir-substrate"), (0, "build the corpus again")])
def test_another_format_is_refused_with_the_remedy(tmp_path: Path, found: int, remedy: str) -> None:
    world.build(tmp_path, 1)
    connection = sqlite3.connect(tmp_path / "corpus.db")
    connection.execute(f"PRAGMA user_version = {found}")
    connection.close()
    with pytest.raises(FormatMismatch, match=remedy):
        world.version_seen(tmp_path)
