"""A home that nobody has used, and a guard on what a program does there: hosts looked up, addresses, files written.

The guard is a small library in C that is loaded into every process before all others, so that native code is seen as
well as Python's. What it cannot see is a program without libc, or one that makes its own system calls.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).with_name("guard.c")
#: Variables by which the caller's machine would decide where things go, or that telemetry looks at to keep still.
_UNWANTED = ("IR_", "XDG_", "ORT_", "MPL", "PYTHON", "CI", "TF_BUILD", "JENKINS", "GITHUB_", "TMP", "TEMP", "LD_")


@dataclass
class Guard:
    """One guarded world below ``root``: ``home``, ``tmp`` for temporary files, ``work`` for the user's own."""

    root: Path
    library: Path
    extra: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for folder in (self.home, self.tmp, self.work):
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def tmp(self) -> Path:
        return self.root / "tmp"

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def log(self) -> Path:
        return self.root / "guard.log"

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_UNWANTED)}
        return {
            **kept,
            "HOME": str(self.home),
            "TMPDIR": str(self.tmp),
            "LD_PRELOAD": str(self.library),
            "IR_GUARD_LOG": str(self.log),
            "PYTHONDONTWRITEBYTECODE": "1",  # Python keeps compiled modules beside their source
            **self.extra,
        }

    def start(self, *command: str | Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(part) for part in command],
            cwd=self.work,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def python(self, code: str) -> subprocess.CompletedProcess[str]:
        """Run ``code``; what it prints is in the result, and an error of it is an error of the test."""
        return self._finished(self.start(sys.executable, "-c", code), code)

    def ir(self, *arguments: str | Path, codes: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess[str]:
        """Run the command line."""
        return self._finished(self.start(sys.executable, "-m", "ir", *arguments), f"ir {arguments}", codes)

    def _finished(
        self, process: subprocess.Popen[str], what: str, codes: tuple[int, ...] = (0,)
    ) -> subprocess.CompletedProcess[str]:
        out, err = process.communicate(timeout=300)
        assert process.returncode in codes, f"{what} left with {process.returncode}:\n{out}\n{err}"
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def network(self) -> list[str]:
        """What was looked up or spoken to."""
        return [f"{kind} {what}" for kind, what in self._events() if kind in ("lookup", "connect")]

    def strays(self, *allowed: Path) -> list[str]:
        """Every path that was written outside ``allowed``, ir's folders, and the folder for temporary files."""
        ours = [self.home / folder for folder in (".config/ir", ".local/share/ir", ".cache/ir")]
        places = [str(place) for place in (*ours, *allowed, self.tmp)]
        written = {os.path.normpath(what) for kind, what in self._events() if kind == "write"}
        return sorted(path for path in written if not self._is_ours(path, places))

    def _is_ours(self, path: str, places: list[str]) -> bool:
        if path.startswith(("/dev/null", "/dev/tty", "/proc/self/")):
            return True
        # A folder on the way to ours may have to be made.
        return any(path == place or path.startswith(f"{place}/") or place.startswith(f"{path}/") for place in places)

    def leftovers(self) -> list[str]:
        """What is left of temporary files."""
        return sorted(str(path.relative_to(self.tmp)) for path in self.tmp.rglob("*"))

    def tree(self) -> list[str]:
        """Every file in the home."""
        return sorted(str(path.relative_to(self.home)) for path in self.home.rglob("*") if not path.is_dir())

    def _events(self) -> Iterator[tuple[str, str]]:
        if not self.log.exists():
            return
        for line in self.log.read_text("utf-8", "surrogateescape").splitlines():
            kind, _, what = line.partition("\t")
            yield kind, what


def compile_guard(library: Path) -> Path | str:
    """The guard as a library at the given path, or why there is none."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if sys.platform != "linux":
        return "it is written for Linux"
    if compiler is None:
        return "there is no C compiler"
    command = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-o", str(library), str(SOURCE), "-ldl"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return library if done.returncode == 0 else f"the compiler says {done.stderr.strip()}"
