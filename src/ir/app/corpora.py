"""The user's corpora: list them, look into one, name one, remove one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ir.app.context import Context
from ir.app.operation import Value, operation
from ir.app.targets import built_corpora, is_built, known_names, resolve
from ir.config import corpus_dir
from ir.errors import CorpusNotBuilt, InvalidInput, IrError
from ir.options import choice

__all__ = [
    "CorpusSummary",
    "InfoRequest",
    "InfoResponse",
    "ListRequest",
    "ListResponse",
    "RegisterRequest",
    "RegisterResponse",
    "RemoveRequest",
    "RemoveResponse",
    "info",
    "list_corpora",
    "register",
    "remove",
]


#: Under which name each kind of corpus takes the path it is made from.
_PATH_PARAMETERS = {
    "files": "root",
    "jsonl": "path",
    "mcp": "tools",
    "packages": "manifest",
    "reports": "projects_root",
    "sessions": "root",
    "skills": "roots",
}


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
    from ir.registry import registered

    target = resolve(request.target)
    entry = registered().get(target.name, {})
    about = {"kind": entry.get("kind"), "params": entry.get("params", {})}
    if not target.built:
        if target.path is not None and not entry:
            raise CorpusNotBuilt(
                f"{target.path} was never indexed.", remedy=f"Index it with: ir build {request.target}"
            )
        return InfoResponse(target.name, built=False, **about)
    with open_store(target.name) as store, store.snapshot() as snapshot:
        config = store.get_config()
        return InfoResponse(
            target.name,
            built=True,
            path=str(corpus_dir(target.name)),
            bytes=_bytes(corpus_dir(target.name)),
            artifacts=sum(1 for _ in store.ledger_items()),
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


@dataclass(frozen=True)
class RegisterRequest(Value):
    """``path`` is the folder of kinds that are made from one; ``params`` are the kind's other parameters."""

    name: str
    kind: str = "files"
    path: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    embedder: str | None = None


@dataclass(frozen=True)
class RegisterResponse(Value):
    name: str
    entry: Mapping[str, Any]
    replaced: bool


@operation("register", summary="Give a corpus a name")
def register(request: RegisterRequest, ctx: Context) -> RegisterResponse:
    from ir.registry import register as enter
    from ir.registry import registered

    params = dict(request.params)
    if request.path is not None:
        folder = Path(request.path).expanduser().resolve()
        if not folder.exists():
            raise InvalidInput(f"There is no file or folder {request.path!r}.", remedy="Check the path.")
        parameter = _PATH_PARAMETERS[choice("kind made from a path", request.kind, _PATH_PARAMETERS)]
        params[parameter] = [str(folder)] if parameter == "roots" else str(folder)
    if request.kind == "files" and "pattern" not in params:
        params.setdefault("all_text", True)  # what `ir search PATH` takes
    replaced = request.name in registered()
    entry = enter(request.name, request.kind, embedder=request.embedder or "default", **params)
    return RegisterResponse(request.name, entry, replaced)


@dataclass(frozen=True)
class RemoveRequest(Value):
    """``dry_run`` only says what would go."""

    corpus: str
    dry_run: bool = False


@dataclass(frozen=True)
class RemoveResponse(Value):
    """What went, or would go. The files that the corpus was made from are never touched."""

    corpus: str
    dry_run: bool
    path: str | None
    bytes: int
    registered: bool


@operation("rm", summary="Remove a corpus: its index and its registration")
def remove(request: RemoveRequest, ctx: Context) -> RemoveResponse:
    from ir.registry import registered, unregister

    name = request.corpus if request.corpus in known_names() else resolve(request.corpus).name
    entered, built = name in registered(), is_built(name)
    if not entered and not built:
        raise CorpusNotBuilt(f"There is no corpus named {name!r}.", remedy="`ir ls` lists the corpora.")
    folder = corpus_dir(name)
    size = _bytes(folder) if built else 0
    if not request.dry_run:
        if built:
            _delete(name, folder)
        if entered:
            unregister(name)
    return RemoveResponse(name, request.dry_run, str(folder) if built else None, size, entered)


def _delete(name: str, folder: Path) -> None:
    """Remove a corpus's folder in one step: out of sight by a rename first, so that no half of it is ever met."""
    import shutil

    from ir.errors import StoreUnwritable

    doomed = folder.with_name(f".{folder.name}.removed")
    try:
        shutil.rmtree(doomed, ignore_errors=True)
        folder.rename(doomed)
        shutil.rmtree(doomed)
    except OSError as error:
        raise StoreUnwritable(
            f"The corpus {name!r} in {folder} cannot be removed: {error.strerror or error}.",
            remedy="Check who may write to that folder.",
        ) from error


def _summary(name: str, entry: Mapping[str, Any] | None) -> CorpusSummary:
    entry = entry or {}
    params = entry.get("params", {})
    kind = entry.get("kind")
    given = params.get(_PATH_PARAMETERS.get(str(kind), ""))
    origin = ", ".join(map(str, given)) if isinstance(given, list) else _text(given)
    about: dict[str, Any] = {"kind": kind, "origin": origin or kind}
    if not is_built(name):
        return CorpusSummary(name, built=False, state="not built", embedder=entry.get("embedder"), **about)
    size = _bytes(corpus_dir(name))
    try:
        from ir.index import open_store

        with open_store(name) as store:
            return CorpusSummary(
                name,
                built=True,
                state="ready",
                bytes=size,
                artifacts=sum(1 for _ in store.ledger_items()),
                records=len(store),
                embedder=store.get_config().get("embedder_id"),
                **about,
            )
    except IrError as error:
        return CorpusSummary(name, built=True, state=f"broken: {error.message}", bytes=size, **about)


def _bytes(folder: Path) -> int:
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
