"""Getting rid of what nothing refers to any more: in corpora, and among cached embeddings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.context import Context
from ir.app.corpora import disk_bytes
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.targets import resolve
from ir.config import corpora_dir, embeddings_cache_dir, safe_name
from ir.errors import CorpusBusy, InvalidInput, IrError

if TYPE_CHECKING:
    from ir.store.leftovers import Leftover
    from ir.store.local import LocalStore

__all__ = ["CleanRequest", "CleanResponse", "CleanedItem", "clean"]


@dataclass(frozen=True)
class CleanRequest(Value):
    """The named corpora, or all on this machine with what is cached for them; ``dry_run`` only says what would go.

    ``compact`` also writes anew what still holds remains of deleted records. ``space`` is dropped from the one corpus
    that is named.
    """

    targets: Annotated[
        tuple[str, ...], Arg("only these corpora, and no caches", blank=False, metavar="[CORPUS...]")
    ] = ()
    dry_run: Annotated[bool, Arg("only say what would be removed", short="-n")] = False
    compact: Annotated[bool, Arg("write corpora anew; nothing of a deleted text is left then")] = False
    space: Annotated[str | None, Arg("drop this space of vectors from the corpus", blank=False, metavar="NAME")] = None


@dataclass(frozen=True)
class CleanedItem(Value):
    """``state`` is ``removed`` (``due`` in a dry run), ``kept`` for the reason in ``detail``, or ``compact``: it goes
    only with that."""

    corpus: str | None
    what: str
    name: str
    bytes: int
    state: str
    detail: str = ""


@dataclass(frozen=True)
class CleanResponse(Value):
    """``bytes`` were freed, or would be."""

    dry_run: bool
    compact: bool
    bytes: int
    items: tuple[CleanedItem, ...]

    @property
    def more(self) -> int:
        """How many bytes more compaction would free."""
        return sum(item.bytes for item in self.items if item.state == "compact")

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "items": [item.to_dict() for item in self.items]}


@operation(
    "gc",
    summary="Remove what nothing refers to any more: old generations, remains, unused caches",
    effect="writes",
    runs_long=True,
    scope="workspace",
)
def clean(request: CleanRequest, ctx: Context) -> CleanResponse:
    if request.space is not None and len(request.targets) != 1:
        raise InvalidInput(
            "A space is dropped from one corpus.", remedy=f"Name it: ir gc CORPUS --space {request.space}"
        )
    items = list(_named(request, ctx) if request.targets else _everything(request, ctx))
    gone = ("due",) if request.dry_run else ("removed",)
    freed = sum(item.bytes for item in items if item.state in gone)
    return CleanResponse(request.dry_run, request.compact, freed, tuple(items))


def _named(request: CleanRequest, ctx: Context) -> Iterator[CleanedItem]:
    from ir.index.progress import Ticker
    from ir.store.leftovers import Cleanable

    ticker = Ticker(ctx.progress, "clean", len(request.targets), unit="corpora")
    for word in request.targets:
        target = resolve(word)
        target.require_built()
        ticker.tell()
        with ctx.store(target.name) as store:
            if request.space is not None:
                yield _drop(store, target.name, request.space, dry_run=request.dry_run)
            if isinstance(store, Cleanable):
                yield from _cleaned(store, target.name, request)
            else:
                ctx.note(f"{target.name} is kept on a server, which gives free what is deleted by itself")
        ticker.tick()
    ticker.end()


def _everything(request: CleanRequest, ctx: Context) -> Iterator[CleanedItem]:
    from ir.index.progress import Ticker
    from ir.store.local import LocalStore
    from ir.store.local.scratch import abandoned

    stores = [
        LocalStore(path.parent, lock_timeout=ctx.settings["lock_timeout_s"])
        for path in sorted(corpora_dir().glob("[!.]*/corpus.db"))
    ]
    ticker = Ticker(ctx.progress, "clean", len(stores), unit="corpora")
    for store in stores:
        ticker.tell()
        with store:
            try:
                yield from _cleaned(store, store.path.name, request)
            except CorpusBusy as error:
                yield CleanedItem(store.path.name, "corpus", store.path.name, 0, "kept", error.message)
            except IrError as error:
                yield CleanedItem(store.path.name, "corpus", store.path.name, 0, "kept", f"broken: {error.message}")
        ticker.tick()
    ticker.end()
    yield from _removed("removed corpus", corpora_dir().glob(".*.removed"), request, "")
    yield from _removed("temporary folder", abandoned(), request, "")
    unused, why = _unused_caches(stores)
    yield from _removed("cached embeddings", unused, request, why)


def _cleaned(store: Any, name: str, request: CleanRequest) -> Iterator[CleanedItem]:
    from ir.index.allowance import note_usage

    found: list[Leftover] = store.leftovers() if request.dry_run else store.clean(compact=request.compact)
    if not request.dry_run:
        note_usage(store, name)
    for one in found:
        state = "kept" if one.kept else "due" if request.dry_run else "removed"
        if one.compacting and not request.compact:
            state = "compact"
        yield CleanedItem(name, one.what, one.name, one.bytes, state, one.kept)


def _drop(store: Any, corpus: str, space: str, *, dry_run: bool) -> CleanedItem:
    """Drop a space, with the files that were made of it; the default one is refused by the store."""
    from ir.store.checks import unknown_space

    spaces = store.spaces()
    if space not in spaces:
        raise unknown_space(space, spaces)
    with store.snapshot() as snapshot:
        size = (len(snapshot) - snapshot.unembedded(space)) * (spaces[space] or 0) * 4
    if dry_run and space != store.default_space:
        return CleanedItem(corpus, "space", space, size, "due")
    with store.transaction():
        store.drop_space(space)
    return CleanedItem(corpus, "space", space, size, "removed")


def _removed(what: str, folders: Iterable[Path], request: CleanRequest, kept: str) -> Iterator[CleanedItem]:
    import shutil

    for folder in sorted(folders):
        size = disk_bytes(folder)
        if kept or request.dry_run:
            yield CleanedItem(None, what, folder.name, size, "kept" if kept else "due", kept)
            continue
        shutil.rmtree(folder, ignore_errors=True)
        left = folder.exists()
        yield CleanedItem(
            None, what, folder.name, size, "kept" if left else "removed", "it cannot be removed" if left else ""
        )


def _unused_caches(stores: Iterable[LocalStore]) -> tuple[list[Path], str]:
    """The folders of cached vectors whose model no corpus of the workspace names, and why they must stay all the same.

    Which of a model's vectors are in use could only be told by reading every text of every corpus, so they are not
    looked at one by one; the longest unused ones go when a cache is full.
    """
    from ir.embed.models import canonical_name
    from ir.registry import entered

    home = embeddings_cache_dir("any").parent
    if not home.is_dir():
        return [], ""
    used = {canonical_name(entry["embedder"]) for entry in entered().values() if entry.get("embedder")}
    why = ""
    for store in stores:
        writer = store.writer()
        if writer is not None:
            why = f"{store.path.name} is being written by {writer}"
        try:
            with store:
                config = store.get_config()
        except IrError:
            why = f"{store.path.name} cannot be read, so nobody knows what it needs"
            continue
        described = [config, *(config.get("spaces") or {}).values()]
        used.update(str(one["embedder_id"]) for one in described if one.get("embedder_id"))
    kept = {safe_name(name) for name in used}
    return [folder for folder in home.iterdir() if folder.is_dir() and folder.name not in kept], why
