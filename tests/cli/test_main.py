"""The frame: help, unknown commands, errors, interruption, broken pipes, terminals."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.extras import needs

from ir.cli.main import COMMANDS

Ir = Callable[..., Any]
COMMAND = [sys.executable, "-m", "ir"]


def on_a_terminal(*args: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run a command under a pseudo-terminal; its exit code and the screen."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "IR_EMBEDDER": "light", **(env or {})}
    process = subprocess.Popen(
        [*COMMAND, *args], stdin=follower, stdout=follower, stderr=follower, env=environment, close_fds=True
    )
    os.close(follower)
    screen = b""
    while select.select([leader], [], [], 60)[0]:
        try:
            block = os.read(leader, 65536)
        except OSError:
            break
        if not block:
            break
        screen += block
    os.close(leader)
    return process.wait(timeout=60), screen.decode("utf-8", "replace")


def test_help_lists_every_command_under_its_panel(ir: Ir) -> None:
    done = ir("--help")
    assert done.code == 0
    for name in COMMANDS:
        assert re.search(rf"^  {name} ", done.out, re.MULTILINE), name
    assert "Search:" in done.out
    assert ir().out == done.out
    assert "\x1b" not in done.out


def test_version_and_unknown_command(ir: Ir) -> None:
    import ir as package

    assert ir("--version").out == f"ir {package.__version__}\n"
    wrong = ir("serch")
    assert wrong.code == 2
    assert "search" in wrong.err


def test_the_parser_loads_neither_numpy_nor_rich() -> None:
    code = (
        "import sys; from ir.cli.main import make_app; make_app();"
        "assert not {'numpy', 'rich', 'faiss', 'tantivy'} & set(sys.modules), sorted(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_only_the_command_asked_for_is_loaded() -> None:
    code = (
        "import sys; from ir.cli.main import run; run(['config', 'get', 'k']);"
        "assert 'ir.cli.config' in sys.modules and 'ir.cli.searching' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, stdout=subprocess.DEVNULL).returncode == 0


def test_an_unexpected_error_has_no_traceback_unless_debugging(
    ir: Ir, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the roof is leaking")

    monkeypatch.setattr("ir.app.targets.built_corpora", fail)
    done = ir("ls")
    assert done.code == 3
    assert "the roof is leaking" in done.err
    assert "Traceback" not in done.err
    assert "IR_DEBUG" in done.err
    monkeypatch.setenv("IR_DEBUG", "1")
    with pytest.raises(RuntimeError):
        ir("ls")


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_error(notes: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "search", "notes", "the", "--mode", "dense"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "IR_EMBEDDER": "light"},
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert "Traceback" not in said
    assert "BrokenPipe" not in said


def test_interrupting_says_so_and_leaves_with_130(notes: Path) -> None:
    code = (
        "import ir.app.corpora as c, dataclasses, os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def slow(request, ctx):\n    os.kill(os.getpid(), signal.SIGINT)\n    import time; time.sleep(30)\n"
        "c.list_corpora = dataclasses.replace(c.list_corpora, run=slow)\n"
        "from ir.cli.main import run\nsys.exit(run(['ls']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 130
    assert "interrupted, nothing was changed" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_watch_ends_cleanly_on_ctrl_c(notes: Path) -> None:
    needs("watchfiles")
    with subprocess.Popen(
        [*COMMAND, "watch", "notes"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "IR_EMBEDDER": "light"},
        text=True,
        # A shell that runs the tests in the background has them ignore Ctrl-C, and their children with them.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if "watching" in line:
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in err
    assert "0 updates" in out


@pytest.mark.slow
def test_a_terminal_gets_colours_links_and_places(notes: Path) -> None:
    code, screen = on_a_terminal("search", "notes", "green tea")
    assert code == 0
    assert "\x1b[" in screen
    assert "tea.md:3" in screen
    assert "]8;" in screen
    code, screen = on_a_terminal("ls")
    assert code == 0
    assert "notes-" in screen


@pytest.mark.slow
def test_no_color_is_honoured(notes: Path) -> None:
    code, screen = on_a_terminal("search", "notes", "green tea", env={"NO_COLOR": "1"})
    assert code == 0
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", screen)


def test_rm_asks_at_a_terminal(notes: Path, ir: Ir) -> None:
    ir("register", "kitchen", "notes")
    ir("build", "kitchen")
    leader, follower = pty.openpty()
    process = subprocess.Popen([*COMMAND, "rm", "kitchen"], stdin=follower, stdout=follower, stderr=follower)
    os.close(follower)
    os.write(leader, b"n\n")
    assert process.wait(timeout=60) == 1
    os.close(leader)
    assert ir("ls", "--json").json["corpora"][0]["name"] == "kitchen"


def completions(*lines: str) -> list[list[str]]:
    """What the shell is offered for the last word of each line."""
    code = (
        "import contextlib, io, json, os, sys\n"
        "from ir.cli import main\n"
        "found = []\n"
        "for line in json.load(sys.stdin):\n"
        "    os.environ.update(_IR_COMPLETE='complete_bash', COMP_WORDS=line, COMP_CWORD=str(line.count(' ')))\n"
        "    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):\n"
        "        main()\n"
        "    found.append([word.rpartition(',')[2] for word in out.getvalue().splitlines()])\n"
        "print(json.dumps(found))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, input=json.dumps(lines), timeout=60
    )
    found: list[list[str]] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_the_shell_completes_commands_corpora_paths_and_settings(notes: Path, ir: Ir) -> None:
    ir("register", "kitchen", "notes")
    offered = completions("ir sea", "ir search kit", "ir build no", "ir rm k", "ir search --exp")
    for word, words in zip(("search", "kitchen", "notes/", "kitchen", "--explain"), offered, strict=True):
        assert word in words


ALLOWED = {
    "ir search --mode ": ["dense", "lexical", "hybrid"],
    "ir search -m le": ["lexical"],
    "ir search --fusion ": ["rrf", "blend", "minmax", "dbsf", "minmax_corpus"],
    "ir search --rerank ": ["maxsim", "cross-encoder:", "http:"],
    "ir search --embedder li": ["light"],
    "ir search --embedder bo": ["box"],
    "ir discover --mode h": ["hybrid"],
    "ir discover --strategy s": ["score_gap"],
    "ir discover --disclose ": ["metadata", "body", "bundled"],
    "ir discover --expand ": ["window", "parent"],
    "ir discover --min-score ": ["auto", "none"],
    "ir register x --kind ": [
        *("files", "code", "book", "skills", "packages", "reports", "sessions", "records", "jsonl", "mcp")
    ],
    "ir build --language ge": ["german"],
    "ir eval --fusion b": ["blend"],
    "ir eval-select --strategy t": ["top_k"],
    "ir sweep-select --objective abs": ["abstention_accuracy"],
    "ir calibrate-min-score --mode d": ["dense"],
    "ir graph x ": ["neighbours", "export"],
    "ir graph x export --format ": ["dot", "json"],
    "ir store ": ["copy", "migrate"],
    "ir models ": ["ls", "pull", "rm"],
    "ir models pull st": ["static"],
    "ir config ": ["list", "get", "set", "unset"],
    "ir config set refresh": ["refresh", "refresh_scan_ms", "refresh_max_changed"],
    "ir config set fusion m": ["minmax", "minmax_corpus"],
    "ir config set refresh ": ["true", "false"],
    "ir config set embedder mini": ["minilm", "minilm-int8", "minilm-openvino"],
}


@pytest.mark.slow
def test_the_shell_completes_the_words_that_an_option_allows() -> None:
    assert dict(zip(ALLOWED, completions(*ALLOWED), strict=True)) == ALLOWED


def test_doctor_is_content_with_a_fresh_home_and_names_what_is_not_installed(ir: Ir) -> None:
    done = ir("doctor", "--json")
    assert done.code == 0
    assert done.json["healthy"] is True
    names = {check["name"] for check in done.json["checks"]}
    assert {"ir", "packages", "config folder", "data folder", "cache folder", "embedder", "extra pdf"} <= names
    assert ir("doctor").out.count("\n") >= len(done.json["checks"])


def test_doctor_lists_the_models_and_what_runs_them(ir: Ir, tmp_path: Path) -> None:
    from tests.models import tiny

    needs("onnxruntime", "tokenizers")

    def checks() -> dict[str, Any]:
        return {check["name"]: check for check in ir("doctor", "--json").json["checks"]}

    before = checks()
    assert before["extra onnx"]["status"] == "ok"
    assert "ir models pull" in before["embedding model"]["remedy"]
    assert ir("models", "pull", "minilm/own", "--from", str(tiny.write_bert(tmp_path / "mine"))).code == 0
    assert checks()["model minilm/own"]["detail"].startswith("0.")


def test_doctor_looks_at_the_rest_if_the_settings_are_broken(ir: Ir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_K", "many")
    done = ir("doctor", "--json")
    assert done.code == 3
    checks = {check["name"]: check for check in done.json["checks"]}
    assert checks["settings"]["status"] == "broken"
    assert "environment IR_K" in checks["settings"]["detail"]
    assert checks["data folder"]["status"] == "ok"


def test_doctor_finds_a_folder_that_cannot_be_used(ir: Ir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("IR_CACHE_DIR", str(tmp_path / "file" / "cache"))
    done = ir("doctor", "--json")
    assert done.code == 3
    broken = [check for check in done.json["checks"] if check["status"] == "broken"]
    assert [check["name"] for check in broken] == ["cache folder"]
    assert "IR_CACHE_DIR" in broken[0]["remedy"]


def test_keys_in_addresses_are_shown_nowhere(ir: Ir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_EMBED_BASE_URL", "http://me:sk-SECRET@127.0.0.1:9/v1")
    monkeypatch.setenv("IR_RERANK_BASE_URL", "http://127.0.0.1:9/v1?version=2&api_key=sk-SECRET")
    monkeypatch.setenv("IR_MODELS_HUB_URL", "http://me:sk-SECRET@127.0.0.1:9")
    assert "http://***@127.0.0.1:9/v1" in ir("config").out
    assert "/v1?version=2&api_key=***\t" in ir("config", "get", "rerank.base_url").out
    commands = (
        ["config"],
        ["config", "--json"],
        ["doctor"],
        ["config", "set", "llm.base_url", "https://sk-SECRET@host/v1"],
        ["config", "set", "llm.base_url", "https://sk-SECRET@host/\t"],
        ["models", "pull", "org/model"],
    )
    for words in commands:
        done = ir(*words)
        assert "SECRET" not in done.out + done.err, words
    assert "models.hub_url must be" in ir("models", "pull", "org/model").err
