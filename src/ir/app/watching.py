"""Keeping a corpus up to date while its folder changes."""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import EMBEDDER, TARGET
from ir.app.building import BuildResponse, build_target, response_of
from ir.app.context import Context
from ir.app.embedders import embedder_for, fast_first
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.targets import resolve
from ir.app.upgrading import see_to

if TYPE_CHECKING:
    from ir.index import BuildReport, Corpus
    from ir.protocols import Source, Store

__all__ = ["WatchRequest", "WatchResponse", "watch"]


@dataclass(frozen=True)
class WatchRequest(Value):
    """``rounds`` ends the watch after so many updates; ``poll`` looks every two seconds instead of being told."""

    target: Annotated[str, TARGET]
    embedder: Annotated[str | None, EMBEDDER] = None
    rounds: Annotated[
        int | None,
        Arg("end after so many updates", min=1, metavar="N", help="End after N updates instead of on Ctrl-C."),
    ] = None
    poll: Annotated[bool, Arg("look every two seconds; for network folders")] = False


@dataclass(frozen=True)
class WatchResponse(Value):
    """What the watch did: how many updates changed something, and how many artifacts they touched."""

    corpus: str
    updates: int
    changes: int


@operation("watch", summary="Keep a corpus up to date while its folder changes", effect="writes", runs_long=True)
def watch(request: WatchRequest, ctx: Context) -> WatchResponse:
    from ir.index import build as build_source
    from ir.index import watch as watch_source
    from ir.index.builder import prunes

    target = resolve(request.target)
    source = target.source(ctx.settings)
    first = fast_first(target, request.embedder, ctx)
    embedder = embedder_for(target, request.embedder, ctx) if first is None else None
    store = ctx.store(target.name)
    ctx.note(_sentence(build_target(target, source, embedder, ctx, prune=prunes(store), first=first)))
    if first is not None:
        see_to(target, ctx, daemon=True)
    stop = threading.Event()
    updates: list[BuildResponse] = []

    def heard(report: BuildReport | None, error: Exception | None) -> None:
        if report is None:
            ctx.note(f"not updated: {error}")
            return
        updates.append(response_of(target.name, report))
        ctx.note(_sentence(updates[-1]))
        if first is not None:
            see_to(target, ctx, daemon=True)
        if request.rounds is not None and len(updates) >= request.rounds:
            stop.set()

    with suppress(KeyboardInterrupt):
        ctx.note("watching for changes; Ctrl-C ends it")
        watch_source(
            source,
            store,
            on_change=heard,
            stop=stop,
            embedder=embedder,
            poll=request.poll,
            builder=build_source if first is None else _fast,
        )
    return WatchResponse(target.name, len(updates), sum(update.changes for update in updates))


def _fast(source: Source, *, store: Store, embedder: Any, full: bool) -> Corpus:
    """Take changes in by words and fast vectors at once."""
    from ir.index.upgrade import build_fast

    return build_fast(source, store=store, full=full)


def _sentence(done: BuildResponse) -> str:
    parts = [("added", done.added), ("changed", done.changed), ("removed", done.removed)]
    what = ", ".join(f"{count} {word}" for word, count in parts if count)
    return f"{done.corpus}: {what or 'up to date'}"
