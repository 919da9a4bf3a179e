"""Indexing a corpus, or saying what indexing it would change."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import EMBEDDER, TARGET, UPGRADE
from ir.app.context import Context
from ir.app.embedders import FastFirst, embedder_for, fast_first
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.targets import Target, cut_as_text, resolve
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.index import BuildReport, Corpus
    from ir.sources import CorpusSource
    from ir.store.base import BaseStore

__all__ = ["BuildRequest", "BuildResponse", "build", "build_target", "response_of", "upgraded"]


@dataclass(frozen=True)
class BuildRequest(Value):
    """``target`` is a corpus name or a path; without ``prune``, artifacts that left the source stay. With ``links``,
    what the fields ``deps`` and ``parent`` of artifacts name becomes their links, and every artifact is read for it.
    ``store`` is the address of a server to keep the corpus at from now on, or ``"local"`` for this machine.
    ``ray`` is the address of a Ray cluster to take artifacts apart and embed them on. ``language`` indexes the words of
    a corpus, also of one that was built in another, by that language's stems from now on. Without an ``embedder`` of
    its own a new corpus is embedded by the fast model first, then by the best on this machine; with ``upgrade`` false
    by the fast one alone."""

    target: Annotated[str, TARGET]
    embedder: Annotated[str | None, EMBEDDER] = None
    prune: Annotated[
        bool,
        Arg(
            "drop what is no longer in the source",
            flag="--keep",
            negated=True,
            help="Keep what is no longer in the source.",
        ),
    ] = True
    dry_run: Annotated[bool, Arg("only list what would change", short="-n")] = False
    links: Annotated[
        bool,
        Arg(
            "also make links from the fields deps and parent",
            help="Also make links from the fields deps and parent; ir graph shows them.",
        ),
    ] = False
    ray: Annotated[
        str | None,
        Arg(
            "work on the Ray cluster at host:port; local starts one here",
            blank=False,
            private=True,
            metavar="ADDRESS",
            complete=("local",),
        ),
    ] = None
    store: Annotated[
        str | None,
        Arg(
            "keep it at postgresql://host/db, milvus://host or mongodb://host from now on; or local",
            blank=False,
            private=True,
            metavar="ADDRESS",
            complete=("local",),
        ),
    ] = None
    language: Annotated[
        str | None,
        Arg(
            "index words in this language from now on; none: as they are",
            blank=False,
            metavar="NAME",
            complete="ir.app.arguments:languages",
        ),
    ] = None
    upgrade: Annotated[bool | None, UPGRADE] = None


@dataclass(frozen=True)
class BuildResponse(Value):
    """What a build changed, or would change, counted in artifacts; a dry run also names them.

    ``skipped`` could not be read, ``failed`` could not be taken apart; each says why. Of what was added or changed,
    ``empty`` has no text to rank, and ``cut`` texts are longer than the ``reads`` tokens that the embedder reads.
    ``notes`` say what is to be known of the whole, as why the corpus is empty; ``remarks`` of single items that were
    taken, as the encoding that had to be found out.
    """

    corpus: str
    dry_run: bool
    added: int
    changed: int
    removed: int
    unchanged: int
    skipped: tuple[dict[str, str], ...] = ()
    failed: tuple[dict[str, str], ...] = ()
    records: int | None = None
    embedded: int | None = None
    embedder: str | None = None
    seconds: float | None = None
    ids: Mapping[str, Sequence[str]] | None = None
    empty: int = 0
    cut: int = 0
    reads: int | None = None
    notes: tuple[str, ...] = ()
    remarks: tuple[dict[str, str], ...] = ()

    @property
    def changes(self) -> int:
        return self.added + self.changed + self.removed


@operation(
    "build",
    summary="Index a corpus or a folder, or bring it up to date",
    effect="writes",
    runs_long=True,
    doors=("cli", "http"),
)
def build(request: BuildRequest, ctx: Context) -> BuildResponse:
    target = _read_as_code(ctx.target(request.target) if ctx.for_agent else resolve(request.target), ctx)
    source = target.source(ctx.settings)
    if request.store is not None and request.dry_run:
        raise InvalidInput(
            "A dry run changes nothing, so it cannot change where a corpus is kept.",
            remedy="Leave out --dry-run or --store.",
        )
    with _kept_where(target, request.store, ctx):
        first = None if request.ray else fast_first(target, request.embedder, ctx)
        embedder = embedder_for(target, request.embedder, ctx) if first is None else None
        if request.dry_run:
            return _preview(target, source, embedder or _fast(target, first), ctx, prune=request.prune)
        if request.embedder is not None and target.built:
            _give_model(target, ctx)
        made = build_target(
            target,
            source,
            embedder,
            ctx,
            prune=request.prune,
            links=request.links,
            ray=request.ray,
            language=request.language,
            first=first,
        )
        return made if first is None else upgraded(made, ctx, asked=request.upgrade)


def _read_as_code(target: Target, ctx: Context) -> Target:
    """A folder of code that was cut as text, because nothing better was there, is read as code from now on."""
    folder = cut_as_text(target)
    if folder is None:
        return target
    ctx.note(f"{target.name!r} is mostly code, so its files are read as definitions and links from now on")
    return replace(target, path=folder, as_code=True)


def upgraded(made: BuildResponse, ctx: Context, *, asked: bool | None = None) -> BuildResponse:
    """What a build made, once the better model has read it too; who builds waits for that, unless told not to."""
    from ir.app.upgrading import complete

    if asked is False or (asked is None and ctx.settings["upgrade"] == "never"):
        return made
    began = time.perf_counter()
    with ctx.store(made.corpus) as store:
        try:
            count = complete(store, made.corpus, ctx)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"interrupted; what was built answers by words and {made.embedder}, ir upgrade {made.corpus} goes on"
            ) from None
        embedder = store.get_config().get("embedder_id")
    seconds = (made.seconds or 0.0) + time.perf_counter() - began
    return replace(made, embedder=embedder, embedded=(made.embedded or 0) + count, seconds=round(seconds, 3))


def _fast(target: Target, first: FastFirst | None) -> Any:
    """What a build by the fast model first would embed with."""
    from ir.index import open_store
    from ir.index.upgrade import built_by, fast_embedder

    if target.built:
        with open_store(target.name) as store:
            return built_by(store)
    return None if first is None else fast_embedder(first.fast, first.window)


def _give_model(target: Target, ctx: Context) -> None:
    """A corpus that is given a model waits for no better one any more."""
    from ir.index.upgrade import forget

    with ctx.store(target.name) as store:
        forget(store)


def _kept_where(target: Target, address: str | None, ctx: Context) -> AbstractContextManager[None]:
    if address is None:
        return nullcontext()
    return target.keeping_at(None if address == "local" else address, ctx.settings)


def build_target(
    target: Target,
    source: CorpusSource,
    embedder: Any,
    ctx: Context,
    *,
    prune: bool = True,
    links: bool = False,
    ray: str | None = None,
    language: str | None = None,
    first: FastFirst | None = None,
) -> BuildResponse:
    """Bring the corpus of ``target`` up to date and register the folder it was made from.

    What is made by the fast model ``first`` is complete once the better one has read it.
    """
    import warnings

    from ir.graph import default_edge_extractor
    from ir.index.builder import EmptyCorpus

    _check_folder(target)
    store = ctx.store(target.name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EmptyCorpus)  # what is warned about is also among the notes
        corpus = _builder(ray, embedder, first)(
            source,
            store=store,
            full=prune,
            progress=ctx.progress,
            language=language or _language(store, ctx),
            edge_extractor=default_edge_extractor if links else None,
        )
    _settle_preset(target, ctx, found=len(corpus.store) > 0)
    chosen = str(corpus.store.get_config().get("embedder", embedder)) if first is None else "default"
    target.remember(chosen, ctx.settings)
    assert corpus.report is not None, "a corpus that was just built has a report"
    made = response_of(target.name, corpus.report, embedder=corpus.embedder_id)
    return replace(made, reads=getattr(corpus.embedder, "max_tokens", None) if first is None else first.window)


def _check_folder(target: Target) -> None:
    """A folder's corpus is called after its path, and another machine may have a folder of that path too."""
    from ir.registry import elsewhere

    if target.path is not None and elsewhere(target.name):
        raise InvalidInput(
            f"Another machine has a corpus of a folder {target.path}, and it is kept in the same database.",
            remedy=f"Give this one a name of its own: ir register NAME {target.path}",
        )


