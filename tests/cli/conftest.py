"""The command line in this process, and a small folder to use it on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.extras import told_in

from ir.cli.main import run


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Ir = Callable[..., Outcome]


@pytest.fixture
def ir(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ir:
    """Run the command line with the light embedder; a command that asks for a missing extra skips the test."""
    monkeypatch.setenv("IR_EMBEDDER", "light")

    def call(*args: str) -> Outcome:
        capsys.readouterr()
        code = run(args)
        out, err = capsys.readouterr()
        if code and (reason := told_in(out + err)):
            pytest.skip(reason)
        return Outcome(code, out, err)

    return call


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of three notes, in the current folder."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "tea.md").write_text("# Tea\n\nSteep green tea at 80 degrees.\n\nBoiling water makes it bitter.\n")
    (folder / "bread.txt").write_text("Knead the dough for ten minutes.\nLet it rise before baking.\n")
    (folder / "chain.py").write_text("def changeBicycleChain(gauge):\n    return gauge > 0.75\n")
    return folder
