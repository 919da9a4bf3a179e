"""Keeping a corpus up to date while its folder changes."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ir.app.building import BuildResponse, build_target, response_of
from ir.app.context import Context
from ir.app.embedders import embedder_for
from ir.app.operation import Value, operation
from ir.app.targets import resolve

if TYPE_CHECKING:
    from ir.index import BuildReport

__all__ = ["WatchRequest", "WatchResponse", "watch"]


@dataclass(frozen=True)
class WatchRequest(Value):
    """``rounds`` ends the watch after so many updates; ``poll`` looks every two seconds instead of being told."""

    target: str
    embedder: str | None = None
    rounds: int | None = None
    poll: bool = False


@dataclass(frozen=True)
class WatchResponse(Value):
    """What the watch did: how many updates changed something, and how many artifacts they touched."""

    corpus: str
    updates: int
    changes: int


@operation("watch", summary="Keep a corpus up to date while its folder changes")
def watch(request: WatchRequest, ctx: Context) -> WatchResponse:
    from ir.index import watch as watch_source
    from ir.index.builder import prunes

    target = resolve(request.target)
    source = target.source(ctx.settings)
    embedder = embedder_for(target, request.embedder, ctx)
    store = ctx.store(target.name)
    ctx.note(_sentence(build_target(target, source, embedder, ctx, prune=prunes(store))))
    stop = threading.Event()
    updates: list[BuildResponse] = []

    def heard(report: BuildReport | None, error: Exception | None) -> None:
        if report is None:
            ctx.note(f"not updated: {error}")
            return
        updates.append(response_of(target.name, report))
        ctx.note(_sentence(updates[-1]))
        if request.rounds is not None and len(updates) >= request.rounds:
            stop.set()

    with suppress(KeyboardInterrupt):
        ctx.note("watching for changes; Ctrl-C ends it")
        watch_source(source, store, on_change=heard, stop=stop, embedder=embedder, poll=request.poll)
    return WatchResponse(target.name, len(updates), sum(update.changes for update in updates))


def _sentence(done: BuildResponse) -> str:
    parts = [("added", done.added), ("changed", done.changed), ("removed", done.removed)]
    what = ", ".join(f"{count} {word}" for word, count in parts if count)
    return f"{done.corpus}: {what or 'up to date'}"
