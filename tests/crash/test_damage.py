"""Derived files are never trusted: deleted, cut or overwritten, they are made again."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.crash import world

CHANCE = random.Random(7)


def delete(path: Path) -> None:
    path.unlink()


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def extend(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"tail")


def fill_with_noise(path: Path) -> None:
    path.write_bytes(CHANCE.randbytes(path.stat().st_size))


def flip_one_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    if content:
        content[CHANCE.randrange(len(content))] ^= 0xFF
    path.write_bytes(bytes(content))


def derived_files(corpus: Path) -> list[Path]:
    newest = max((corpus / "generations").iterdir(), key=lambda folder: folder.name)
    return sorted(path for path in newest.rglob("*") if path.is_file() and not path.name.endswith(".lock"))


@pytest.mark.parametrize("damage", [delete, truncate, extend, fill_with_noise, flip_one_byte])
def test_a_damaged_file_is_made_again(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    original = tmp_path / "original"
    world.build(original, 4)
    for index, victim in enumerate(derived_files(original)):
        corpus = tmp_path / f"corpus-{index}"
        shutil.copytree(original, corpus)
        damage(corpus / victim.relative_to(original))
        # Half of the time a reader comes first, half of the time a builder.
        if index % 2:
            world.build(corpus, 5)
        assert world.version_seen(corpus) == (5 if index % 2 else 4), victim.name


def test_all_derived_files_may_be_deleted_at_any_time(tmp_path: Path) -> None:
    world.build(tmp_path, 4)
    shutil.rmtree(tmp_path / "generations")
    assert world.version_seen(tmp_path) == 4


def test_a_copied_corpus_is_as_good_as_the_original(tmp_path: Path) -> None:
    world.build(tmp_path / "one", 4)
    shutil.copytree(tmp_path / "one", tmp_path / "two", copy_function=shutil.copy)
    before = {path.name for path in (tmp_path / "two" / "generations").iterdir()}
    assert world.version_seen(tmp_path / "two") == 4
    assert {path.name for path in (tmp_path / "two" / "generations").iterdir()} == before
