"""The files that an administrator takes over, and programs that check them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

__all__ = ["DEPLOY", "ROOT", "documents", "run", "tool"]

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def tool(name: str, source: str) -> str:
    """The program of that name; the test is skipped where it is not installed."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"needs {name}, of {source}")
    return found


def run(*command: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, cwd=cwd, timeout=120)


def documents(path: Path) -> list[Any]:
    """Every document of a YAML file."""
    return list(yaml.safe_load_all(path.read_text("utf-8")))
