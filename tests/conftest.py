"""Every test gets directories of its own, so none can see a user's corpora or another test's."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def ir_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh home: configuration, data and cache below it."""
    home = tmp_path_factory.mktemp("ir-home")
    for kind in ("CONFIG", "DATA", "CACHE"):
        monkeypatch.setenv(f"IR_{kind}_DIR", str(home / kind.lower()))
    return home
