"""A guard for each test, compiled once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.privacy.guard import Guard, compile_guard


@pytest.fixture(scope="session")
def guard_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The guard as a library; tests are skipped, aloud, where it cannot be made."""
    made = compile_guard(tmp_path_factory.mktemp("guard") / "guard.so")
    if isinstance(made, str):
        pytest.skip(f"no guard can be made here: {made}")
    return made


@pytest.fixture
def guard(tmp_path: Path, guard_library: Path) -> Guard:
    """A home that nobody has used, guarded."""
    return Guard(tmp_path / "world", guard_library)
