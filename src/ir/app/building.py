"""Indexing a corpus, or saying what indexing it would change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ir.app.context import Context
from ir.app.embedders import embedder_for
from ir.app.operation import Value, operation
from ir.app.targets import Target, resolve
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.index import BuildReport, Corpus
    from ir.sources import CorpusSource
    from ir.store import CorpusStore

__all__ = ["BuildRequest", "BuildResponse", "build", "build_target", "response_of"]


@dataclass(frozen=True)
class BuildRequest(Value):
    """``target`` is a corpus name or a path; without ``prune``, artifacts that left the source stay. With ``links``,
    what the fields ``deps`` and ``parent`` of artifacts name becomes their links, and every artifact is read for it.
    ``store`` is the address of a server to keep the corpus at from now on, or ``"local"`` for this machine.
    ``ray`` is the address of a Ray cluster to take artifacts apart and embed them on. ``language`` indexes the words of
    a corpus, also of one that was built in another, by that language's stems from now on."""

    target: str
    embedder: str | None = None
    prune: bool = True
    dry_run: bool = False
    links: bool = False
    ray: str | None = None
    store: str | None = None
    language: str | None = None


@dataclass(frozen=True)
class BuildResponse(Value):
    """What a build changed, or would change, counted in artifacts; a dry run also names them.

    ``skipped`` could not be read, ``failed`` could not be taken apart; each says why. Of what was added or changed,
    ``empty`` has no text to rank, and ``cut`` texts are longer than the ``reads`` tokens that the embedder reads.
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

    @property
    def changes(self) -> int:
        return self.added + self.changed + self.removed


@operation("build", summary="Index a corpus or a folder, or bring it up to date")
def build(request: BuildRequest, ctx: Context) -> BuildResponse:
    target = resolve(request.target)
    source = target.source(ctx.settings)
    if request.store is not None and request.dry_run:
        raise InvalidInput(
            "A dry run changes nothing, so it cannot change where a corpus is kept.",
            remedy="Leave out --dry-run or --store.",
        )
    with _kept_where(target, request.store, ctx):
        embedder = embedder_for(target, request.embedder, ctx)
        if request.dry_run:
            return _preview(target, source, embedder, ctx, prune=request.prune)
        return build_target(
            target,
            source,
            embedder,
            ctx,
            prune=request.prune,
            links=request.links,
            ray=request.ray,
            language=request.language,
        )


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
) -> BuildResponse:
    """Bring the corpus of ``target`` up to date and register the folder it was made from."""
    from ir.graph import default_edge_extractor

    store = ctx.store(target.name)
    corpus = _builder(ray)(
        source,
        store=store,
        embedder=embedder,
        full=prune,
        progress=ctx.progress,
        language=language or _language(store, ctx),
        edge_extractor=default_edge_extractor if links else None,
    )
    target.remember(str(corpus.store.get_config().get("embedder", embedder)), ctx.settings)
    assert corpus.report is not None, "a corpus that was just built has a report"
    made = response_of(target.name, corpus.report, embedder=corpus.embedder_id)
    return replace(made, reads=getattr(corpus.embedder, "max_tokens", None))


def _builder(ray: str | None) -> Callable[..., Corpus]:
    """Who builds: this process, or a cluster with it."""
    if ray is None:
        from ir.index import build as build_source

        return build_source
    from functools import partial

    from ir.index.parallel import build_on_ray

    return partial(build_on_ray, address=ray)


def _language(store: CorpusStore, ctx: Context) -> str | None:
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
        ids={"added": plan.added, "changed": plan.changed, "removed": plan.removed},
    )


def _problems(items: Iterable[Any]) -> tuple[dict[str, str], ...]:
    return tuple({"id": item.id, "reason": item.reason} for item in items)
