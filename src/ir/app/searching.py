"""Searching a corpus or a folder; a folder that was never built is built first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ir.app.building import build_target
from ir.app.citation import Citation, cite
from ir.app.context import Context
from ir.app.embedders import embedder_for
from ir.app.operation import Value, operation
from ir.app.targets import Target, resolve
from ir.app.ways import search_options
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.base import SearchHit

__all__ = ["Found", "SearchRequest", "SearchResponse", "prepare", "search"]


@dataclass(frozen=True)
class SearchRequest(Value):
    """``target`` is a corpus name or a path. Options that are ``None`` are taken from the settings.

    ``rerank`` names a reranker, as :func:`ir.rerank.resolve_reranker` takes it.
    """

    query: str
    target: str = "."
    k: int | None = None
    mode: str | None = None
    fusion: str | None = None
    filter: Mapping[str, Any] | None = None
    surfaces: tuple[str, ...] = ()
    explain: bool = False
    embedder: str | None = None
    refresh: bool | None = None
    rerank: str | None = None


@dataclass(frozen=True)
class Found(Value):
    """A hit and where to read it."""

    rank: int
    hit: SearchHit
    citation: Citation

    def to_dict(self) -> dict[str, Any]:
        return {"rank": self.rank, **self.hit.to_dict(), **self.citation.to_dict()}


@dataclass(frozen=True)
class SearchResponse(Value):
    """Hits, best first. ``stale``: the source has changes that the index has not; ``None`` if nobody looked.

    ``words`` says for each term of the query as which word it was written.
    """

    query: str
    corpus: str
    found: tuple[Found, ...]
    stale: bool | None = None
    notes: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)


@operation("search", summary="Rank a corpus or a folder against a query", read_only=True)
def search(request: SearchRequest, ctx: Context) -> SearchResponse:
    from ir.analysis import analyzer_for, query_terms
    from ir.retrieve import search as search_corpus

    if not request.query.strip():
        raise InvalidInput("The query is empty.", remedy="Say what to look for.")
    _check_options(request, ctx)
    target = resolve(request.target)
    stale, notes = prepare(target, ctx, embedder=request.embedder, refresh=request.refresh)
    corpus = ctx.open(target.name, embedder=request.embedder)
    hits = search_corpus(
        corpus,
        request.query,
        k=ctx.settings["k"] if request.k is None else request.k,
        filter=request.filter,
        surfaces=request.surfaces or None,
        explain=request.explain,
        rerank=request.rerank,
        **search_options(corpus, ctx, mode=request.mode, fusion=request.fusion),
    )
    notes += hits.meta.get("notes", ())  # what is degraded has its reason there
    analyzer = analyzer_for(corpus.store.get_config().get("language") or "english")
    asked = analyzer.tokens(request.query, only=query_terms(analyzer, request.query))
    words = {term: request.query[token.start : token.end] for token in asked for term in token.terms}
    found = tuple(Found(rank, hit, cite(hit, words, analyzer)) for rank, hit in enumerate(hits, start=1))
    return SearchResponse(request.query, target.name, found, stale, tuple(notes), words, hits.meta)


def _check_options(request: SearchRequest, ctx: Context) -> None:
    """Find a wrong option before a folder is indexed for the sake of it."""
    from ir.options import SearchOptions

    SearchOptions.of(
        k=ctx.settings["k"] if request.k is None else request.k,
        mode=request.mode or ctx.settings["mode"],
        fusion=request.fusion or ctx.settings["fusion"],
        filter=request.filter,
        surfaces=request.surfaces or None,
    )
    if request.rerank is not None:
        from ir.rerank import resolve_reranker

        resolve_reranker(request.rerank)


def prepare(
    target: Target, ctx: Context, *, embedder: str | None, refresh: bool | None
) -> tuple[bool | None, list[str]]:
    """See to it that there is an index, as fresh as is cheap; whether it is stale, and what to tell about that."""
    from ir.index import not_built

    if not target.built:
        if target.path is None:
            raise not_built(target.name)
        _refuse_whole_home(target.path)
        ctx.note(f"indexing {target.path} as {target.name!r}")
        built = build_target(target, target.source(ctx.settings), embedder_for(target, embedder, ctx), ctx)
        notes = [f"{len(built.skipped)} files were left out; `ir build {target.name} --dry-run` lists them."]
        return False, notes if built.skipped else []
    wanted = ctx.settings["refresh"] if refresh is None else refresh
    return _refresh(target, ctx) if wanted else (None, [])


def _refresh(target: Target, ctx: Context) -> tuple[bool | None, list[str]]:
    from ir.index import refresh_if_cheap

    outcome = refresh_if_cheap(
        target.name if target.path is None else target.source(ctx.settings),
        scan_ms=ctx.settings["refresh_scan_ms"],
        max_changed=ctx.settings["refresh_max_changed"],
    )
    if outcome.refreshed:
        ctx.note(f"took in {outcome.changed} changed before searching")
    return outcome.stale, [f"The index may be stale. {outcome.reason}"] if outcome.stale else []


def _refuse_whole_home(path: Path) -> None:
    """Searching `.` in a home folder would index a whole life; that has to be asked for by `ir build`."""
    if path in (Path.home().resolve(), Path(path.anchor)):
        raise InvalidInput(
            f"{path} is too much to index on the way to a search.",
            remedy=f"Name a folder in it, or index it all on purpose with: ir build {path}",
        )
