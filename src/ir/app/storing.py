"""Moving a corpus between stores, and keeping a server's tables up to date."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.targets import resolve
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.store.base import BaseStore

__all__ = ["CopyRequest", "CopyResponse", "MigrateRequest", "MigrateResponse", "copy", "migrate"]


@dataclass(frozen=True)
class CopyRequest(Value):
    """``source`` and ``target`` are corpus names, folders or addresses; ``overwrite`` empties a target first."""

    source: Annotated[
        str,
        Arg("a corpus name, a folder or an address such as postgresql://host/db", blank=False, metavar="FROM"),
    ]
    target: Annotated[str, Arg("where to put it: a name, a folder or an address", blank=False, metavar="TO")]
    overwrite: Annotated[bool, Arg("empty a target that holds a corpus first", flag="--force", short="-f")] = False
    batch: Annotated[
        int, Arg("copy so many records at a time", min=1, metavar="N", help="Copy N records at a time.")
    ] = 1000


@dataclass(frozen=True)
class CopyResponse(Value):
    """``already_there`` were brought by an earlier attempt; ``checksum`` is of the records, on both sides."""

    source: str
    target: str
    records: int
    ledger: int
    links: int
    calibrations: int
    written: int
    already_there: int
    exact: bool
    checksum: str
    content_version: str


@dataclass(frozen=True)
class MigrateRequest(Value):
    """``target`` is the address of a corpus on a server."""

    target: Annotated[str, Arg("the address of a corpus on a server", blank=False, metavar="ADDRESS")]


@dataclass(frozen=True)
class MigrateResponse(Value):
    target: str
    before: int
    after: int


@operation("copy", summary="Copy a corpus from one store to another", effect="writes", runs_long=True)
def copy(request: CopyRequest, ctx: Context) -> CopyResponse:
    from ir.store.opening import without_password
    from ir.transfer import copy_store

    with _source(request.source, ctx) as source, _target(request.target, ctx) as target:
        done = copy_store(source, target, overwrite=request.overwrite, batch=request.batch, progress=ctx.progress)
    return CopyResponse(
        source=without_password(request.source),
        target=without_password(request.target),
        records=done.records,
        ledger=done.ledger,
        links=done.links,
        calibrations=done.calibrations,
        written=done.written,
        already_there=done.already_there,
        exact=done.exact,
        checksum=done.sums["records"].partition(" ")[2],
        content_version=done.content_version,
    )


@operation("migrate", summary="Bring the tables of a corpus on a server up to date", effect="writes", runs_long=True)
def migrate(request: MigrateRequest, ctx: Context) -> MigrateResponse:
    from ir.index import Progress
    from ir.store.opening import engine_of, names_server, scheme_of, without_password

    shown = without_password(request.target)
    engine = engine_of(scheme_of(request.target) or "") if names_server(request.target) else None
    bring = getattr(engine, "migrate", None)
    if bring is None:
        raise InvalidInput(
            f"{shown} has no tables that need migrating.", remedy="Give the address of a corpus in PostgreSQL."
        )
    ctx.progress(Progress("migrate", 0, None))
    before, after = bring(request.target)
    ctx.progress(Progress("migrate", 1, 1))
    return MigrateResponse(shown, before, after)


def _source(word: str, ctx: Context) -> BaseStore:
    """The store of a corpus that is there: by its address, its own folder, its name or what it was made from."""
    from ir.store.opening import open_store, scheme_of

    if scheme_of(word) is not None or (Path(word).expanduser() / "corpus.db").is_file():
        return open_store(word)
    target = resolve(word)
    target.require_built()
    return ctx.store(target.name)


def _target(word: str, ctx: Context) -> BaseStore:
    """The store at an address, in a folder (a word that looks like a path), or of a corpus name."""
    from ir.index.allowance import within_quota
    from ir.registry import check_name
    from ir.store.opening import open_store, scheme_of, without_password

    if scheme_of(word) is not None:
        return within_quota(open_store(word), without_password(word))
    if word.startswith((".", "~")) or os.sep in word:
        return open_store(str(Path(word).expanduser()))
    return ctx.store(check_name(word))
