"""Real models for the tests that need them: the user's own, else pulled once into ``build/``."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import pytest

from ir.config.files import file_lock
from ir.errors import IrError
from ir.models import folders, install

ROOT = Path(__file__).parents[2]


@lru_cache(maxsize=4)
def _pulled(name: str) -> Path | str:
    own = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ir" / "models" / name
    if folders.is_complete(own):
        return own
    before = os.environ.get("IR_CACHE_DIR")
    os.environ["IR_CACHE_DIR"] = str(ROOT / "build" / "test-models")
    try:
        with file_lock(ROOT / "build" / "test-models" / name, timeout_s=600):
            hub = "https://huggingface.co"
            return install.pull(name, hub_url=hub, progress=lambda *_: None).path
    except IrError as error:
        return str(error)
    finally:
        os.environ.pop("IR_CACHE_DIR") if before is None else os.environ.__setitem__("IR_CACHE_DIR", before)


def pulled(name: str) -> Path:
    """The folder of a real model; the test is skipped, aloud, where it cannot be had."""
    found = _pulled(name)
    if isinstance(found, str):
        pytest.skip(f"the model {name!r} cannot be had here: {found}")
    return found


def as_installed(name: str) -> None:
    """Let the test's own cache directory hold the model, without a copy."""
    target = folders.model_dir(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(pulled(name), target_is_directory=True)
