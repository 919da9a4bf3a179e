"""``ir mcp`` on stdio: a light process that each client starts, in front of the daemon that does the work.

It loads nothing but the standard library and the few modules of ``ir`` that do the same, so that a client sees the
tools a few hundredths of a second after it asked. Only where no daemon can run does it load the rest and work alone.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING, Any

from ir.errors import IrError
from ir.serve.conversation import Backend, Conversation
from ir.serve.frames import LONGEST, encode
from ir.serve.link import Call, Link
from ir.serve.offer import page

if TYPE_CHECKING:
    from ir.serve.alone import Alone

__all__ = ["Front", "main"]

#: How long answers are waited for after the client has closed its end.
_FINISH_S = 30.0


class Front:
    """Chooses who answers: the daemon, or from the moment that there can be none, this process."""

    def __init__(self, settings: Any) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._link = Link(lost=self._work_alone) if settings["daemon"] != "off" else None
        self._alone: Alone | None = None

    def backend(self) -> Backend:
        if self._alone is not None:
            return self._alone
        return self._link if self._link is not None else self._work_alone([])

    def warm(self) -> None:
        """Have whoever will answer get ready while the client looks at the tools."""
        if self._link is not None and self._alone is None:
            self._link.warm()

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
        if self._alone is not None:
            self._alone.close()

    def _work_alone(self, calls: list[Call]) -> Alone:
        with self._lock:
            if self._alone is None:
                from ir.serve.alone import Alone

                self._alone = Alone()
        for call in calls:
            self._alone.submit(call)
        return self._alone


def main() -> int:
    """Serve the client at stdin and stdout until it leaves."""
    from ir.config.settings import Settings

    output = _kept_for_messages()
    try:
        settings = Settings.load()
        offered = page(settings["mcp.tools"])
    except IrError as error:
        print(f"ir: {error}", file=sys.stderr)
        return error.exit_code
    writing = threading.Lock()

    def say(message: Any) -> None:
        data = encode(message)
        try:
            with writing:
                while data:
                    data = data[os.write(output, data) :]
        except OSError:
            os._exit(0)  # the client is gone

    front = Front(settings)
    conversation = Conversation(offered, front.backend, say)
    lines = sys.stdin.buffer
    warmed = False
    try:
        while line := lines.readline(LONGEST):
            if not line.strip():
                continue
            if len(line) == LONGEST and not line.endswith(b"\n"):
                while (more := lines.readline(LONGEST)) and not more.endswith(b"\n"):
                    pass
            conversation.hear(line)
            if not warmed and conversation.version is not None:
                warmed = True
                front.warm()
        conversation.finish(_FINISH_S)
    except KeyboardInterrupt:
        pass
    front.close()
    return 0


def _kept_for_messages() -> int:
    """A descriptor for stdout; whatever else is printed, by anybody in this process, goes to stderr."""
    sys.stdout.flush()
    output = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return output
