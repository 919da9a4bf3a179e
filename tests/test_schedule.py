"""What is printed for schedulers: whole paths, nothing installed, and what they cannot say is told."""

from __future__ import annotations

import os
import plistlib
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ir.errors import InvalidInput
from ir.schedule import schedule


@pytest.mark.parametrize(
    ("every", "times"),
    [
        ("1m", "* * * * *"),
        ("30m", "*/30 * * * *"),
        ("60m", "7 * * * *"),
        ("hourly", "7 * * * *"),
        ("6h", "7 */6 * * *"),
        ("24h", "7 3 * * *"),
        ("weekly", "7 3 * * 0"),
        ("monthly", "7 3 1 * *"),
    ],
)
def test_a_line_for_a_crontab(every: str, times: str) -> None:
    (file,) = schedule(every, "cron").files
    assert file.path is None
    assert file.text.startswith(f"{times} mkdir -p ")
    assert "\n" not in file.text


def test_the_line_runs_in_a_bare_shell(ir_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """cron gives a command to sh, with hardly any variables, and takes a percent sign for a line break."""
    monkeypatch.setenv("IR_CACHE_DIR", str(tmp_path / "100% it's here"))
    plan = schedule("1h", "cron")
    command = plan.files[0].text.split(" ", 5)[5]
    assert "100\\% it" in command
    done = subprocess.run(
        ["sh", "-c", command.replace("\\%", "%")],
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        cwd="/",
        check=False,
    )
    assert done.returncode == 0
    assert plan.log is not None
    assert "no corpora are registered" in Path(plan.log).read_text()
    assert plan.command[0] == sys.executable
    assert plan.environment["IR_DATA_DIR"] == str(ir_home / "data")


@pytest.mark.parametrize("every", ["7m", "90m", "5h", "2d", "3w"])
def test_what_a_crontab_cannot_say_is_told_and_the_others_can(every: str) -> None:
    with pytest.raises(InvalidInput, match=r"A crontab cannot say every .*systemd"):
        schedule(every, "cron")
    assert schedule(every, "systemd").files
    assert schedule(every, "launchd").files


def test_a_service_and_a_timer_for_systemd(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setenv("IR_DATA_DIR", '/data/50% "off" $HOME')
    plan = schedule("90m", "systemd", corpora=["notes"], python="/opt/my python/bin/python")
    service, timer = plan.files
    folder = tmp_path / ".config/systemd/user"
    assert (service.path, timer.path) == (f"{folder}/ir-maintain.service", f"{folder}/ir-maintain.timer")
    assert 'ExecStart="/opt/my python/bin/python" "-m" "ir" "maintain" "notes"\n' in service.text
    assert 'Environment="IR_DATA_DIR=/data/50%% \\"off\\" $HOME"\n' in service.text
    assert "OnUnitActiveSec=90min\n" in timer.text
    assert any("systemctl --user enable --now ir-maintain.timer" in step for step in plan.steps)
    assert not (tmp_path / ".config").exists()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not here")
def test_systemd_understands_the_units(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IR_DATA_DIR", '/data/50% "off" $HOME')
    paths = []
    for file in schedule("90m", "systemd").files:
        assert file.path is not None
        paths.append(tmp_path / Path(file.path).name)
        paths[-1].write_text(file.text)
    done = subprocess.run(["systemd-analyze", "verify", *map(str, paths)], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_a_property_list_for_launchd(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (file,) = schedule("6h", "launchd").files
    job = plistlib.loads(file.text.encode())
    assert job["ProgramArguments"] == [sys.executable, "-m", "ir", "maintain"]
    assert (job["StartInterval"], job["Label"]) == (21600, "ir.maintain")
    assert job["EnvironmentVariables"]["IR_DATA_DIR"] == os.environ["IR_DATA_DIR"]
    assert file.path == f"{tmp_path}/Library/LaunchAgents/ir.maintain.plist"
    assert not (tmp_path / "Library").exists()


@pytest.mark.parametrize(
    ("every", "format", "message"),
    [
        ("often", "cron", "no span of time"),
        ("0.5m", "cron", "whole number"),
        ("1h", "windows", "'launchd'"),
    ],
)
def test_wrong_schedules(every: str, format: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        schedule(every, format)


def test_a_path_with_a_line_break_cannot_be_scheduled() -> None:
    with pytest.raises(InvalidInput, match="cannot be written into a schedule"):
        schedule("1h", "cron", python="/opt/a\nb/python")


def test_words_stay_words() -> None:
    line = schedule("1h", "cron", corpora=["my notes; rm x"]).files[0].text
    assert "my notes; rm x" in shlex.split(line)


@pytest.mark.parametrize("format", ["cron", "launchd"])
def test_the_usual_format_of_a_machine(format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ir.schedule.SCHEDULER", format)
    assert schedule("1h").format == format


def test_windows_is_told_what_its_task_has_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ir.schedule.SCHEDULER", None)
    with pytest.raises(InvalidInput, match=r'runs: "/my python" -m ir maintain'):
        schedule("1h", python="/my python")
    assert schedule("1h", "cron").files
