"""The wheel holds everything, and works where nothing of the source is: what ``pip``, ``pipx`` and ``uvx`` install."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("IR_", "PYTHON"))}
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this source; tests are skipped, aloud, where none can be built."""
    folder = tmp_path_factory.mktemp("wheel")
    done = run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT, cwd=folder)
    if done.returncode:
        pytest.skip(f"no wheel can be built here: {done.stderr.strip()[-300:]}")
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``bin`` of an environment that has the wheel, and of other packages what this one has."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    assert run(sys.executable, "-m", "venv", folder, cwd=ROOT).returncode == 0
    binaries = folder / ("Scripts" if os.name == "nt" else "bin")
    done = run(binaries / "python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=folder)
    assert done.returncode == 0, done.stderr
    (packages,) = [path for path in folder.rglob("site-packages") if path.is_dir()]
    (packages / "others.pth").write_text(f"{Path(np.__file__).parents[1]}\n")
    return binaries


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "tea.md").write_text("# Tea\n\nSteep green tea at 80 degrees.\n")
    (folder / "bread.md").write_text("# Bread\n\nKnead the dough for ten minutes.\n")
    return folder


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    source = ROOT / "src"
    ours = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    ours = {path for path in ours if "__pycache__" not in path}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == ours
    assert {"ir/py.typed", "ir/select/probes.txt", "ir/store/postgres/migrations/0001_corpus.sql"} <= held
    assert {f"ir/clients/plugin/{name}" for name in (".claude-plugin/plugin.json", "skills/ir/SKILL.md")} <= held
    assert {f"ir/models/known/box/{name}" for name in ("vectors.npy", "pieces.txt", "NOTICE.md")} <= held


def test_the_installed_command_works_without_the_source(installed: Path, notes: Path, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path / "home"), "IR_EMBEDDER": "box"}
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    where = run(installed / "python", "-c", "import ir; print(ir.__file__)", cwd=tmp_path, **home)
    assert Path(where.stdout.strip()).is_relative_to(installed.parent), where
    for arguments, expected in (
        (("--version",), version),
        (("--help",), "Find the relevant things"),
        (("search", str(notes), "how hot is green tea", "-k", "1"), "tea.md"),
        (("build", str(notes)), "2 unchanged"),
        (("doctor",), version),
    ):
        done = run(installed / "ir", *arguments, cwd=tmp_path, **home)
        assert expected in done.stdout, done
        assert done.returncode == 0, done
    floor = run(installed / "ir", "calibrate-min-score", notes, "--probes", cwd=tmp_path, **home)
    assert "floor" in floor.stdout.lower(), floor
    module = run(installed / "python", "-m", "ir", "--version", cwd=tmp_path, **home)
    assert module.stdout.strip() == run(installed / "ir", "--version", cwd=tmp_path, **home).stdout.strip()


@pytest.mark.parametrize("tool", ["uvx", "pipx"])
def test_the_command_runs_without_being_installed(wheel: Path, notes: Path, tmp_path: Path, tool: str) -> None:
    program = shutil.which(tool)
    if program is None:
        pytest.skip(f"{tool} is not installed")
    start = [program, "--from", wheel] if tool == "uvx" else [program, "run", "--spec", wheel]
    home = {"HOME": str(tmp_path / "home"), "IR_EMBEDDER": "box"}
    done = run(*start, "ir", "search", notes, "how hot is green tea", "-k", "1", cwd=tmp_path, **home)
    if done.returncode and "ir: " not in done.stderr:
        pytest.skip(f"{tool} cannot get the packages that ir needs here: {done.stderr.strip()[-300:]}")
    assert "tea.md" in done.stdout, done


def test_the_page_is_in_it_with_the_licences_of_what_others_wrote(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as held:
        names = held.namelist()
    here = ROOT / "src" / "ir" / "web" / "page"
    files = {f"ir/web/page/{path.relative_to(here).as_posix()}" for path in here.rglob("*") if path.is_file()}
    assert files <= set(names)
    texts = {path.name for path in (here / "vendor" / "licences").iterdir()}
    assert texts <= {Path(name).name for name in names if ".dist-info/" in name}
