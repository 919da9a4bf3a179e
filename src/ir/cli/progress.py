"""Progress and notes on stderr: one live line at a terminal, a plain line every few seconds in a pipe or a log."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from ir.cli.streams import dim
from ir.cli.visible import one_line, visible
from ir.spans import told_seconds

__all__ = ["Reporter"]

#: Work that ends sooner than this needs no line: at a terminal, and elsewhere.
PATIENCE = 0.4
PLAIN_PATIENCE = 2.0
#: How often a plain line is written, and the live one drawn.
PLAIN_EVERY = 5.0
DRAW_EVERY = 0.1
#: The terminal writes ``^C`` where the line ends.
_SPARE = 3
_USUAL_WIDTH = 80


class Reporter:
    """The sink for an operation's progress and notes while one command runs.

    Lines are written by a thread of their own, so that they come also while a step takes long.
    """

    def __init__(self) -> None:
        self._live = _is_live()
        self._lock = threading.Lock()
        self._step: Any = None
        self._heard = self._stage_began = 0.0
        self._drawn = 0
        self._over = threading.Event()
        self._writer: threading.Thread | None = None
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        if self._writer is not None:
            self._writer.join(timeout=1.0)
            if self._writer.is_alive():  # nobody reads what it writes
                return
        self._wipe()

    def note(self, sentence: str) -> None:
        """Tell the user something that is not part of the result."""
        with self._lock:
            self._wipe()
            print(dim(f"ir: {visible(sentence)}"), file=sys.stderr, flush=True)

    def progress(self, step: Any) -> None:
        """Show how far a stage is; ``step`` is a :class:`ir.index.Progress`."""
        if step.estimate is not None:
            self.note(_announcement(step))
        now = time.monotonic()
        with self._lock:
            if self._step is None or (self._step.stage, self._step.part) != (step.stage, step.part):
                self._stage_began = now
            self._step, self._heard = step, now
        if self._writer is None:
            self._writer = threading.Thread(target=self._write, name="ir-progress", daemon=True)
            self._writer.start()

    def _write(self) -> None:
        patience = PATIENCE if self._live else PLAIN_PATIENCE
        self._over.wait(max(0.0, self._began + patience - time.monotonic()))
        while not self._over.is_set():
            with self._lock, suppress(OSError, ValueError):  # nobody can be told that nothing can be told
                self._draw() if self._live else self._log()
            self._over.wait(DRAW_EVERY if self._live else PLAIN_EVERY)

    def _log(self) -> None:
        if not self._step.ended:
            print(f"ir: {self._line()}", file=sys.stderr, flush=True)

    def _draw(self) -> None:
        if self._step.ended:
            self._wipe()
            return
        line = self._line()[: _width() - _SPARE]
        sys.stderr.write(f"\r{dim(line)}{' ' * (self._drawn - len(line))}")
        sys.stderr.flush()
        self._drawn = len(line)

    def _wipe(self) -> None:
        """Take the live line away, with the ``^C`` that may stand behind it."""
        if self._drawn:
            with suppress(OSError, ValueError):
                sys.stderr.write(f"\r{' ' * (self._drawn + _SPARE - 1)}\r")
                sys.stderr.flush()
            self._drawn = 0

    def _line(self) -> str:
        step, now = self._step, time.monotonic()
        said = [f"{step.stage}{_counts(step)}"]
        if step.rate:
            said.append(f"{step.rate:,.0f}/s" if step.rate >= 10 else f"{step.rate:.2g}/s")
        if step.left_s is not None:
            said.append(f"{told_seconds(step.left_s - (now - self._heard))} left")
        elif now - self._stage_began >= PLAIN_PATIENCE:
            said.append(f"{told_seconds(now - self._stage_began)} so far")
        return one_line(f"{step.part}: {', '.join(said)}" if step.part else ", ".join(said))


def _is_live() -> bool:
    """Whether stderr is a terminal on which a line can be written over."""
    return sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def _width() -> int:
    try:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return max(columns or _USUAL_WIDTH, 2 * _SPARE)


def _counts(step: Any) -> str:
    unit = f" {step.unit}" if step.unit else ""
    if step.total is None:
        return f" {step.done:,}{unit}" if step.done else ""
    about = "about " if step.about else ""
    return f" {step.done:,} of {about}{step.total:,}{unit}"


def _announcement(step: Any) -> str:
    told = step.estimate
    part = f"{step.part}: " if step.part else ""
    texts = f"{told.texts:,} texts" if step.total is not None and not step.about else f"about {told.texts:,} texts"
    said = f"{part}embedding {texts} takes about {told_seconds(told.seconds)} with {told.embedder!r}"
    if told.faster is None or told.faster_s is None or told.faster_s >= told.seconds / 2:
        return said
    return f"{said}; {told.faster!r} takes about {told_seconds(told.faster_s)}: --embedder {told.faster}"
