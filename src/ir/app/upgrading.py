"""Making a corpus better while it answers: who may start that, and what is said of it."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass, replace
from shlex import quote
from typing import TYPE_CHECKING, Annotated

from ir.app.arguments import TARGET
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.hints import first_time
from ir.app.operation import Value, operation
from ir.app.targets import Target, resolve
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.index.upgrade_job import Standing
    from ir.protocols import Store

__all__ = ["UpgradeRequest", "UpgradeResponse", "allowed", "complete", "see_to", "upgrade"]

_LOOK_S = 0.25
#: What services that run tests and builds set in the environment.
_SERVICES = ("CI", "CONTINUOUS_INTEGRATION", "BUILD_NUMBER", "JENKINS_URL", "TEAMCITY_VERSION", "TF_BUILD")


@dataclass(frozen=True)
class UpgradeRequest(Value):
    """``background`` as a search starts it: it gives way to everything else, and leaves it to another that is at it."""

    target: Annotated[str, TARGET]
    background: Annotated[
        bool,
        Arg(
            "give way to everything else, and leave it to another process that is at it",
            help="Give way to everything else; leave it to another that is at it.",
        ),
    ] = False


@dataclass(frozen=True)
class UpgradeResponse(Value):
    """``state`` is ``done``, ``current`` if there was nothing to do, or ``running`` if another process is at it.

    ``embedder`` answers from now on; ``embedded`` texts were read for it.
    """

    corpus: str
    state: str
    embedder: str | None
    embedded: int = 0


@operation("upgrade", summary="Make the better model's vectors of a corpus, which then answer", runs_long=True)
def upgrade(request: UpgradeRequest, ctx: Context) -> UpgradeResponse:
    from ir.index.upgrade import upgrade_of
    from ir.index.upgrade_job import do

    target = resolve(request.target)
    target.require_built()
    with ctx.store(target.name) as store:
        held = upgrade_of(store)
        if held is None:
            raise _given(target.name, str(store.get_config().get("embedder")))
        made: int | None = 0
        if not held.done:
            if request.background:
                from ir.system import lower_priority

                lower_priority()
                made = do(store, target.name)
            else:
                made = complete(store, target.name, ctx)
        state = "running" if made is None else "current" if held.done else "done"
        return UpgradeResponse(target.name, state, store.get_config().get("embedder_id"), made or 0)


def _given(name: str, embedder: str) -> InvalidInput:
    """A corpus that was given its model is not moved to another unasked."""
    from ir.embed import better_embedder

    better = better_embedder()
    to = "" if better is None else f" --embedder {quote(better)}"
    return InvalidInput(
        f"The corpus {name!r} was built with the embedder {embedder!r}, and waits for no other.",
        remedy=f"To move it to another: ir build {quote(name)}{to or ' --embedder NAME'}",
    )


def allowed(ctx: Context, asked: bool | None = None) -> bool:
    """Whether better vectors may be made in the background: where asked for, else where somebody sees it."""
    setting = ctx.settings["upgrade"]
    if asked is not None:
        return asked
    return setting == "always" or (setting == "auto" and ctx.background and not _in_service())


def _in_service() -> bool:
    """Whether this runs in a service that runs tests and builds, which may give it a terminal too."""
    return any(os.environ.get(name, "").lower() not in ("", "0", "false") for name in _SERVICES)


def complete(store: Store, name: str, ctx: Context) -> int:
    """Make the better vectors now, or wait for who is at it; how many were made here."""
    from ir.index import Progress
    from ir.index.upgrade_job import do, folder_of, is_running, standing

    while True:
        made = do(store, name, progress=ctx.progress)
        if made is not None:
            return made
        ctx.note(f"another process makes the vectors of {name!r}; waiting for it")
        while is_running(folder_of(store, name)):
            now = standing(store, name)
            if now is not None:
                ctx.progress(Progress("embed", now.done, now.total))
            time.sleep(_LOOK_S)
        if standing(store, name) is None:
            return 0


def see_to(
    target: Target,
    ctx: Context,
    *,
    asked: bool | None = None,
    wait: bool = False,
    mode: str | None = None,
    daemon: bool = False,
) -> None:
    """Let the better vectors be made if some are missing, and say what a search is answered by until they are.

    With ``wait`` they are made now. A ``daemon`` goes on by itself, and needs nobody to see that.
    """
    from ir.index import open_store
    from ir.index.upgrade import upgrade_of
    from ir.index.upgrade_job import standing

    with open_store(target.name) as store:
        held = upgrade_of(store)
        if held is None or held.done:
            return
        if wait:
            complete(store, target.name, ctx)
            return
        now = standing(store, target.name)
        if now is None:  # it was done just now
            return
        may = allowed(replace(ctx, background=True) if daemon else ctx, asked)
        begun = may and not now.running and _is_due(store, now) and _start(store, target.name)
        _tell(target.name, str(store.get_config()["embedder"]), replace(now, running=True) if begun else now, ctx, mode)


def _is_due(store: Store, now: Standing) -> bool:
    """Not right after a failure, and not where somebody calibrated floors for the fast model."""
    from ir.select.gate import AUTOMATIC

    return not now.paused and not set(store.calibration_modes()) - {AUTOMATIC}


def _tell(name: str, fast: str, now: Standing, ctx: Context, mode: str | None) -> None:
    from ir.index.upgrade_job import told_left

    by = {"lexical": "words", "dense": fast}.get(mode or str(ctx.settings["mode"]), f"words and {fast}")
    if now.running:
        left = told_left(now.seconds_left)
        share = f", {int(100 * now.share)} % done" if now.done else ""
        made = f"making {now.model} vectors in the background{share}{f' ({left})' if left else ''}"
        ctx.note(f"answered by {by}; {made}: ir info {quote(name)}")
    elif now.error:
        again = f"Try again: ir upgrade {quote(name)}"
        ctx.note(f"answered by {by}; making {now.model} vectors failed: {now.error} {again}")
    elif first_time("upgrade", name, now.to):
        ctx.note(f"answered by {by}; for {now.model} vectors: ir upgrade {quote(name)}")


def _start(store: Store, name: str) -> bool:
    """Start the job apart from this process; whether that could be done. Of several that start, one goes on."""
    from ir.config.workspace import current_workspace
    from ir.index.upgrade_job import LOG, folder_of
    from ir.system import start_apart

    folder = folder_of(store, name)
    command = [sys.executable, "-P", "-m", "ir", "upgrade", "--background", "--", name]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        start_apart(command, {**os.environ, "IR_WORKSPACE": current_workspace()}, folder / LOG)
    except OSError:  # a folder that is read-only, or a system that is out of processes: what is there answers
        return False
    return True
