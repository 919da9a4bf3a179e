"""A small corpus, and no daemon that outlives its test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.serve.world import kill, processes_of_home, wait_until

import ir


@pytest.fixture(autouse=True)
def no_daemon_stays(ir_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("IR_EMBEDDER", "light")
    monkeypatch.setenv("IR_DAEMON_IDLE_S", "60")
    monkeypatch.setenv("IR_WORKSPACE", "default")
    yield
    for pid in processes_of_home():
        kill(pid)
    wait_until(lambda: not processes_of_home())


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A registered folder of three notes, built as the corpus `notes`."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "tea.md").write_text("# Tea\n\nSteep green tea at 80 degrees.\n\nBoiling water makes it bitter.\n")
    (folder / "bread.md").write_text("# Bread\n\nKnead the dough for ten minutes.\n\nLet it rise before baking.\n")
    (folder / "bike.md").write_text("# Bicycle\n\nOil the chain every month.\n\nCheck the brakes in autumn.\n")
    ir.register("notes", "files", root=str(folder), embedder="light")
    from ir.registry import source_for

    ir.build(source_for("notes"), embedder="light")
    return folder
