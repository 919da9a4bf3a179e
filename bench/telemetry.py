"""``python -m bench.telemetry``: the CPU time that being watched adds to a call.

What a call tells is heard once and then told again and again, with nobody listening and with telemetry on: a search
takes a hundred times as long as being watched, and its time varies by more than that.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import thread_time
from timeit import repeat
from typing import Any

import ir
from ir import telemetry
from ir.app.session import Session
from ir.config.settings import Settings
from ir.events import Event, emit, listen

NUMBER, TURNS = 2000, 7
ON = Settings.load(flags={"telemetry.enabled": True})


def cost_us(call: Callable[[], Any], number: int = NUMBER) -> float:
    """Microseconds of this thread for a call: the least of some turns, which is the one that was disturbed least."""
    return min(repeat(call, number=number, repeat=TURNS, timer=thread_time)) / number * 1e6


def heard(call: Callable[[], Any]) -> list[Event]:
    """What a call tells."""
    events: list[Event] = []
    stop = listen(events.append)
    call()
    stop()
    return events


def told_again(events: list[Event]) -> Callable[[], None]:
    """A request in which all of that happens once more."""

    def tell() -> None:
        with telemetry.request("search", door="http"):
            for event in events:
                emit(event.name, event.value, event.steps, **event.labels)

    return tell


def main() -> int:
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {f"IR_{kind}_DIR": str(Path(home) / kind) for kind in ("CONFIG", "DATA", "CACHE", "RUNTIME")}
        ir.build(ir.CorpusSource.from_mapping({"a": "tea", "b": "bread"}, name="rows", embedder="light"))
        with Session() as session:
            for name, asked in (("search", "query"), ("ontology-query", "semantic_query")):
                events = heard(lambda: session.call(name, {asked: "tea", "target": "rows"}))  # noqa: B023
                off = cost_us(told_again(events))
                telemetry.configure(ON)
                on = cost_us(told_again(events))
                shown = cost_us(telemetry.metrics_text, number=50)
                telemetry.shutdown()
                print(f"{name:15} {len(events)} events: off {off:5.2f} µs, on {on:5.1f} µs; /metrics {shown:5.0f} µs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
