"""A home folder of its own for every test of clients, in which nothing is set and no client is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

MOVED = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME")
IR_MOVED = ("IR_CONFIG_DIR", "IR_DATA_DIR", "IR_CACHE_DIR", "IR_RUNTIME_DIR")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    monkeypatch.setenv("PATH", str(folder / "bin"))
    for name in (*MOVED, *IR_MOVED, "IR_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def project(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a project, which is the current one."""
    folder = home / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder
