"""Workspaces for tenants: make one with what it may hold, list them, remove one with all that is in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.context import Context
from ir.app.corpora import disk_bytes
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.config import cache_dir, config_dir, data_dir
from ir.config.workspace import DEFAULT_WORKSPACE, in_workspace, workspace_folder, workspace_name
from ir.errors import InvalidInput, IrError, NotFound
from ir.protocols import WithParts

if TYPE_CHECKING:
    from ir.access import Access, Quota, Token

__all__ = [
    "HeldCorpus",
    "WorkspaceCreateRequest",
    "WorkspaceLine",
    "WorkspaceListRequest",
    "WorkspaceListResponse",
    "WorkspaceQuotaRequest",
    "WorkspaceRemoveRequest",
    "WorkspaceRemoveResponse",
    "create_workspace",
    "list_workspaces",
    "remove_workspace",
    "set_quota",
]

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
_UNITS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}

NAME = Arg("the name of a workspace", blank=False, metavar="NAME")
RECORDS = Arg("how many records it may hold", min=0, metavar="N", help="Let it hold N records.")
DISK = Arg(
    "how much it may hold on disk, such as 10GB", blank=False, metavar="SIZE", help="Let it take up SIZE: 500MB, 10GB."
)
REQUESTS = Arg("how many requests a minute it may make", min=1, metavar="N", help="Allow N requests a minute.")


@dataclass(frozen=True)
class WorkspaceLine(Value):
    """A workspace: what it holds, and what it may (``None``: whatever it likes). ``made`` is false for one that is
    only in use; ``problems`` say which of its corpora could not be measured."""

    name: str
    made: bool
    corpora: int
    records: int
    bytes: int
    tokens: int
    most_records: int | None = None
    most_bytes: int | None = None
    requests_per_minute: int | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class WorkspaceCreateRequest(Value):
    """What it may hold and ask; nothing limits what is not given."""

    name: Annotated[str, NAME]
    records: Annotated[int | None, RECORDS] = None
    disk: Annotated[str | None, DISK] = None
    requests: Annotated[int | None, REQUESTS] = None


@dataclass(frozen=True)
class WorkspaceQuotaRequest(Value):
    """What is not given stays as it is; with ``unlimited`` it is without a limit from now on."""

    name: Annotated[str, NAME]
    records: Annotated[int | None, RECORDS] = None
    disk: Annotated[str | None, DISK] = None
    requests: Annotated[int | None, REQUESTS] = None
    unlimited: Annotated[
        bool, Arg("drop the limits that are not given", help="quota: drop the limits that are not given.")
    ] = False


@dataclass(frozen=True)
class WorkspaceListRequest(Value):
    """All workspaces that were made or are in use."""


@dataclass(frozen=True)
class WorkspaceListResponse(Value):
    workspaces: tuple[WorkspaceLine, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"workspaces": [one.to_dict() for one in self.workspaces]}


@dataclass(frozen=True)
class WorkspaceRemoveRequest(Value):
    """``dry_run`` only says what would go."""

    name: Annotated[str, NAME]
    dry_run: Annotated[bool, Arg("only say what would be removed", short="-n")] = False


@dataclass(frozen=True)
class HeldCorpus(Value):
    """A corpus of a workspace, where it is kept, and what it takes up; ``problem`` says why that cannot be told."""

    name: str
    kept_at: str
    records: int = 0
    bytes: int = 0
    problem: str = ""


@dataclass(frozen=True)
class WorkspaceRemoveResponse(Value):
    """What went, or would go: corpora wherever they are kept, ``parts`` of servers that no name leads to any more,
    folders, and the tokens that were revoked."""

    name: str
    dry_run: bool
    corpora: tuple[HeldCorpus, ...]
    parts: tuple[str, ...]
    folders: tuple[str, ...]
    tokens: tuple[str, ...]
    bytes: int

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "corpora": [one.to_dict() for one in self.corpora]}


@operation("workspace-create", summary="Make a workspace, with what it may hold", effect="writes", scope="machine")
def create_workspace(request: WorkspaceCreateRequest, ctx: Context) -> WorkspaceLine:
    from ir.access import Quota, open_access

    with open_access() as access:
        access.create_workspace(request.name, Quota(request.records, _bytes(request.disk), request.requests))
        return _measured(request.name, access)


@operation("workspace-quota", summary="Change what a workspace may hold", effect="writes", scope="machine")
def set_quota(request: WorkspaceQuotaRequest, ctx: Context) -> WorkspaceLine:
    from ir.access import Quota, open_access

    given = {
        "records": request.records,
        "bytes": _bytes(request.disk),
        "requests_per_minute": request.requests,
    }
    named = {name: value for name, value in given.items() if value is not None}
    if not named and not request.unlimited:
        raise InvalidInput("Say what it may hold.", remedy="Give --records, --disk or --requests, or --unlimited.")
    with open_access() as access:
        before = Quota() if request.unlimited else access.quota(workspace_name(request.name))
        access.set_quota(request.name, replace(before, **named))
        return _measured(request.name, access)


@operation("workspaces", summary="List the workspaces", effect="reads", scope="machine")
def list_workspaces(request: WorkspaceListRequest, ctx: Context) -> WorkspaceListResponse:
    from ir.access import open_access

    with open_access() as access:
        made = {one.name: one.quota for one in access.workspaces()} if access.exists() else {}
        tokens = access.tokens() if access.exists() else []
    names = sorted({DEFAULT_WORKSPACE, *made, *_in_use()})
    return WorkspaceListResponse(tuple(_line(name, made.get(name), tokens) for name in names))


@operation("workspace-rm", summary="Remove a workspace with all that is in it", effect="writes", scope="machine")
def remove_workspace(request: WorkspaceRemoveRequest, ctx: Context) -> WorkspaceRemoveResponse:
    from ir.access import open_access

    name = workspace_name(request.name)
    if name == DEFAULT_WORKSPACE:
        raise InvalidInput("The default workspace cannot be removed.", remedy="Remove its corpora: ir rm CORPUS")
    with open_access() as access:
        kept = access.exists()
        with in_workspace(name):
            corpora = tuple(_held())
            parts = _nameless(corpora)
            folders = tuple(folder for folder in _folders() if folder.is_dir())
        tokens = [one for one in access.tokens(name) if one.state() == "active"] if kept else []
        if not (corpora or parts or folders or tokens or (kept and access.workspace(name))):
            raise NotFound(f"There is no workspace {name!r}.", remedy="`ir workspace ls` lists them.")
        size = sum(one.bytes for one in corpora if one.kept_at != _HERE) + sum(map(disk_bytes, folders))
        if not request.dry_run:
            unknown = [one for one in corpora if one.problem]
            if unknown:
                raise InvalidInput(
                    f"The corpus {unknown[0].name!r} cannot be removed now: {unknown[0].problem} Nothing was removed.",
                    remedy="Make its store reachable, or remove the corpus alone: ir rm CORPUS.",
                )
            if kept:
                access.remove_workspace(name)  # first, so that nobody asks for what is half gone
            with in_workspace(name):
                _remove(corpora, folders, ctx)
                for address, left in parts.items():
                    _drop(address, left)
    nameless = tuple(name for left in parts.values() for name in left)
    ended = tuple(one.id for one in tokens)
    return WorkspaceRemoveResponse(name, request.dry_run, corpora, nameless, tuple(map(str, folders)), ended, size)


#: Where a corpus is that is kept on this machine.
_HERE = "this machine"


def _remove(corpora: tuple[HeldCorpus, ...], folders: tuple[Path, ...], ctx: Context) -> None:
    import shutil

    from ir.app.registering import RemoveRequest, remove

    for one in corpora:
        ctx.check()
        remove(RemoveRequest(one.name, everywhere=True), ctx)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            ctx.note(f"{folder} cannot be removed; do it by hand")


def _measured(name: str, access: Access) -> WorkspaceLine:
    """What a workspace holds, noted so that its quota can be kept from now on."""
    from ir.access import Usage

    quota = access.quota(name)
    if quota.records is not None or quota.bytes is not None:
        with in_workspace(name):
            held = {one.name: Usage(one.records, one.bytes) for one in _held() if not one.problem}
        access.note_usage(name, {**dict.fromkeys(access.usage_of_corpora(name)), **held})
    return _line(name, quota, access.tokens(name))


def _line(name: str, quota: Quota | None, tokens: list[Token]) -> WorkspaceLine:
    from ir.access import Quota

    with in_workspace(name):
        held = list(_held())
    most = quota or Quota()
    return WorkspaceLine(
        name,
        quota is not None,
        len(held),
        sum(one.records for one in held),
        sum(one.bytes for one in held),
        sum(one.workspace == name and one.state() == "active" for one in tokens),
        most.records,
        most.bytes,
        most.requests_per_minute,
        tuple(f"{one.name}: {one.problem}" for one in held if one.problem),
    )


def _held() -> Iterator[HeldCorpus]:
    """The corpora of the current workspace; those that are only registered hold nothing."""
    from ir.app.targets import built_corpora
    from ir.index import store_for
    from ir.registry import entered, store_of

    for name in sorted({*entered(), *built_corpora()}):
        where = store_of(name) or _HERE
        try:
            with store_for(name) as store:
                yield HeldCorpus(name, where, len(store), store.taken_up())
        except IrError as error:
            yield HeldCorpus(name, where, problem=error.message)


def _nameless(corpora: Iterable[HeldCorpus]) -> dict[str, list[str]]:
    """What servers keep for the current workspace beside its corpora, by address: those whose names were removed."""
    from ir.registry.shared import by_default
    from ir.store.opening import for_corpus, open_store

    default = by_default()
    named = [one.kept_at for one in corpora if one.kept_at != _HERE and not one.problem]
    seen: set[str] = set()
    there: dict[str, list[str]] = {}
    for address in [*named, *([] if default is None else [for_corpus(default, "any")])]:
        with open_store(address) as store:
            if isinstance(store, WithParts):
                seen.update(store.own_parts() if address in named else ())
                there[address] = store.workspace_parts()
    found: dict[str, list[str]] = {}
    for address, parts in there.items():
        found[address] = [part for part in parts if part not in seen]
        seen.update(parts)  # two addresses may lead to one server
    return {address: parts for address, parts in found.items() if parts}


def _drop(address: str, parts: Sequence[str]) -> None:
    from ir.store.opening import open_store

    with open_store(address) as store:
        if isinstance(store, WithParts):
            store.drop_parts(parts)


def _in_use() -> set[str]:
    """The workspaces that have folders on this machine."""
    found = set()
    for home in (data_dir(), config_dir()):
        with suppress(OSError):
            found |= {path.name for path in (home / "workspaces").iterdir() if path.is_dir()}
    return {name for name in found if _is_name(name)}


def _is_name(name: str) -> bool:
    try:
        return workspace_name(name) == name
    except InvalidInput:
        return False


def _folders() -> list[Path]:
    return [workspace_folder(home) for home in (data_dir(), config_dir(), cache_dir())]


def _bytes(text: str | None) -> int | None:
    """A number of bytes, as people write it.

    >>> _bytes("10GB"), _bytes("1.5 MiB"), _bytes("2000")
    (10000000000, 1572864, 2000)
    """
    if text is None:
        return None
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise InvalidInput(f"{text!r} is no size.", remedy="Write for instance 500MB, 10GB or 2TiB.")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** _UNITS[found[2].lower()])
