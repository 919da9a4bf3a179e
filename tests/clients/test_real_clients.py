"""The clients themselves, installed from npm, connect to what ``ir install`` wrote: without a login or a network.

The server is ``ir mcp`` with a small corpus.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.clients.conftest import IR_MOVED
from tests.clients.npm import client, node_folder
from tests.serve.world import kill, processes_of_home

import ir
from ir.clients import CLIENTS, Setup, launch, plugin_folder, write_plugin
from ir.registry import source_for

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="written for Unix")]


@pytest.fixture
def own_folders(ir_home: Path) -> dict[str, str]:
    """Where this test's ``ir`` keeps things; asked for before a home without settings is made."""
    return {name: os.environ[name] for name in IR_MOVED if name in os.environ}


@pytest.fixture
def here(own_folders: dict[str, str], project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with a corpus of notes, in a home where nothing is set; no daemon outlives the test."""
    for name, value in own_folders.items():
        monkeypatch.setenv(name, value)
    folder = project / "notes"
    folder.mkdir()
    (folder / "tea.md").write_text("# Tea\n\nGreen tea is steeped at 80 degrees for two minutes.\n")
    (folder / "bread.md").write_text("# Bread\n\nKnead the dough for ten minutes and bake it hot.\n")
    ir.register("notes", "files", root=str(folder), embedder="light")
    ir.build(source_for("notes"), embedder="light")
    yield project
    for pid in processes_of_home():
        kill(pid)


def set_up(name: str) -> None:
    Setup(launch()).install(CLIENTS[name])


def around() -> dict[str, str]:
    """What a client sees: a home of its own, and Node."""
    return {"HOME": os.environ["HOME"], "PATH": f"{node_folder()}:/usr/bin:/bin", "TERM": "dumb", "NO_COLOR": "1"}


def run(program: Path, *args: str, cwd: Path) -> str:
    done = subprocess.run(
        [program, *args],
        cwd=cwd,
        env=around(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said


def test_claude_code_connects(here: Path) -> None:
    claude = client("claude")
    set_up("claude")
    assert "Connected" in run(claude, "mcp", "list", cwd=here)
    assert "Scope: User" in run(claude, "mcp", "get", "ir", cwd=here)


def test_claude_code_sees_a_projects_server(here: Path) -> None:
    claude = client("claude")
    Setup(launch(), project=here).install(CLIENTS["claude"])
    assert "Pending approval" in run(claude, "mcp", "list", cwd=here)


def test_claude_code_validates_and_loads_the_plugin(here: Path, home: Path) -> None:
    claude = client("claude")
    report = json.loads(run(claude, "plugin", "validate", "--json", str(plugin_folder()), cwd=here))
    assert report["success"] is True, report
    write_plugin(home / "plugin", launch())
    run(claude, "plugin", "marketplace", "add", str(home / "plugin"), cwd=here)
    run(claude, "plugin", "install", "ir@ir", cwd=here)
    listed = run(claude, "mcp", "list", cwd=here)
    assert "plugin:ir:ir" in listed
    assert "Connected" in listed


def test_opencode_connects_and_lists_the_skill(here: Path, home: Path) -> None:
    opencode = client("opencode")
    path = home / ".config" / "opencode" / "opencode.jsonc"
    path.parent.mkdir(parents=True)
    path.write_text('// mine\n{\n  "autoupdate": false, // stay\n}\n')
    set_up("opencode")
    listed = run(opencode, "mcp", "list", cwd=here)
    assert "ir" in listed
    assert "connected" in listed
    assert str(home / ".agents" / "skills" / "ir" / "SKILL.md") in run(opencode, "debug", "skill", cwd=here)


def test_gemini_connects_and_lists_the_skill(here: Path, home: Path) -> None:
    gemini = client("gemini")
    path = home / ".gemini" / "settings.json"
    path.parent.mkdir()
    path.write_text('{\n  // no questions here\n  "security": {"folderTrust": {"enabled": false}}\n}\n')
    set_up("gemini")
    assert "Connected" in run(gemini, "mcp", "list", cwd=here)
    assert "ir [Enabled]" in run(gemini, "skills", "list", cwd=here)


def test_codex_calls_a_tool_and_lists_the_skill(here: Path, home: Path) -> None:
    codex = client("codex")
    set_up("codex")
    with app_server(codex, here) as ask:
        thread = ask("thread/start", {"cwd": str(here)})["thread"]["id"]
        (status,) = ask("mcpServerStatus/list", {})["data"]
        assert status["name"] == "ir"
        assert {"search", "get"} <= set(status["tools"])
        asked = {"query": "how hot is the water for green tea", "corpus": "notes"}
        answer = ask("mcpServer/tool/call", {"threadId": thread, "server": "ir", "tool": "search", "arguments": asked})
        assert not answer.get("isError"), answer
        assert "tea.md" in json.dumps(answer)
        skills = ask("skills/list", {"cwds": [str(here)]})["data"][0]["skills"]
        assert str(home / ".agents" / "skills" / "ir" / "SKILL.md") in {skill["path"] for skill in skills}


@contextmanager
def app_server(codex: Path, cwd: Path) -> Iterator[Any]:
    """Codex without a screen: JSON-RPC by lines."""
    process = subprocess.Popen(
        [codex, "app-server"],
        cwd=cwd,
        env=around(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    asked = 0

    def send(**message: Any) -> None:
        assert process.stdin
        process.stdin.write(json.dumps(message) + "\n")
        process.stdin.flush()

    def ask(method: str, params: dict[str, Any]) -> Any:
        nonlocal asked
        asked += 1
        send(id=asked, method=method, params=params)
        assert process.stdout
        for line in process.stdout:
            message = json.loads(line)
            if message.get("id") == asked and "method" not in message:
                assert "result" in message, message
                return message["result"]
        raise AssertionError(f"codex ended before it answered {method}")

    try:
        about = {"name": "test", "title": "test", "version": "1"}
        ask("initialize", {"clientInfo": about, "capabilities": {"experimentalApi": True}})
        send(method="initialized")
        yield ask
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
