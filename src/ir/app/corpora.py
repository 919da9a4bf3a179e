"""The user's corpora: list them, look into one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import TARGET
from ir.app.context import Context
from ir.app.freshness import changes, freshness, git_of
from ir.app.operation import Value, operation
from ir.app.targets import PATH_PARAMETERS, folder_gone, is_built, visible_corpora
from ir.config import corpus_dir
from ir.config.workspace import DEFAULT_WORKSPACE, current_workspace
from ir.errors import IrError

if TYPE_CHECKING:
    from ir.protocols import Store

__all__ = [
    "CorpusSummary",
    "InfoRequest",
    "InfoResponse",
    "ListRequest",
    "ListResponse",
    "disk_bytes",
    "info",
    "list_corpora",
    "summary_of",
]


@dataclass(frozen=True)
class ListRequest(Value):
    """All corpora: registered, built or both."""


@dataclass(frozen=True)
class CorpusSummary(Value):
    """One line of the list. ``state`` is ``ready``, ``not built`` or what is wrong with it.

    ``gone``: nothing is left of what it was made from; it can be searched, and not be built again.
    ``upgrade`` says how far a better model is that takes over once it has read everything.
    """

    name: str
    built: bool
    state: str
    bytes: int = 0
    artifacts: int | None = None
    records: int | None = None
    embedder: str | None = None
    kind: str | None = None
    origin: str | None = None
    gone: bool = False
    upgrade: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class ListResponse(Value):
    """``presets`` are the names that can be built without being registered, and were not yet."""

    corpora: tuple[CorpusSummary, ...]
    presets: tuple[str, ...] = ()


@operation("ls", summary="List the corpora", effect="reads", doors=("cli", "mcp", "http"), scope="workspace")
def list_corpora(request: ListRequest, ctx: Context) -> ListResponse:
    from ir.registry import entered, presets

    entries = entered()
    names = visible_corpora(ctx)
    waiting = () if ctx.for_agent else tuple(name for name in presets() if name not in names)
    return ListResponse(tuple(summary_of(name, entries.get(name, {})) for name in names), waiting)


@dataclass(frozen=True)
class InfoRequest(Value):
    """``target`` is a corpus name, or the path that one was made from."""

    target: Annotated[str, TARGET]


@dataclass(frozen=True)
class InfoResponse(Value):
    """All that is known of a corpus without searching it.

    ``upgrade`` says how far a better model is that takes over once it has read everything. ``git`` is what was checked
    out when a folder in a repository was indexed, and how that stands to HEAD; ``freshness`` says it in words, with
    what is known of changed files. ``branches`` are those that were looked at, with the bytes that each view takes up.
    """

    name: str
    built: bool
    path: str | None = None
    bytes: int = 0
    artifacts: int | None = None
    records: int | None = None
    surfaces: tuple[str, ...] = ()
    embedder: str | None = None
    dim: int | None = None
    language: str | None = None
    version: str | None = None
    content_version: str | None = None
    spaces: tuple[str, ...] = ()
    workspace: str = DEFAULT_WORKSPACE
    built_at: str | None = None
    calibrated: tuple[str, ...] = ()
    kind: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    upgrade: Mapping[str, Any] | None = None
    git: Mapping[str, Any] | None = None
    freshness: str | None = None
    branches: Mapping[str, int] = field(default_factory=dict)


@operation(
    "info", summary="Show what a corpus holds and what it was made from", effect="reads", doors=("cli", "mcp", "http")
)
def info(request: InfoRequest, ctx: Context) -> InfoResponse:
    from ir.index import open_store
    from ir.index.branches import branches_of
    from ir.registry import registered, store_of
    from ir.select.gate import AUTOMATIC

    target = ctx.target(request.target)
    entry = registered().get(target.name, {})
    about = {"kind": entry.get("kind"), "params": entry.get("params", {})}
    if not target.built:
        if target.path is not None and not entry:
            target.require_built()
        return InfoResponse(target.name, built=False, **about)
    with open_store(target.name) as store, store.snapshot() as snapshot:
        config = store.get_config()
        git = git_of(config, target.name)
        return InfoResponse(
            target.name,
            built=True,
            path=store_of(target.name) or str(corpus_dir(target.name)),
            bytes=disk_bytes(corpus_dir(target.name)),
            artifacts=len(store.ledger_fields("artifact_id")),
            records=len(snapshot),
            surfaces=tuple(sorted(snapshot.kinds())),
            embedder=config.get("embedder_id"),
            dim=config.get("dim"),
            language=config.get("language") or "english",
            version=snapshot.version,
            content_version=snapshot.content_version,
            spaces=tuple(sorted(snapshot.spaces())),
            workspace=current_workspace(),
            built_at=_text(config.get("built_at")),
            calibrated=tuple(mode for mode in store.calibration_modes() if mode != AUTOMATIC),
            upgrade=_upgrade(store, target.name),
            git=git,
            freshness=None if git is None else freshness(git, changes(target.name, ctx)["changes"]),
            branches=branches_of(store, target.name) if git is not None else {},
            **about,
        )


def summary_of(name: str, entry: Mapping[str, Any] | None = None) -> CorpusSummary:
    """One line of the list; ``entry`` is what the registry has of it, if that was read already."""
    from ir.registry import entered

    entry = entered().get(name, {}) if entry is None else entry
    params = entry.get("params", {})
    kind = entry.get("kind")
    given = params.get(PATH_PARAMETERS.get(str(kind), ""))
    origin = ", ".join(map(str, given)) if isinstance(given, list) else _text(given)
    about: dict[str, Any] = {"kind": kind, "origin": origin or kind, "gone": folder_gone(name, entry)}
    size = disk_bytes(corpus_dir(name))
    try:
        from ir.index import open_store

        if not is_built(name):
            return CorpusSummary(name, built=False, state="not built", embedder=entry.get("embedder"), **about)
        with open_store(name) as store:
            return CorpusSummary(
                name,
                built=True,
                state="folder gone" if about["gone"] else "ready",
                bytes=size,
                artifacts=len(store.ledger_fields("artifact_id")),
                records=len(store),
                embedder=store.get_config().get("embedder_id"),
                upgrade=_upgrade(store, name),
                **about,
            )
    except IrError as error:
        return CorpusSummary(name, built=True, state=f"broken: {error.message}", bytes=size, **about)


def _upgrade(store: Store, name: str) -> dict[str, Any] | None:
    from ir.index.upgrade_job import standing

    now = standing(store, name)
    return None if now is None else now.to_dict()


def disk_bytes(folder: Path) -> int:
    """Disk use; a file that two generations share by a hard link counts once. What goes away meanwhile does not."""
    seen: dict[tuple[int, int], int] = {}
    for place, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                stat = Path(place, name).stat()
                seen[stat.st_dev, stat.st_ino] = stat.st_size
    return sum(seen.values())


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
