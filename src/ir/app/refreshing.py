"""Taking in what changed in a corpus that is registered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ir.app.arguments import TARGET
from ir.app.building import build_target
from ir.app.context import Context
from ir.app.embedders import embedder_for, fast_first
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.targets import Target
from ir.app.upgrading import see_to

__all__ = ["RefreshRequest", "RefreshResponse", "refresh"]


@dataclass(frozen=True)
class RefreshRequest(Value):
    """``wait=False`` asks for the work to be done aside, where whoever is asked can do that."""

    target: Annotated[str, TARGET] = "."
    wait: Annotated[bool, Arg("answer when it is done", flag="--wait/--no-wait", private=True)] = True


@dataclass(frozen=True)
class RefreshResponse(Value):
    """What changed, counted in artifacts. ``job`` is the name of work that goes on after the answer; ``status`` shows
    it while it runs."""

    corpus: str
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    skipped: int = 0
    failed: int = 0
    seconds: float | None = None
    job: str | None = None
    notes: tuple[str, ...] = ()


@operation(
    "refresh",
    summary="Take in what changed in the source of a corpus",
    effect="writes",
    runs_long=True,
    doors=("cli", "mcp", "http"),
)
def refresh(request: RefreshRequest, ctx: Context) -> RefreshResponse:
    target = ctx.target(request.target)
    target.require_built()
    if not request.wait and ctx.defer is not None:
        job = ctx.defer(f"refresh {target.name}", lambda later: _refreshed(target, later))
        return RefreshResponse(target.name, job=job, notes=(f"The work goes on as {job}.",))
    return _refreshed(target, ctx)


def _refreshed(target: Target, ctx: Context) -> RefreshResponse:
    from ir.index.builder import prunes

    source = target.source(ctx.settings)
    keeps = prunes(ctx.store(target.name))
    first = fast_first(target, None, ctx)
    embedder = embedder_for(target, None, ctx) if first is None else None
    made = build_target(target, source, embedder, ctx, prune=keeps, first=first)
    if first is not None:
        see_to(target, ctx, daemon=ctx.for_agent)
    return RefreshResponse(
        target.name,
        made.added,
        made.changed,
        made.removed,
        made.unchanged,
        len(made.skipped),
        len(made.failed),
        made.seconds,
        None,
        made.notes,
    )
