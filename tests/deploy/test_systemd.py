"""The unit for systemd: whether systemd takes it, how much it shuts in, and whether it fits the application."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from tests.deploy.conftest import DEPLOY, run, tool
from tests.deploy.test_images import OURS, PORT, settings_of

UNIT = (DEPLOY / "systemd" / "ir.service").read_text("utf-8")
#: As systemd itself measures how much a service could do; 0 is nothing, 10 anything.
MOST_EXPOSED = 15  # tenths


def analyze() -> str:
    return tool("systemd-analyze", "systemd")


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit with a program that is there."""
    path = tmp_path / "ir.service"
    path.write_text(UNIT.replace("/opt/ir/bin/ir", sys.executable))
    return path


def test_systemd_takes_the_unit(unit: Path) -> None:
    done = run(analyze(), "verify", unit)
    assert (done.returncode, done.stderr) == (0, "")


def test_systemd_would_find_a_mistake(unit: Path) -> None:
    unit.write_text(unit.read_text().replace("ProtectHome=yes", "ProtectHome=perhaps"))
    done = run(analyze(), "verify", unit)
    assert "protect home" in done.stderr.lower()


def test_the_service_is_shut_in(unit: Path) -> None:
    done = run(analyze(), "security", "--offline=true", "--no-pager", f"--threshold={MOST_EXPOSED}", unit)
    assert done.returncode == 0, done.stdout


def test_the_service_listens_on_this_machine_where_the_application_does() -> None:
    assert f"ir serve --host 127.0.0.1 --port {PORT}\n" in UNIT


def test_what_the_service_writes_is_in_folders_that_systemd_makes() -> None:
    assigned = dict(
        pair.split("=", 1) for line in re.findall(r"^Environment=(.*)$", UNIT, re.MULTILINE) for pair in line.split()
    )
    assert OURS - {"IR_WORKSPACE"} <= set(assigned)
    settings_of(assigned)
    made = {"StateDirectory": "/var/lib", "CacheDirectory": "/var/cache", "RuntimeDirectory": "/run"}
    folders = [f"{base}/{name}" for kind, base in made.items() for name in re.findall(rf"^{kind}=(\w+)$", UNIT, re.M)]
    for name in OURS & set(assigned):
        assert assigned[name].startswith(tuple(folders)), name