def _settle_preset(target: Target, ctx: Context, *, found: bool) -> None:
    """Register a preset that was built for the first time; say so where a folder was built that is called like one."""
    from ir.registry import enter_preset

    preset = target.instead_of
    if preset is not None:
        ctx.note(
            f"{preset} is the folder {target.path} here; the preset of that name is built after: "
            f"ir register {preset} --kind {preset}"
        )
    if target.path is not None or not found:  # where nothing was found is no place to look again
        return
    entry = enter_preset(target.name)
    places = [place for value in (entry or {}).get("params", {}).values() for place in _list(value)]
    if places:
        ctx.note(
            f"{target.name} is from now on what is in {', '.join(places)}; "
            f"elsewhere: ir register {target.name} PATH --kind {target.name}"
        )


def _list(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]


def _builder(ray: str | None, embedder: Any, first: FastFirst | None) -> Callable[..., Corpus]:
    """Who builds: this process, or a cluster with it; and by which models."""
    from functools import partial

    if first is not None:
        from ir.index.upgrade import build_fast

        return partial(build_fast, **first._asdict())
    if ray is None:
        from ir.index import build as build_source

        return partial(build_source, embedder=embedder)
    from ir.index.parallel import build_on_ray

    return partial(build_on_ray, address=ray, embedder=embedder)


