"""Small repositories in temporary folders."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

if shutil.which("git") is None:
    collect_ignore_glob = ["test_*.py"]

#: Later than git's own clock ever is in a test, so that each commit has its own.
_NOBODY = {
    "GIT_AUTHOR_NAME": "nobody",
    "GIT_AUTHOR_EMAIL": "nobody@example.com",
    "GIT_COMMITTER_NAME": "nobody",
    "GIT_COMMITTER_EMAIL": "nobody@example.com",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


class Repo:
    """A repository with a work tree, used as a person would."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)

    def git(self, *words: str | bytes, check: bool = True) -> str:
        done = subprocess.run(
            ["git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *words],
            cwd=self.root,
            env={**os.environ, **_NOBODY},
            capture_output=True,
            check=False,
        )
        if check and done.returncode:
            raise AssertionError(done.stderr.decode())
        return done.stdout.decode("utf-8", "replace").strip()

    def write(self, files: Mapping[str, str | bytes | None]) -> None:
        """Write files; ``None`` removes one."""
        for name, text in files.items():
            path = self.root / name
            if text is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def commit(self, files: Mapping[str, str | bytes | None] | None = None, message: str = "change") -> str:
        self.write(files or {})
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def age(self) -> None:
        """Let all files be old, so that their times prove something."""
        for path in self.root.rglob("*"):
            if ".git" not in path.parts and not path.is_symlink():
                os.utime(path, (1_700_000_000, 1_700_000_000))


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Git as it is without a user's settings, and without those of whoever runs the tests from a hook."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)


@pytest.fixture
def repository(tmp_path: Path) -> Callable[..., Repo]:
    def make(files: Mapping[str, str | bytes | None] | None = None, name: str = "project") -> Repo:
        repo = Repo(tmp_path / name)
        repo.git("init", "-q")
        if files is not None:
            repo.commit(files)
        return repo

    return make
