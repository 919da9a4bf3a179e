"""What a long command says on stderr: one live line at a terminal, a plain line every few seconds in a pipe."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ir.cli.progress import PLAIN_PATIENCE
from ir.embed import FAST

#: The command line with an embedder that takes its time by the length of texts.
SLOW = """
import sys, time
import numpy as np
from ir.embed import register_loader

class Slow:
    id, fingerprint, dim, cacheable = "slow", "slow-1", 2, False
    def __call__(self, texts, *, input_type="document"):
        time.sleep({cost} * sum(map(len, texts)))
        return np.array([[1.0, len(text)] for text in texts], dtype=np.float32)

register_loader(lambda name: Slow() if name == "slow" else None)
from ir.index import embedding
embedding.LONG_S = 2.0
from ir.cli import progress
progress.PLAIN_PATIENCE, progress.PLAIN_EVERY = 0.5, 0.5
from ir.cli.main import run
sys.exit(run(sys.argv[1:]))
"""
LINE = re.compile(r"ir: (?:[\w-]+: )?embed [\d,]+ of (?:about )?[\d,]+ texts, [\d.,]+/s, .* left")


def slow_ir(*args: str, cost: float = 2e-5) -> list[str]:
    return [sys.executable, "-c", SLOW.format(cost=cost), *args]


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the slow embedder needs some seconds for."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "texts"
    folder.mkdir()
    for number in range(150):
        (folder / f"{number:03}.md").write_text(f"{number} " + "word " * (20 + 2 * number))
    return folder


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    folder = tmp_path / "little"
    folder.mkdir()
    documents = [{"_id": str(n), "title": f"number {n}", "text": "word " * 150} for n in range(200)]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)))
    (folder / "queries.jsonl").write_text("\n".join(json.dumps({"_id": f"q{n}", "text": f"{n}"}) for n in range(5)))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(f"q{n}\t{n}\t1" for n in range(5)))
    return folder


def piped(*args: str, **options: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(slow_ir(*args, **options), capture_output=True, text=True, timeout=120)


def test_a_pipe_gets_plain_lines_and_an_estimate_before_them(texts: Path) -> None:
    done = piped("build", "texts", "--embedder", "slow", "--json")
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    embedding = [line for line in lines if LINE.fullmatch(line)]
    assert len(embedding) >= 2
    (estimate,) = [line for line in lines if "embedding" in line and "takes about" in line]
    assert re.search(rf"texts takes about \d+ s with 'slow'; '{FAST}' takes about 1 s: --embedder {FAST}$", estimate)
    assert lines.index(estimate) < lines.index(embedding[0])
    assert json.loads(done.stdout)["added"] == 150
    assert "\r" not in done.stderr
    assert "\x1b" not in done.stderr


def test_eval_beir_says_how_far_it_is(collection: Path) -> None:
    done = piped("eval", "beir", str(collection), "--embedder", "slow")
    assert done.returncode == 0, done.stderr
    assert len([line for line in done.stderr.splitlines() if LINE.fullmatch(line) and "little: " in line]) >= 2
    assert "nDCG@10" in done.stdout


def test_a_quick_command_says_nothing(texts: Path) -> None:
    """As the limits really are; on a machine that is too busy for that, it may be no quick one."""
    command = [sys.executable, "-m", "ir", "build", "texts", "--embedder", "light"]
    began = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert not done.stderr or time.monotonic() - began > PLAIN_PATIENCE


class Terminal:
    """A real pseudo-terminal with a command in it, and what its screen shows."""

    def __init__(self, command: list[str], columns: int = 80) -> None:
        import fcntl
        import pty
        import struct
        import termios

        self.fd, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        environment = {**os.environ, "TERM": "xterm"}
        self.process = subprocess.Popen(
            command, stdin=child, stdout=child, stderr=child, env=environment, start_new_session=True
        )
        os.close(child)
        self.written = ""

    def read(self, until: str = "", timeout: float = 60) -> str:
        """What is written, until it holds a text or the command ends."""
        end = time.monotonic() + timeout
        while time.monotonic() < end and not (until and until in self.written):
            ready, _, _ = select.select([self.fd], [], [], 0.2)
            try:
                data = os.read(self.fd, 65536) if ready else b""
            except OSError:  # its end, on Linux
                break
            if ready and not data:
                break
            self.written += data.decode("utf-8", "replace")
        return self.written

    @property
    def screen(self) -> list[str]:
        """The lines as they stand there in the end."""
        lines = []
        for line in re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", self.written).replace("\r\n", "\n").split("\n"):
            shown: list[str] = []
            for part in line.split("\r"):
                shown[: len(part)] = part
            lines.append("".join(shown).rstrip())
        return [line for line in lines if line]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
class TestTerminal:
    def test_one_live_line_that_goes(self, texts: Path) -> None:
        terminal = Terminal(slow_ir("build", "texts", "--embedder", "slow"))
        terminal.read()
        assert terminal.process.wait(60) == 0
        drawn = re.findall(r"\r\x1b\[2m(embed [^\r\x1b]*)", terminal.written)
        assert len(set(drawn)) >= 3
        assert any("left" in line for line in drawn)
        assert all(len(line) <= 77 for line in drawn)
        assert not any("embed " in line for line in terminal.screen), terminal.screen
        assert any("takes about" in line for line in terminal.screen), terminal.screen

    def test_a_narrow_terminal_is_not_wrapped(self, texts: Path) -> None:
        terminal = Terminal(slow_ir("build", "texts", "--embedder", "slow"), columns=20)
        terminal.read()
        assert terminal.process.wait(60) == 0
        assert all(len(line) <= 17 for line in re.findall(r"\r\x1b\[2m(embed [^\r\x1b]*)", terminal.written))

    def test_ctrl_c_leaves_a_clean_line(self, texts: Path) -> None:
        terminal = Terminal(slow_ir("build", "texts", "--embedder", "slow", cost=1e-4))
        assert "embed " in terminal.read(until=" left")
        os.killpg(terminal.process.pid, signal.SIGINT)
        terminal.read()
        assert terminal.process.wait(60) == 130
        assert terminal.screen[-1] == "ir: interrupted, nothing was changed"
        assert not any(line.startswith("embed ") for line in terminal.screen), terminal.screen
