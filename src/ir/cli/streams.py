"""stdout and stderr as they are found: closed, on a full disk, or in an encoding that lacks a letter."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any

from ir.cli.visible import visible

__all__ = ["dim", "is_attended", "is_writable", "json_text", "prepare", "say", "settled", "unwritable"]


def prepare() -> bool:
    """Make both fit to print anything; whether there is a stdout at all."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - it stays open as long as the process
    if sys.stdout is None:
        say("There is no standard output to write results to.", "Run it without closing stdout; /dev/null would do.")
        return False
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Line by line also in a pipe, where remarks on stderr would come before the results that they are about.
            stream.reconfigure(errors="backslashreplace", line_buffering=True)
    if os.environ.get("COLUMNS") == "0":  # some terminals say so if they do not know; Rich would print nothing
        del os.environ["COLUMNS"]
    return True


def dim(text: str) -> str:
    """The text as a remark, if stderr is a terminal that can show it so."""
    tones = sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
    return f"\x1b[2m{text}\x1b[0m" if tones else text


def say(message: str, remedy: str = "", *, begin: str = "") -> None:
    """Tell the user on stderr what went wrong; where that cannot be written either, the exit code has to do."""
    with suppress(OSError):
        print(visible(f"{begin}ir: {message}"), file=sys.stderr)
        if remedy:
            print(visible(f"    {remedy}"), file=sys.stderr)


def json_text(value: Any) -> str:
    """One JSON document; what stdout cannot encode is written in JSON's own way, so that it reads as what it is."""
    import json

    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    return json.dumps(value, ensure_ascii=not encoding.startswith("utf"), indent=2)


def json_line(value: Any) -> str:
    """The same on one line, as one of many."""
    import json

    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    return json.dumps(value, ensure_ascii=not encoding.startswith("utf"))


def is_attended() -> bool:
    """Whether what is printed is seen on a terminal."""
    return sys.stdout.isatty() and sys.stderr.isatty()


def is_writable() -> bool:
    """Whether stdout takes what was printed so far."""
    try:
        sys.stdout.flush()
    except OSError:
        return False
    return True


def unwritable(error: OSError) -> tuple[str, str]:
    """What to say of output that is lost, and what to do then."""
    return f"The output cannot be written: {error.strerror or error}.", "Write it where there is space."


def settled(code: int) -> int:
    """The exit code, once all is written. What cannot be written is said here, before Python says it in its way."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the reader went away (`ir search … | head`)
        _mute(sys.stdout)
        code = 0
    except OSError as error:
        say(*unwritable(error))
        _mute(sys.stdout)
        code = 3
    try:
        sys.stderr.flush()
    except OSError:
        _mute(sys.stderr)
    return code


def _mute(stream: Any) -> None:
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
