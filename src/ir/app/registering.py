"""Giving a corpus a name, and removing one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ir.app.context import Context
from ir.app.corpora import disk_bytes
from ir.app.operation import Value, operation
from ir.app.targets import PATH_PARAMETERS, existing_path, on_disk, resolve
from ir.config import corpus_dir
from ir.errors import CorpusNotBuilt, InvalidInput
from ir.options import choice

__all__ = ["RegisterRequest", "RegisterResponse", "RemoveRequest", "RemoveResponse", "register", "remove"]


@dataclass(frozen=True)
class RegisterRequest(Value):
    """``path`` is the folder of kinds that are made from one; ``params`` are the kind's other parameters; ``store``
    is the address of a server to keep the corpus at."""

    name: str
    kind: str = "files"
    path: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    embedder: str | None = None
    store: str | None = None


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
        folder = existing_path(request.path)
        if folder is None:
            raise InvalidInput(f"There is no file or folder {request.path!r}.", remedy="Check the path.")
        parameter = PATH_PARAMETERS[choice("kind made from a path", request.kind, PATH_PARAMETERS)]
        params[parameter] = [str(folder)] if parameter == "roots" else str(folder)
    _check_required(request, params)
    if request.kind == "files" and "pattern" not in params:
        params.setdefault("all_text", True)  # what `ir search PATH` takes
    replaced = request.name in registered()
    entry = enter(request.name, request.kind, embedder=request.embedder or "default", store=request.store, **params)
    return RegisterResponse(request.name, entry, replaced)


def _check_required(request: RegisterRequest, params: Mapping[str, Any]) -> None:
    """What the kind cannot do without, asked for as a command takes it."""
    from ir.registry import KINDS

    required = KINDS[choice("kind of corpus", request.kind, KINDS)].required
    if not required or required in params:
        return
    by_path = required == PATH_PARAMETERS.get(request.kind)
    kind = "" if request.kind == "files" else f" --kind {request.kind}"
    raise InvalidInput(
        f"A corpus of kind {request.kind!r} needs {'a path' if by_path else repr(required)}.",
        remedy=f"Write: ir register {request.name}{' PATH' if by_path else ''}{kind}"
        + ("" if by_path else f" -p {required}=…"),
    )


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
    from ir.registry import registered, store_of, unregister
    from ir.store import LocalStore

    known = request.corpus in registered() or on_disk(request.corpus)
    name = request.corpus if known else resolve(request.corpus).name
    entered, built = name in registered(), on_disk(name)
    if not entered and not built:
        raise CorpusNotBuilt(f"There is no corpus named {name!r}.", remedy="`ir ls` lists the corpora.")
    folder = corpus_dir(name)
    size = disk_bytes(folder) if built else 0
    if not request.dry_run:
        if built:
            LocalStore(folder, lock_timeout=ctx.settings["lock_timeout_s"]).remove()
        if entered:
            address = store_of(name)
            unregister(name)
            if address is not None:
                ctx.note(f"what is kept at {address} stays there, for all others who use it")
    return RemoveResponse(name, request.dry_run, str(folder) if built else None, size, entered)
