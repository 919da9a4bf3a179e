"""The user's corpora: list them, look into one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ir.app.context import Context
from ir.app.operation import Value, operation
from ir.app.targets import PATH_PARAMETERS, built_corpora, is_built, resolve
from ir.config import corpus_dir
from ir.errors import IrError

__all__ = [
    "CorpusSummary",
    "InfoRequest",
    "InfoResponse",
    "ListRequest",
    "ListResponse",
    "disk_bytes",
    "info",
    "list_corpora",
]


@dataclass(frozen=True)
class ListRequest(Value):
    """All corpora: registered, built or both."""


@dataclass(frozen=True)
class CorpusSummary(Value):
    """One line of the list. ``state`` is ``ready``, ``not built`` or what is wrong with it."""

    name: str
    built: bool
    state: str
    bytes: int = 0
    artifacts: int | None = None
    records: int | None = None
    embedder: str | None = None
    kind: str | None = None
    origin: str | None = None


@dataclass(frozen=True)
class ListResponse(Value):
    corpora: tuple[CorpusSummary, ...]


@operation("ls", summary="List the corpora", read_only=True)
def list_corpora(request: ListRequest, ctx: Context) -> ListResponse:
    from ir.registry import registered

    entries = registered()
    return ListResponse(tuple(_summary(name, entries.get(name)) for name in sorted({*entries, *built_corpora()})))


@dataclass(frozen=True)
class InfoRequest(Value):
    target: str


@dataclass(frozen=True)
class InfoResponse(Value):
    """All that is known of a corpus without searching it."""

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
    built_at: str | None = None
    calibrated: tuple[str, ...] = ()
    kind: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)


@operation("info", summary="Show what a corpus holds and what it was made from", read_only=True)
def info(request: InfoRequest, ctx: Context) -> InfoResponse:
    from ir.index import open_store
    from ir.registry import registered, store_of

    target = resolve(request.target)
    entry = registered().get(target.name, {})
    about = {"kind": entry.get("kind"), "params": entry.get("params", {})}
    if not target.built:
        if target.path is not None and not entry:
            target.require_built()
        return InfoResponse(target.name, built=False, **about)
    with open_store(target.name) as store, store.snapshot() as snapshot:
        config = store.get_config()
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
            built_at=_text(config.get("built_at")),
            calibrated=tuple(store.calibration_modes()),
            **about,
        )


def _summary(name: str, entry: Mapping[str, Any] | None) -> CorpusSummary:
    entry = entry or {}
    params = entry.get("params", {})
    kind = entry.get("kind")
    given = params.get(PATH_PARAMETERS.get(str(kind), ""))
    origin = ", ".join(map(str, given)) if isinstance(given, list) else _text(given)
    about: dict[str, Any] = {"kind": kind, "origin": origin or kind}
    size = disk_bytes(corpus_dir(name))
    try:
        from ir.index import open_store

        if not is_built(name):
            return CorpusSummary(name, built=False, state="not built", embedder=entry.get("embedder"), **about)
        with open_store(name) as store:
            return CorpusSummary(
                name,
                built=True,
                state="ready",
                bytes=size,
                artifacts=len(store.ledger_fields("artifact_id")),
                records=len(store),
                embedder=store.get_config().get("embedder_id"),
                **about,
            )
    except IrError as error:
        return CorpusSummary(name, built=True, state=f"broken: {error.message}", bytes=size, **about)


def disk_bytes(folder: Path) -> int:
    """Disk use; a file that two generations share by a hard link counts once."""
    seen: dict[tuple[int, int], int] = {}
    for path in folder.rglob("*"):
        try:
            stat = path.stat()
        except OSError:
            continue
        if path.is_file():
            seen[stat.st_dev, stat.st_ino] = stat.st_size
    return sum(seen.values())


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
