"""What can be asked now: each corpus, how large and how fresh it is, and what is being done to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from ir.app.context import Context
from ir.app.corpora import CorpusSummary, summary_of
from ir.app.fields import Arg
from ir.app.freshness import changes, freshness, git_of
from ir.app.operation import Value, operation
from ir.app.targets import may_see, visible_corpora
from ir.config.workspace import current_workspace
from ir.errors import IrError

__all__ = ["CorpusStatus", "StatusRequest", "StatusResponse", "status"]


@dataclass(frozen=True)
class StatusRequest(Value):
    """One corpus or all. ``check`` also looks for changes in the source, for no longer than the user has set."""

    target: Annotated[str | None, Arg("one corpus by name; without it, all", blank=False, metavar="[CORPUS|PATH]")] = (
        None
    )
    check: Annotated[bool, Arg("look for changed files, as long as that is quick", short="-c")] = False


@dataclass(frozen=True)
class CorpusStatus(Value):
    """``state`` is ``ready``, ``not built``, or what is wrong. ``stale``: the source has changes that the index has
    not, ``None`` if nobody looked or nobody can tell; ``changes`` says more. ``git`` is how the commit that was indexed
    stands to HEAD, for a folder in a repository. ``job`` is who is writing it just now."""

    name: str
    state: str
    built: bool
    artifacts: int | None = None
    records: int | None = None
    bytes: int = 0
    version: str | None = None
    content_version: str | None = None
    built_at: str | None = None
    embedder: str | None = None
    space: str | None = None
    kind: str | None = None
    origin: str | None = None
    stale: bool | None = None
    changes: str = ""
    job: str | None = None
    git: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class StatusResponse(Value):
    workspace: str
    corpora: tuple[CorpusStatus, ...]
    #: How many of them are held open by whoever answers.
    open: int = 0


@operation(
    "status",
    summary="Show which corpora can be asked, how fresh they are, and what is being done to them",
    effect="reads",
    doors=("cli", "mcp", "http"),
    scope="workspace",
)
def status(request: StatusRequest, ctx: Context) -> StatusResponse:
    if request.target is None:
        names = visible_corpora(ctx)
    else:
        target = ctx.target(request.target)
        if not target.built and target.path is not None:
            target.require_built()
        names = [target.name]
    found = []
    for name in names:
        ctx.check()
        found.append(_status(name, request, ctx))
    return StatusResponse(current_workspace(), tuple(found), _open_for(ctx))


def _open_for(ctx: Context) -> int:
    """How many corpora are held open of those that whoever asks may know of."""
    held = () if ctx.pool is None else ctx.pool.names()
    return sum(workspace == current_workspace() and may_see(name, ctx) for workspace, name in held)


def _status(name: str, request: StatusRequest, ctx: Context) -> CorpusStatus:
    summary = summary_of(name)
    more: dict[str, Any] = {"job": _job(name)}
    if summary.state == "ready":
        more |= _held(name)
        if request.check:
            more |= changes(name, ctx)
            if more["git"] is not None:
                more["changes"] = freshness(more["git"], more["changes"])
    return _of(summary, more)


def _of(summary: CorpusSummary, more: dict[str, Any]) -> CorpusStatus:
    return CorpusStatus(
        summary.name,
        summary.state,
        summary.built,
        summary.artifacts,
        summary.records,
        summary.bytes,
        embedder=summary.embedder,
        kind=summary.kind,
        origin=summary.origin,
        **more,
    )


def _held(name: str) -> dict[str, Any]:
    from ir.index import open_store

    with open_store(name) as store:
        config = store.get_config()
        return {
            "version": store.version,
            "content_version": store.content_version,
            "built_at": None if config.get("built_at") is None else str(config["built_at"]),
            "space": store.default_space,
            "git": git_of(config, name),
        }


def _job(name: str) -> str | None:
    """Who is writing the corpus, if that can be told."""
    from ir.config import corpus_dir
    from ir.index import on_disk
    from ir.store import LocalStore

    if not on_disk(name):
        return None
    try:
        return LocalStore(corpus_dir(name)).writer()
    except (IrError, OSError):
        return None
