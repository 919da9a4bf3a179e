"""A small corpus, in a workspace or two, and servers for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")

from tests.web.served import Served, serving

import ir
from ir.config.workspace import in_workspace
from ir.registry import source_for


@pytest.fixture(autouse=True)
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_EMBEDDER", "light")
    monkeypatch.setenv("IR_WORKSPACE", "default")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A registered folder of three notes, built as the corpus `notes`."""
    return make_notes(tmp_path / "notes", "notes")


def make_notes(folder: Path, name: str, more: str = "") -> Path:
    folder.mkdir(parents=True)
    (folder / "tea.md").write_text(
        f"# Tea\n\nSteep green tea at 80 degrees. {more}\n\nBoiling water makes it bitter.\n"
    )
    (folder / "bread.md").write_text("# Bread\n\nKnead the dough for ten minutes.\n\nLet it rise before baking.\n")
    (folder / "bike.md").write_text("# Bicycle\n\nOil the chain every month.\n\nCheck the brakes in autumn.\n")
    ir.register(name, "files", root=str(folder), embedder="light")
    ir.build(source_for(name), embedder="light")
    return folder


def make_notes_in(workspace: str, folder: Path, name: str, more: str = "") -> Path:
    with in_workspace(workspace):
        return make_notes(folder, name, more)


@pytest.fixture
def served(notes: Path) -> Iterator[Served]:
    with serving() as one:
        yield one
