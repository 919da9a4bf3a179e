"""``ir install``: each client's own file, and nothing else of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ir.app import Context
from ir.app.installing import InstallRequest, InstallResponse, install
from ir.cli.main import run
from ir.clients import CLIENTS, Setup, jsonc, launch, skill_text
from ir.clients.setup import BACKUP
from ir.errors import InvalidInput, IrError

STAND_IN = Path(__file__).with_name("stand_in.py")

#: Where each client has its settings, for a user and in a project, and under which keys.
PLACES = {
    "claude": (".claude.json", ".mcp.json", "mcpServers"),
    "codex": (".codex/config.toml", ".codex/config.toml", "mcp_servers"),
    "cursor": (".cursor/mcp.json", ".cursor/mcp.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", ".vscode/mcp.json", "servers"),
    "copilot": (".copilot/mcp-config.json", ".github/mcp.json", "mcpServers"),
    "opencode": (".config/opencode/opencode.json", "opencode.json", "mcp"),
    "gemini": (".gemini/settings.json", ".gemini/settings.json", "mcpServers"),
    "windsurf": (".codeium/windsurf/mcp_config.json", None, "mcpServers"),
    "zed": (".config/zed/settings.json", None, "context_servers"),
}
linux = pytest.mark.skipif(sys.platform != "linux", reason="the paths are those of Linux")


def ask(*clients: str, **options: Any) -> InstallResponse:
    return install(InstallRequest(clients, **options), Context())


def entry_in(path: Path, key: str) -> Any:
    text = path.read_text("utf-8")
    return (tomllib.loads(text) if path.suffix == ".toml" else jsonc.parse(text))[key].get("ir")


def files_below(folder: Path) -> dict[str, bytes]:
    """Every file but the lock, which is ours."""
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != "clients.lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_every_client_is_told_of_here() -> None:
    assert set(PLACES) == set(CLIENTS)


@linux
@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_gets_an_entry_and_a_skill_and_loses_them_again(name: str, home: Path) -> None:
    place, _, key = PLACES[name]
    (report,) = ask(name).clients
    assert [file["did"] for file in report.files] == ["added", "added"]
    entry = entry_in(home / place, key)
    words = entry["command"] if isinstance(entry["command"], list) else [entry["command"], *entry["args"]]
    assert words == list(launch().words)
    assert Path(words[0]).is_absolute()
    assert words[-1] == "mcp"
    skills = ".claude/skills" if name == "claude" else ".agents/skills"
    assert (home / skills / "ir" / "SKILL.md").read_text("utf-8") == skill_text()
    (again,) = ask(name).clients
    assert [file["did"] for file in again.files] == ["unchanged", "unchanged"]
    assert ask(name, remove=True).clients[0].error is None
    assert files_below(home) == {}


@pytest.mark.parametrize("name", CLIENTS)
def test_a_project_has_its_own_files(name: str, project: Path) -> None:
    place, key = PLACES[name][1:]
    if place is None:
        with pytest.raises(InvalidInput, match="no settings for a project"):
            ask(name, project=".")
        return
    ask(name, project=".")
    assert entry_in(project / place, key)
    assert any(path.endswith("skills/ir/SKILL.md") for path in files_below(project))
    ask(name, project=".", remove=True)
    assert files_below(project) == {}
    assert project.is_dir()


def test_the_shape_is_what_each_client_reads(home: Path) -> None:
    ask("opencode", "copilot", "vscode")
    words = list(launch().words)
    opencode = entry_in(CLIENTS["opencode"].user()[0], "mcp")
    assert opencode == {"type": "local", "command": words, "enabled": True}
    copilot = entry_in(CLIENTS["copilot"].user()[0], "mcpServers")
    assert copilot == {"type": "local", "command": words[0], "args": words[1:], "tools": ["*"]}
    assert entry_in(CLIENTS["vscode"].user()[0], "servers")["type"] == "stdio"


def test_what_a_user_wrote_stays_and_is_kept(home: Path) -> None:
    path = home / ".gemini" / "settings.json"
    path.parent.mkdir()
    before = '// mine\n{\n  "theme": "x", // nice\n  "mcpServers": {"other": {"env": {"KEY": "secret"}}},\n}\n'
    path.write_text(before, "utf-8")
    path.chmod(0o640)
    (report,) = ask("gemini").clients
    assert "// mine" in path.read_text("utf-8")
    assert set(jsonc.parse(path.read_text("utf-8"))["mcpServers"]) == {"other", "ir"}
    backup = path.with_name(path.name + BACKUP)
    assert report.files[0]["backup"] == str(backup)
    assert backup.read_text("utf-8") == before
    assert "secret" not in json.dumps(report.to_dict())
    if sys.platform != "win32":
        assert path.stat().st_mode & 0o777 == backup.stat().st_mode & 0o777 == 0o640
    ask("gemini", remove=True)
    assert path.read_text("utf-8") == before


def test_an_entry_keeps_what_its_user_added(home: Path) -> None:
    path = home / ".config" / "opencode" / "opencode.jsonc"
    path.parent.mkdir(parents=True)
    path.write_text(
        '{"mcp": {"ir": {"type": "local", "command": ["/old/ir", "mcp"], /* off */ "enabled": false,'
        ' "environment": {"IR_WORKSPACE": "x"}}}}'
    )
    (report,) = ask("opencode").clients
    assert report.files[0]["did"] == "updated"
    entry = entry_in(path, "mcp")
    assert entry == {
        "type": "local",
        "command": list(launch().words),
        "enabled": False,
        "environment": {"IR_WORKSPACE": "x"},
    }
    assert "/* off */" in path.read_text()
    assert not path.with_suffix(".json").exists()


def test_an_entry_for_a_server_on_the_network_is_replaced(home: Path) -> None:
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"ir": {"url": "http://127.0.0.1:1/mcp"}}}')
    ask("cursor")
    assert set(entry_in(path, "mcpServers")) == {"command", "args"}


def test_folders_that_were_moved_are_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IR_DATA_DIR", str(home / "elsewhere"))
    monkeypatch.setenv("IR_WORKSPACE", "team")
    ask("claude", "codex")
    wanted = {"IR_DATA_DIR": str(home / "elsewhere"), "IR_WORKSPACE": "team"}
    assert entry_in(home / ".claude.json", "mcpServers")["env"] == wanted
    assert entry_in(home / ".codex" / "config.toml", "mcp_servers")["env"] == wanted


@pytest.mark.parametrize("text", ["{", "[1]", '{"mcpServers": []}', "\xff\xfe".encode("latin-1").decode("latin-1")])
def test_a_file_that_cannot_be_edited_is_left_alone_and_others_are_done(text: str, home: Path) -> None:
    path = home / ".claude.json"
    path.write_bytes(text.encode("latin-1"))
    broken, fine = ask("claude", "codex").clients
    assert not broken.ok
    assert str(path) in str(broken.error)
    assert fine.ok
    assert path.read_bytes() == text.encode("latin-1")
    assert not path.with_name(path.name + BACKUP).exists()


def test_a_file_that_is_a_folder_is_told(home: Path) -> None:
    (home / ".claude.json").mkdir()
    (report,) = ask("claude").clients
    assert "cannot be read" in str(report.error)


def test_a_folder_that_is_a_file_is_told(home: Path) -> None:
    (home / ".codex").write_text("")
    (report,) = ask("codex").clients
    assert str(home / ".codex") in str(report.error)
    assert files_below(home) == {".codex": b""}


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_that_leads_nowhere_is_told(home: Path) -> None:
    (home / ".claude.json").symlink_to(home / "gone" / "claude.json")
    (report,) = ask("claude").clients
    assert "Cannot write" in str(report.error)
    assert (home / ".claude.json").is_symlink()


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="nothing is unwritable here")
def test_a_folder_that_cannot_be_written_is_told(home: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".codex").chmod(0o500)
    (report,) = ask("codex").clients
    assert "Cannot write" in str(report.error)
    (home / ".codex").chmod(0o700)


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_file_behind_a_link_is_written_and_the_link_stays(home: Path) -> None:
    real = home / "dotfiles" / "zed.json"
    real.parent.mkdir()
    real.write_text("{}\n")
    link = CLIENTS["zed"].user()[0]
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    ask("zed")
    assert link.is_symlink()
    assert entry_in(real, "context_servers")
    ask("zed", remove=True)
    assert link.is_symlink()
    assert real.read_text() == "{}\n"


def test_a_dry_run_changes_nothing(home: Path) -> None:
    (home / ".codex").mkdir()
    response = ask(dry_run=True)
    assert [report.client for report in response.clients] == ["codex"]
    assert [file["did"] for file in response.clients[0].files] == ["added", "added"]
    assert files_below(home) == {}


def test_the_clients_that_are_here_are_found(home: Path) -> None:
    assert ask().clients == ()
    (home / "bin").mkdir()
    program = home / "bin" / ("gemini.exe" if sys.platform == "win32" else "gemini")
    program.write_text("")
    program.chmod(0o755)
    (home / ".claude").mkdir()
    assert [report.client for report in ask(dry_run=True).clients] == ["claude", "gemini"]


def test_a_skill_stays_while_another_client_reads_it(home: Path) -> None:
    ask("codex", "gemini")
    skill = home / ".agents" / "skills" / "ir" / "SKILL.md"
    (report,) = ask("codex", remove=True).clients
    assert report.files[1]["did"] == "kept"
    assert skill.exists()
    (report,) = ask(remove=True).clients
    assert (report.client, report.files[1]["did"]) == ("gemini", "removed")
    assert not (home / ".agents").exists()


def test_a_skill_that_was_edited_is_kept_beside(home: Path) -> None:
    skill = home / ".claude" / "skills" / "ir" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("my own")
    (report,) = ask("claude").clients
    assert report.files[1]["did"] == "updated"
    assert skill.with_name("SKILL.md" + BACKUP).read_text() == "my own"


def test_what_was_done_before_a_failure_is_told(home: Path) -> None:
    (home / ".claude").mkdir()
    (home / ".claude" / "skills").write_text("a file")
    (report,) = ask("claude").clients
    assert "skills" in str(report.error)
    assert [(file["what"], file["did"]) for file in report.files] == [("server", "added")]


def test_without_the_skill(home: Path) -> None:
    ask("claude", skill=False)
    assert set(files_below(home)) == {".claude.json"}


def test_an_interruption_leaves_nothing_half_done(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = home / ".claude.json"
    path.write_text('{"a": 1}')
    whole = Setup.install

    def interrupted(self: Setup, client: Any) -> Any:
        if client.name == "gemini":
            raise KeyboardInterrupt
        return whole(self, client)

    monkeypatch.setattr(Setup, "install", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ask("claude", "codex", "gemini")
    assert files_below(home) == {".claude.json": b'{"a": 1}'}


def test_a_file_that_changes_meanwhile_is_read_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = home / ".claude.json"
    path.write_text('{"n": 1}')
    setup = Setup(launch(), skill=False)
    decide = setup._entered

    def late(client: Any) -> Any:
        change = decide(client)
        if '"n": 1}' in (change.before or ""):
            path.write_text('{"n": 2}')  # what the client itself just wrote
        return change

    monkeypatch.setattr(setup, "_entered", late)
    setup.install(CLIENTS["claude"])
    assert jsonc.parse(path.read_text())["n"] == 2
    assert entry_in(path, "mcpServers")


def test_two_at_once_both_succeed(home: Path) -> None:
    reports: list[InstallResponse] = []
    names = ["claude", "codex", "gemini", "cursor"]
    threads = [threading.Thread(target=lambda: reports.append(ask(*names))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(reports) == 4
    assert all(report.ok for response in reports for report in response.clients)
    added = [file for response in reports for report in response.clients for file in report.files]
    assert sum(file["did"] == "added" for file in added if file["what"] == "server") == len(names)


def test_a_command_in_a_temporary_folder_is_warned_of(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = home / "bin" / "ir"
    program.parent.mkdir()
    program.write_text("")
    monkeypatch.setattr(sys, "argv", [str(program), "install"])
    monkeypatch.setattr("tempfile.tempdir", str(home))
    notes: list[str] = []
    install(InstallRequest(("claude",)), Context(note=notes.append))
    assert entry_in(home / ".claude.json", "mcpServers")["command"] == str(program)
    assert "temporary folder" in notes[0]


def test_a_passing_environment_of_uvx_is_not_pinned(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uvx = home / "bin" / ("uvx.exe" if sys.platform == "win32" else "uvx")
    uvx.parent.mkdir()
    uvx.write_text("")
    uvx.chmod(0o755)
    monkeypatch.setattr(sys, "prefix", str(home / ".cache" / "uv" / "archive-v0" / "abc"))
    found = launch()
    assert found.command == str(uvx)
    assert found.args[0] == "--from"
    assert found.args[1].startswith("ir-substrate")
    assert found.args[2:] == ("ir", "mcp")


def test_unknown_clients_and_contradictions_are_refused(home: Path) -> None:
    with pytest.raises(IrError, match="clippy"):
        ask("clippy")
    with pytest.raises(IrError, match="two different things"):
        ask("claude", remove=True, check=True)


# -- checking --------------------------------------------------------------------------------------------------------


def entered(home: Path, *args: str, **env: str) -> None:
    entry = {"command": sys.executable, "args": [str(STAND_IN), *args], "env": env}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"ir": entry}}))


def test_a_check_starts_what_is_entered(home: Path) -> None:
    entered(home, "well", STAND_IN_VERSION="2.5")
    (report,) = ask(check=True).clients
    assert report.answer is not None
    assert (report.answer["server"], report.answer["version"]) == ("stand-in", "2.5")
    assert report.answer["tools"] == ("search", "get")


@pytest.mark.parametrize(
    ("way", "said"),
    [("dies", "no such model"), ("chatty", "something else than the protocol"), ("refuses", "that version is too old")],
)
def test_a_check_says_what_went_wrong(way: str, said: str, home: Path) -> None:
    entered(home, way)
    (report,) = ask("claude", check=True).clients
    assert said in str(report.error)
    assert "a1B2" not in str(report.error)
    assert report.remedy == "Write its entry again: ir install claude"


def test_a_check_does_not_wait_for_ever(home: Path) -> None:
    from ir.clients import HandshakeFailed, shake_hands

    with pytest.raises(HandshakeFailed, match="not answered in time"):
        shake_hands([sys.executable, str(STAND_IN), "silent"], {}, timeout_s=0.5)


@pytest.mark.parametrize(
    "entry", [{"url": "http://x"}, {"command": "/no/such/ir", "args": ["mcp"]}, {"command": 3}, {}]
)
def test_a_check_of_an_odd_entry_fails_politely(entry: dict[str, Any], home: Path) -> None:
    (home / ".claude.json").write_text(json.dumps({"mcpServers": {"ir": entry}}))
    (report,) = ask("claude", check=True).clients
    assert not report.ok


def test_a_server_sees_only_what_its_entry_gives_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAND_IN_VERSION", "from the shell")
    entered(home)
    (report,) = ask(check=True).clients
    assert report.answer is not None
    assert report.answer["version"] == "1.0"


# -- the command -----------------------------------------------------------------------------------------------------


def test_the_command_says_what_it_did(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["install", "claude", "codex"]) == 0
    said = capsys.readouterr().out
    assert f"Claude Code: server added to {home / '.claude.json'}" in said
    assert said.rstrip().splitlines()[-1].startswith("command: ")
    assert run(["install", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {report["client"] for report in told["clients"]} == {"claude", "codex"}
    assert run(["install", "--remove"]) == 0
    assert files_below(home) == {}
    assert run(["install", "--check"]) == 1
    assert "no client has an entry" in capsys.readouterr().err


def test_the_command_fails_if_one_client_does(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / ".claude.json").write_text("{")
    assert run(["install", "claude"]) == 3
    assert "it stays as it is" in capsys.readouterr().out


def test_nobody_there_is_told(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["install"]) == 1
    assert "no client was found here; name one: claude, codex" in capsys.readouterr().err


def test_the_plugin_is_written_with_a_whole_path(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["install", "claude", "--plugin"]) == 0
    folder = Path(capsys.readouterr().out.strip())
    manifest = json.loads((folder / ".claude-plugin" / "plugin.json").read_text("utf-8"))
    assert manifest["mcpServers"]["ir"]["command"] == launch().command
    assert (folder / "skills" / "ir" / "SKILL.md").read_text("utf-8") == skill_text()


def test_the_skill_has_what_clients_ask_for() -> None:
    import yaml

    import ir

    _, head, body = skill_text().split("---\n", 2)
    front = yaml.safe_load(head)
    assert front["name"] == "ir"
    assert 40 < len(front["description"]) <= 500
    assert len(body.split()) < 700
    from ir.clients import plugin_folder

    manifest = json.loads((plugin_folder() / ".claude-plugin" / "plugin.json").read_text("utf-8"))
    assert manifest["version"] == ir.__version__


@pytest.mark.slow
def test_two_processes_at_once_both_succeed(home: Path) -> None:
    command = [sys.executable, "-m", "ir", "install", "claude", "codex", "opencode"]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, (out, err)
    assert entry_in(home / ".claude.json", "mcpServers")
    assert entry_in(home / ".codex" / "config.toml", "mcp_servers")


@pytest.mark.slow
def test_the_skill_names_tools_that_are_there_and_a_check_finds_them(ir_home: Path, tmp_path: Path) -> None:
    """With the server itself, as ``ir install`` enters it."""
    import re

    from tests.serve.world import kill, processes_of_home

    config = tmp_path / "home"
    config.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "ir", "install", "claude", "--json"],
        env={**os.environ, "HOME": str(config), "CLAUDE_CONFIG_DIR": str(config)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["clients"][0]["error"] is None
    checked = subprocess.run(
        [sys.executable, "-m", "ir", "install", "--check", "--json"],
        env={**os.environ, "HOME": str(config), "CLAUDE_CONFIG_DIR": str(config)},
        capture_output=True,
        text=True,
        check=False,
    )
    for pid in processes_of_home():
        kill(pid)
    (report,) = json.loads(checked.stdout)["clients"]
    assert report["error"] is None, report
    assert report["answer"]["server"] == "ir"
    tools = set(report["answer"]["tools"])
    assert {"search", "get"} <= tools
    named = set(re.findall(r"`(search|discover|get|grep|similar|status|refresh|expand|traverse)`", skill_text()))
    assert named <= tools
