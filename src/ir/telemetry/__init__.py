"""What do those who watch it learn?

Off unless ``telemetry.enabled`` is set, and then nothing of OpenTelemetry is even imported. :func:`configure` turns it
on, :func:`metrics_text` is what Prometheus reads, and every operation is told to :func:`request`.

>>> from ir import telemetry
>>> telemetry.configure(), telemetry.metrics_text()
(False, None)
>>> with telemetry.request("search", door="python") as seen:
...     seen.outcome
'ok'
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ir.telemetry.recorder import Recorder

__all__ = ["CONTENT_TYPE", "Seen", "configure", "during", "is_on", "metrics_text", "request", "setup", "shutdown"]

#: Of what :func:`metrics_text` returns.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
#: So long, in seconds, a process that ends waits for its last figures to be taken.
LEAVING_S = 1.0


class Seen:
    """A request while it is watched. ``outcome`` is ``ok``, or the code of the error that it ended with.

    Who answers an error instead of raising it sets that code.
    """

    __slots__ = ("outcome",)

    def __init__(self) -> None:
        self.outcome = "ok"


_recorder: Recorder | None = None
_changing = threading.Lock()


def is_on() -> bool:
    """Whether anything is measured."""
    return _recorder is not None


def setup() -> bool:
    """Be on if the user's settings say so; for a process that begins. Whether it is on."""
    if _recorder is not None:
        return True
    from ir.config import Settings

    return configure(Settings.load())


def configure(
    settings: Mapping[str, Any] | None = None, *, meter_provider: Any = None, tracer_provider: Any = None
) -> bool:
    """Measure from now on as the settings say, or no longer; whether it is on.

    Who has providers of OpenTelemetry gives them: figures and spans go there, and whatever they export to is theirs.
    Else both are made here, known to nobody else in the process: figures for :func:`metrics_text`, and figures and
    spans for the collector at ``telemetry.otlp_endpoint``, if that is set.
    """
    global _recorder
    given = meter_provider is not None or tracer_provider is not None
    wanted = given or (settings is not None and settings["telemetry.enabled"])
    made: Recorder | None = None
    if wanted:
        from ir.telemetry.providers import given_providers, own_providers
        from ir.telemetry.recorder import Recorder

        about = settings if settings is not None else {}
        providers = given_providers(meter_provider, tracer_provider) if given else own_providers(about)
        made = Recorder(providers, query_text=bool(about.get("telemetry.query_text")))
    with _changing:
        before, _recorder = _recorder, made
    if before is not None:
        _end(before)
    return made is not None


def shutdown() -> None:
    """Hand over the last figures and spans, and measure no more. A collector that is away is not waited for."""
    global _recorder
    with _changing:
        before, _recorder = _recorder, None
    if before is not None:
        _end(before)


@contextmanager
def during(settings: Mapping[str, Any]) -> Iterator[None]:
    """Measure what a short process does, and hand it over. Nobody could read it there, so it needs a collector."""
    if not settings["telemetry.enabled"] or settings["telemetry.otlp_endpoint"] is None:
        yield
        return
    configure(settings)
    try:
        yield
    finally:
        shutdown()


def metrics_text() -> bytes | None:
    """All figures in the text format of Prometheus; ``None`` while nothing is measured."""
    recorder = _recorder
    return None if recorder is None else recorder.text()


def request(operation: str, *, door: str, query: str | None = None) -> AbstractContextManager[Seen]:
    """Watch what is done in the block as one request for an operation, through a door.

    A request inside of another is a part of it and not counted by itself. ``query`` is what was asked; it is left out
    unless the user has set ``telemetry.query_text``.
    """
    recorder = _recorder
    return nullcontext(Seen()) if recorder is None else recorder.request(Seen(), operation, door, query)


def _end(recorder: Recorder) -> None:
    from ir.waiting import TookTooLong, within

    recorder.deafen()
    with suppress(TookTooLong):
        within(LEAVING_S, recorder.close, "ir-telemetry")
