"""Progress and notes on stderr: bars for a person, one line per note otherwise."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ir.cli.streams import dim
from ir.cli.visible import visible

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

__all__ = ["Reporter"]

#: Work that ends sooner than this needs no bar.
PATIENCE = 0.4


class Reporter:
    """The sink for an operation's progress and notes while one command runs."""

    def __init__(self) -> None:
        self._pretty = sys.stderr.isatty()
        self._bars: Bars | None = None
        self._tasks: dict[str, TaskID] = {}
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bars is not None:
            self._bars.stop()

    def note(self, sentence: str) -> None:
        """Tell the user something that is not part of the result."""
        sentence = visible(sentence)
        if self._bars is not None:
            self._bars.console.print(f"ir: {sentence}", markup=False, highlight=False, style="dim")
        else:
            print(dim(f"ir: {sentence}"), file=sys.stderr, flush=True)

    def progress(self, step: Any) -> None:
        """Show how far a stage is; ``step`` has ``stage``, ``done`` and ``total``."""
        if not self._pretty:
            return
        if self._bars is None:
            if time.monotonic() - self._began < PATIENCE:
                return
            self._bars = _bars()
        task = self._tasks.get(step.stage)
        if task is None:
            task = self._tasks[step.stage] = self._bars.add_task(step.stage, total=step.total)
        self._bars.update(task, completed=step.done, total=step.total)


def _bars() -> Bars:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:>9}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bars = Progress(*columns, console=Console(stderr=True), transient=True)
    bars.start()
    return bars
