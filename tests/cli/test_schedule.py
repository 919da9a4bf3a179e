"""``ir policy`` and ``ir schedule``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ir = Callable[..., Any]


def test_a_policy_is_shown_changed_kept_and_set_back(ir: Ir, notes: Path) -> None:
    assert ir("policy", "nosuch").code == 3
    ir("build", "notes")
    assert ir("policy", "notes").out.splitlines()[1:] == [
        "refresh\tchanged\t-",
        "calibrate\toutdated\t-",
        "hours\tany\t-",
    ]
    changed = ir("policy", "notes", "--refresh", "6h", "--hours", "0-24", "--json")
    assert changed.code == 2
    changed = ir("policy", "notes", "--refresh", "6h", "--calibrate", "weekly", "--json").json
    assert (changed["refresh"], changed["calibrate"], changed["changed"]) == ("6h", "1w", True)
    ir("maintain")
    waiting = ir("maintain")
    assert "\tcheck\twaiting\tevery 6h, by its policy; due in " in waiting.out
    assert ir("maintain", "--now").out.endswith("\tcheck\tcurrent\tnothing is due\n")
    assert ir("policy", "notes").out.splitlines()[1].startswith("refresh\t6h\t20")
    (notes / "more.md").write_text("More.")
    ir("build", "notes", "--embedder", "light")
    assert ir("policy", "notes", "--hours", "22-6", "--json").json["refresh"] == "6h"
    assert ir("policy", "notes", "--hours", "any", "--json").json["hours"] is None
    back = ir("policy", "notes", "--default", "--json").json
    assert (back["refresh"], back["calibrate"], back["hours"]) == ("changed", "outdated", None)
    assert ir("policy", "notes", "--refresh", "often").code == 2


def test_a_schedule_is_printed_and_said_where_to_put(ir: Ir, notes: Path) -> None:
    cron = ir("schedule", "--format", "cron", "--every", "6h")
    assert cron.code == 0
    assert len(cron.out.splitlines()) == 1
    assert " -m ir maintain >> " in cron.out
    assert "nothing was installed" in cron.err
    assert "crontab -e" in cron.err
    systemd = ir("schedule", "--format", "systemd").out
    assert systemd.count("ir-maintain.") >= 2
    assert "[Service]" in systemd
    assert "[Timer]" in systemd
    assert ir("schedule", "--format", "launchd").out.startswith("<?xml")
    document = ir("schedule", "--format", "systemd", "--json").json
    assert [file["path"].rpartition("/")[2] for file in document["files"]] == [
        "ir-maintain.service",
        "ir-maintain.timer",
    ]
    assert document["command"][1:] == ["-m", "ir", "maintain"]
    ir("build", "notes")
    one = ir("schedule", "notes", "--json").json
    assert one["command"][-1].startswith("notes-")


@pytest.mark.parametrize(
    "arguments", [["--every", "often"], ["--format", "at"], ["nosuch"], ["--every", "5h", "--format", "cron"]]
)
def test_wrong_usage_of_schedule(ir: Ir, notes: Path, arguments: list[str]) -> None:
    assert ir("schedule", *arguments).code in (2, 3)
