"""What is printed, wherever it goes: other encodings, full disks, closed streams, texts that steer terminals."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .test_main import on_a_terminal

Ir = Callable[..., Any]


def in_a_shell(tail: str, *args: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command with what a shell can do to its output, such as ``> /dev/full``."""
    command = shlex.join([sys.executable, "-m", "ir", *args])
    return subprocess.run(
        ["bash", "-c", f"{command} {tail}"],
        env={**os.environ, "IR_EMBEDDER": "light", **environment},
        capture_output=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def dashes(ir: Ir, notes: Path) -> Path:
    (notes / "tea.md").write_text("Green tea — at 80 °C, café style.\n", "utf-8")
    ir("build", "notes")
    return notes


def test_what_an_encoding_lacks_is_escaped(dashes: Path) -> None:
    done = in_a_shell("", "search", "notes", "green tea", PYTHONIOENCODING="latin-1")
    assert done.returncode == 0, done.stderr
    assert b"Green tea \\u2014 at 80 \xb0C" in done.stdout


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "utf-8"])
def test_json_is_exact_in_every_encoding(dashes: Path, encoding: str) -> None:
    done = in_a_shell("", "search", "notes", "green tea", "--json", PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.decode(encoding))["found"]
    assert found[0]["text"].strip() == "Green tea — at 80 °C, café style."