def _language(store: BaseStore, ctx: Context) -> str | None:
    """The language of a new corpus; one that was built keeps its own."""
    from ir.index import is_built

    return None if is_built(store) else str(ctx.settings["language"])


def response_of(name: str, report: BuildReport, *, embedder: str | None = None) -> BuildResponse:
    """What a build's report says, as a response."""
    return BuildResponse(
        corpus=name,
        dry_run=False,
        added=len(report.added),
        changed=len(report.changed),
        removed=len(report.removed),
        unchanged=len(report.unchanged),
        skipped=_problems(report.skipped),
        failed=_problems(report.failed),
        records=report.records,
        embedded=report.embedded,
        embedder=embedder,
        seconds=round(report.seconds, 3),
        empty=report.empty,
        cut=report.cut,
        notes=tuple(report.notes),
        remarks=_problems(report.remarks),
    )


def _preview(target: Target, source: CorpusSource, embedder: Any, ctx: Context, *, prune: bool) -> BuildResponse:
    from ir.index import open_store, plan_build

    store = open_store(target.name) if target.built else None
    plan = plan_build(source, store=store, embedder=embedder, full=prune, progress=ctx.progress)
    return BuildResponse(
        corpus=target.name,
        dry_run=True,
        added=len(plan.added),
        changed=len(plan.changed),
        removed=len(plan.removed),
        unchanged=len(plan.unchanged),
        skipped=_problems(plan.skipped),
        failed=_problems(plan.failed),
        remarks=_problems(plan.remarks),
        ids={"added": plan.added, "changed": plan.changed, "removed": plan.removed},
    )


def _problems(items: Iterable[Any]) -> tuple[dict[str, str], ...]:
    return tuple({"id": item.id, "reason": item.reason} for item in items)
