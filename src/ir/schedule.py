"""How does a machine do what is due by itself? The text that tells its scheduler to; nothing is installed here."""

from __future__ import annotations

import os
import plistlib
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from ir.config import cache_dir, moved_folders
from ir.errors import InvalidInput
from ir.options import choice
from ir.spans import span, told_span
from ir.system import SCHEDULER

__all__ = ["FORMATS", "Schedule", "ScheduleFile", "schedule"]

FORMATS = ("cron", "systemd", "launchd")
_NAME = "ir-maintain"
_LABEL = "ir.maintain"
_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True)
class ScheduleFile:
    """A text and where to save it; a line for a crontab has no path of its own."""

    text: str
    path: str | None = None


@dataclass(frozen=True)
class Schedule:
    """What to write where so that maintenance is run every so often; ``steps`` say how, one after the other."""

    format: str
    every: str
    command: tuple[str, ...]
    files: tuple[ScheduleFile, ...]
    steps: tuple[str, ...]
    log: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


def schedule(
    every: str = "1h", format: str | None = None, *, corpora: Sequence[str] = (), python: str = sys.executable
) -> Schedule:
    """How this machine runs ``ir maintain`` every so often; ``format`` is cron, or launchd on a Mac, if not given.

    The command has the whole path of this Python, and the folders of ``ir`` if variables moved them: a scheduler
    knows neither.
    """
    length = span(every)
    if length < _MINUTE or length % _MINUTE:
        raise InvalidInput(f"A scheduler counts minutes; {every!r} is not a whole number of them.")
    command = (str(Path(python).absolute()), "-m", "ir", "maintain", *corpora)
    chosen = choice("format", format or _usual_format(command), FORMATS)
    environment = moved_folders()
    make = {"cron": _cron, "systemd": _systemd, "launchd": _launchd}[chosen]
    _check_printable(*command, *environment.values())
    return make(length, command, environment)


def _usual_format(command: Sequence[str]) -> str:
    if SCHEDULER is None:
        raise InvalidInput(
            "The Task Scheduler of Windows is not among the formats that can be printed.",
            remedy=f"Make a task there that runs: {subprocess.list2cmdline(command)}",
        )
    return SCHEDULER


def _check_printable(*words: str) -> None:
    """No line of a crontab or a unit can hold a path with a line break."""
    for word in words:
        if not word.isprintable():
            raise InvalidInput(
                f"{word!r} cannot be written into a schedule.", remedy="Choose a path that can be printed."
            )


def _cron(every: timedelta, command: tuple[str, ...], environment: Mapping[str, str]) -> Schedule:
    settings = [f"{name}={shlex.quote(value)}" for name, value in environment.items()]
    folder = cache_dir().absolute()
    log = str(folder / "maintain.log")
    # Where the log cannot be opened, the shell does not start the command.
    words = ["mkdir", "-p", shlex.quote(str(folder)), "&&"]
    words += [*settings, *map(shlex.quote, command), ">>", shlex.quote(log), "2>&1"]
    # A percent sign is a line break to cron.
    line = f"{_cron_times(every)} {' '.join(words)}".replace("%", "\\%")
    steps = (
        "Run: crontab -e",
        "Add the line above at the end and save.",
        f"See that it works: crontab -l, and later {log}",
    )
    return Schedule("cron", told_span(every), command, (ScheduleFile(line),), steps, log, environment)


def _cron_times(every: timedelta) -> str:
    minutes = every // _MINUTE
    if minutes < 60 and 60 % minutes == 0:
        return f"*/{minutes} * * * *" if minutes > 1 else "* * * * *"
    if not every % _HOUR and every < _DAY and 24 % (every // _HOUR) == 0:
        hours = every // _HOUR
        return f"7 */{hours} * * *" if hours > 1 else "7 * * * *"
    fixed = {_DAY: "7 3 * * *", 7 * _DAY: "7 3 * * 0", 30 * _DAY: "7 3 1 * *"}
    if every in fixed:
        return fixed[every]
    raise InvalidInput(
        f"A crontab cannot say every {told_span(every)}.",
        remedy="Use a part of an hour or of a day (10m, 30m, 1h, 6h), daily, weekly or monthly; or --format systemd.",
    )


def _systemd(every: timedelta, command: tuple[str, ...], environment: Mapping[str, str]) -> Schedule:
    settings = [f"Environment={_unit_quoted(f'{name}={value}', dollar=False)}\n" for name, value in environment.items()]
    service = (
        "[Unit]\nDescription=Keep the corpora of ir up to date\n\n"
        "[Service]\nType=oneshot\nNice=10\n"
        f"{''.join(settings)}ExecStart={' '.join(map(_unit_quoted, command))}\n"
    )
    timer = (
        f"[Unit]\nDescription=Run {_NAME} every {told_span(every)}\n\n"
        f"[Timer]\nOnBootSec=5min\nOnUnitActiveSec={every // _MINUTE}min\n\n"
        "[Install]\nWantedBy=timers.target\n"
    )
    base = os.environ.get("XDG_CONFIG_HOME")
    folder = (Path(base) if base else Path.home() / ".config") / "systemd" / "user"
    files = (
        ScheduleFile(service, str(folder / f"{_NAME}.service")),
        ScheduleFile(timer, str(folder / f"{_NAME}.timer")),
    )
    steps = (
        f"Save both files in {folder}",
        "Run: systemctl --user daemon-reload",
        f"Run: systemctl --user enable --now {_NAME}.timer",
        f"See that it works: systemctl --user list-timers, and journalctl --user -u {_NAME}",
    )
    return Schedule("systemd", told_span(every), command, files, steps, None, environment)


def _unit_quoted(word: str, *, dollar: bool = True) -> str:
    """A word as systemd reads it, to which percent and dollar signs stand for something else."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped.replace("$", "$$") if dollar else escaped}"'


def _launchd(every: timedelta, command: tuple[str, ...], environment: Mapping[str, str]) -> Schedule:
    log = str(Path.home() / "Library" / "Logs" / f"{_NAME}.log")
    job: dict[str, object] = {
        "Label": _LABEL,
        "ProgramArguments": list(command),
        "StartInterval": int(every.total_seconds()),
        "StandardOutPath": log,
        "StandardErrorPath": log,
    }
    if environment:
        job["EnvironmentVariables"] = dict(environment)
    path = Path.home() / "Library" / "LaunchAgents" / f"{_LABEL}.plist"
    text = plistlib.dumps(job, sort_keys=False).decode("utf-8")
    steps = (
        f"Save the file as {path}",
        f"Run: launchctl bootstrap gui/$(id -u) {shlex.quote(str(path))}",
        f"See that it works: launchctl list {_LABEL}, and later {log}",
    )
    return Schedule("launchd", told_span(every), command, (ScheduleFile(text, str(path)),), steps, log, environment)