def test_a_reader_of_json_that_goes_away_sees_no_traceback(dashes: Path) -> None:
    done = in_a_shell("| head -c 3", "search", "notes", "green tea", "--json", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{\n ", b"")


@pytest.mark.parametrize(
    "arguments", [["notes", "green tea"], ["notes", "green tea", "--json"], ["none", "x", "--json"]]
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_said_in_one_line(dashes: Path, arguments: list[str], unbuffered: str) -> None:
    done = in_a_shell("> /dev/full", "search", *arguments, PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 3
    assert b"Traceback" not in done.stderr
    said = b"ir: The output cannot be written: No space left on device.\n    Write it where there is space.\n"
    assert done.stderr == said or (arguments[0] == "none" and unbuffered and b"named 'none'" in done.stderr)


def test_a_folder_that_cannot_be_made_is_named_with_where_to_look(ir: Ir, notes: Path) -> None:
    (notes / "file").write_text("")
    done = in_a_shell("", "build", "notes", IR_DATA_DIR=str(notes / "file" / "data"))
    assert done.returncode == 3
    assert b"file/data/corpora/notes-" in done.stderr
    assert done.stderr.endswith(b": something above it is a file.\n    Point IR_DATA_DIR to a folder of yours.\n")


def test_what_the_system_says_comes_with_where_to_look(ir: Ir, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise TimeoutError(110, "Connection timed out", "/mnt/share/ir")

    monkeypatch.setattr("ir.app.targets.built_corpora", fail)
    done = ir("ls")
    assert done.code == 3
    assert done.err == "ir: Connection timed out: /mnt/share/ir.\n    ir doctor checks the folders that ir uses.\n"


def test_closed_streams(dashes: Path) -> None:
    no_stdout = in_a_shell(">&-", "search", "notes", "green tea")
    assert no_stdout.returncode == 3
    assert no_stdout.stderr.startswith(b"ir: There is no standard output")
    no_stderr = in_a_shell("2>&-", "search", "notes", "green tea")
    assert no_stderr.returncode == 0
    assert no_stderr.stdout.startswith(b"notes/tea.md:1: ")
    nothing = in_a_shell(">&- 2>&-", "search", "notes", "green tea")
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (3, b"", b"")
    no_stdin = in_a_shell("<&-", "rm", "notes")
    assert no_stdin.returncode == 2
    assert b"needs --yes" in no_stdin.stderr
    full = in_a_shell("2> /dev/full", "search", "none", "x")
    assert full.returncode == 3


def test_a_folder_that_is_gone_is_named_as_the_reason(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", f"cd {gone}; rmdir {gone}; exec {sys.executable} -m ir search x"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "The current folder does not exist any more." in done.stderr


def test_a_line_shows_the_match_however_far_along_it_is(ir: Ir, notes: Path) -> None:
    (notes / "long.md").write_text("filler words of no use " * 50 + "and the zyzzyva at last\n")
    (line,) = ir("search", "notes", "zyzzyva", "-m", "lexical").out.splitlines()
    assert "zyzzyva" in line
    assert len(line) < 200
    assert line.split(" ", 2)[2].startswith("…")
    (notes / "solid.md").write_text("x" * 200 + "/aardvark\n")
    assert "aardvark" in ir("search", "notes", "aardvark", "-m", "lexical").out


HOSTILE = "tea \x1b]0;owned\x07 \x1b[2J and \x9b31m \u202e more"


def test_control_characters_do_not_reach_the_terminal(ir: Ir, notes: Path) -> None:
    (notes / "evil\n\x1b[31m.txt").write_text(HOSTILE + "\n", "utf-8")
    listed = ir("build", "notes", "--dry-run").out.splitlines()
    assert "added\tevil␊␛[31m.txt" in listed
    for command in (["search"], ["discover"], ["discover", "--disclose", "body"]):
        done = ir(*command, "notes", "owned")
        assert done.code == 0, done.err
        assert "␛" in done.out
        assert not set(done.out) & {"\x1b", "\x07", "\x9b", "\u202e"}, command
        assert done.out.startswith("notes/evil␊␛[31m.txt:1: "), command
    assert ir("search", "notes", "owned", "--json").json["found"][0]["text"].strip() == HOSTILE


def test_control_characters_do_not_reach_a_screen_either(ir: Ir, notes: Path) -> None:
    (notes / "evil\x1b[31m.txt").write_text(HOSTILE + "\n", "utf-8")
    for command in ("search", "discover"):
        code, screen = on_a_terminal(command, "notes", "owned")
        assert code == 0
        assert "\x1b]0;owned" not in screen
        assert "\x1b[2J" not in screen
        assert "evil␛[31m.txt" in screen


def test_the_turns_of_a_chat_are_told_apart(ir: Ir, notes: Path, tmp_path: Path) -> None:
    turns = [
        ("user", "how hot for tea"),
        ("assistant", "80 degrees"),
        ("user", "tea again"),
        ("assistant", "as before"),
    ]
    (tmp_path / "sess").mkdir()
    chat = "".join(json.dumps({"role": role, "content": text}) + "\n" for role, text in turns)
    (tmp_path / "sess" / "a.jsonl").write_text(chat)
    ir("register", "chats", "sess", "--kind", "sessions")
    ir("build", "chats")
    places = {line.partition(":")[0] for line in ir("search", "chats", "tea").out.splitlines()}
    assert places == {"sess/a.jsonl#1", "sess/a.jsonl#2"}
    assert ir("discover", "chats", "tea again").out.startswith("sess/a.jsonl#2: ")


@pytest.mark.parametrize("command", [["ls"], ["search", "notes", "green tea"], ["search", "--help"]])
def test_a_terminal_that_does_not_know_its_width_is_not_left_blank(dashes: Path, command: list[str]) -> None:
    _, unknown = on_a_terminal(*command, env={"COLUMNS": "0"})
    _, usual = on_a_terminal(*command, env={"COLUMNS": "80"})
    assert re.sub(r"id=\d+", "", unknown) == re.sub(r"id=\d+", "", usual)


@pytest.mark.parametrize("command", [["search", "notes", "green tea"], ["discover", "notes", "green tea"]])
def test_a_terminal_without_control_sequences_gets_none(ir: Ir, notes: Path, command: list[str]) -> None:
    code, screen = on_a_terminal(*command, env={"TERM": "dumb"})
    assert code == 0
    assert screen.startswith("ir: indexing ")
    assert "\x1b" not in screen


def test_a_table_that_does_not_fit_the_screen_is_written_as_lines(dashes: Path, ir: Ir) -> None:
    plain = ir("ls").out.splitlines()
    code, screen = on_a_terminal("ls", env={"COLUMNS": "20"})
    assert code == 0
    table = [line for line in screen.splitlines() if not line.startswith("ir: ")]  # both streams are one screen
    assert [line.split() for line in table] == [line.split() for line in plain]
    assert on_a_terminal("ls", env={"COLUMNS": "72"})[1].count("\n") > 3
