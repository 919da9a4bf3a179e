"""ARCHITECTURE.md lists every room of the house, and the files that it names are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CODE = ROOT / "src" / "ir"
PAGE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")


def part(title: str) -> str:
    """What the page says under a heading."""
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    assert found, f"ARCHITECTURE.md has no part {title!r}"
    return found[1]


def rooms() -> set[str]:
    """The modules and packages right below ``ir``, packages with a slash."""
    folders = {f"{path.parent.name}/" for path in CODE.glob("*/__init__.py")}
    return folders | {path.stem for path in CODE.glob("*.py") if not path.stem.startswith("__")}


def test_the_table_has_every_room_and_no_other() -> None:
    listed = re.findall(r"^\| `(\w+/?)` \| (.+?) \|$", part("One question per room"), re.MULTILINE)
    assert sorted(name for name, _ in listed) == sorted(rooms())
    assert all(question.endswith("?") for _, question in listed)


def test_every_room_stands_in_a_layer() -> None:
    drawn = re.findall(r"^    \w+ +(.+?)(?:   .*)?$", part("Layers"), re.MULTILINE)
    assert sorted(name for line in drawn for name in line.split()) == sorted(rooms())


def test_the_glossary_has_ten_words_and_comes_first() -> None:
    assert re.findall(r"^## (.+)$", PAGE, re.MULTILINE)[0] == "Ten words"
    assert len(re.findall(r"^- \*\*\w+\*\*", part("Ten words"), re.MULTILINE)) == 10


@pytest.mark.parametrize("title", ["A document's walk", "A query's walk"])
def test_a_walk_names_its_files(title: str) -> None:
    assert len(files_named(part(title))) >= 5


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.py)`", PAGE))))
def test_a_file_that_is_named_is_there(name: str) -> None:
    assert (CODE / name).is_file(), f"ARCHITECTURE.md names {name}, which is not in src/ir; say where it went"


def files_named(text: str) -> list[str]:
    return re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.py)`", text)
