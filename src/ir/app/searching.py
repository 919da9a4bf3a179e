"""Searching corpora that are built."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import (
    ALIASES,
    CHAPTERS,
    EMBEDDER,
    FILTER,
    FUSION,
    GRAPH,
    GRAPH_FIRST,
    MODE,
    QUERY,
    RANKING,
    SURFACES,
    K,
)
from ir.app.citation import Citation, cite
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.freshness import git_of
from ir.app.operation import Value, operation
from ir.app.places import View, view
from ir.app.search_defaults import graph_option, search_options
from ir.errors import InvalidInput

if TYPE_CHECKING:
    from ir.analysis import Analyzer
    from ir.base import Hits, SearchHit
    from ir.index import Corpus

__all__ = ["Floor", "Found", "SearchRequest", "SearchResponse", "found_in", "opened", "search"]

#: A branch that differs in more files is not read on the way to an agent's answer.
MOST_CHANGED = 2000


@dataclass(frozen=True)
class SearchRequest(Value):
    """``target`` is a corpus name or a path, or several. Options that are ``None`` are taken from the settings."""

    query: Annotated[str, QUERY]
    target: Annotated[str | tuple[str, ...], Arg("a corpus by name, or several", blank=False, max_items=20)] = "."
    k: Annotated[int | None, K] = None
    mode: Annotated[str | None, MODE] = None
    fusion: Annotated[str | None, FUSION] = None
    filter: Annotated[Mapping[str, Any] | None, FILTER] = None
    surfaces: Annotated[tuple[str, ...], SURFACES] = ()
    explain: Annotated[bool, Arg("say why each result is where it is", short="-e")] = False
    embedder: Annotated[str | None, EMBEDDER] = None
    rerank: Annotated[
        str | None,
        Arg(
            "read the best again: maxsim, cross-encoder:MODEL, http:MODEL",
            metavar="NAME",
            complete=("maxsim", "cross-encoder:", "http:"),
            bare=True,
            setting="retrieval.reranker",
        ),
    ] = None
    words: Annotated[str | None, Arg("the words to look for, if other than the query", metavar="TEXT", blank=False)] = (
        None
    )
    meaning: Annotated[
        str | None, Arg("what to compare by meaning, if other than the query", metavar="TEXT", blank=False)
    ] = None
    per_file: Annotated[
        int | None,
        Arg(
            "how many results of one file, if they are apart",
            min=1,
            max=1000,
            clamp=True,
            metavar="N",
            help="How many results of one file, if they are apart (2).",
        ),
    ] = None
    globs: Annotated[
        tuple[str, ...],
        Arg(
            "only files like '*.py'; '!*.md' leaves these out",
            flag="--glob",
            short="-g",
            metavar="PATTERN",
            help="Only files like '*.py'; '!*.md': not these. Repeatable.",
            max_items=50,
        ),
    ] = ()
    branch: Annotated[
        str | None,
        Arg(
            "as another git branch has the files",
            metavar="NAME",
            blank=False,
            max_chars=1000,
            help="As another git branch has the files, which is not checked out.",
        ),
    ] = None
    ranking: Annotated[str | None, RANKING] = None
    graph: Annotated[str | None, GRAPH] = None
    chapters: Annotated[int | None, CHAPTERS] = None
    graph_first: Annotated[bool, GRAPH_FIRST] = False
    aliases: Annotated[bool, ALIASES] = False


@dataclass(frozen=True)
class Found(Value):
    """A hit, where to read it, under which headings it stands, and which words of the query are in its excerpt."""

    rank: int
    hit: SearchHit
    citation: Citation
    matched: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        more = {"matched": list(self.matched)}
        return {"rank": self.rank, **self.hit.to_dict(), **self.citation.to_dict(), **more}

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        from ir.app.schema import HIT_OPTIONAL, hit_properties, object_of, schema_of

        place = schema_of(Citation)["properties"]
        more = {"matched": schema_of(tuple[str, ...])}
        return object_of({"rank": schema_of(int), **hit_properties(), **place, **more}, optional=HIT_OPTIONAL)


@dataclass(frozen=True)
class Floor(Value):
    """How near the best hit of a corpus came to the score below which nothing there counts as an answer.

    ``reads`` says of what both are; ``origin`` what the floor was made from. Without a floor both are ``None``.
    """

    corpus: str
    floor: float | None
    best: float | None
    reads: str
    origin: str | None
    below: bool


@dataclass(frozen=True)
class SearchResponse(Value):
    """Hits, best first. ``stale``: the source has changes that the index has not; ``None`` if nobody looked.

    ``words`` says for each term of the query as which word it was written. ``corpus`` is the one that was asked, or
    the names of several. ``doubtful``: every corpus that has a floor is below it, so that nothing here may answer.
    """

    query: str
    corpus: str
    found: tuple[Found, ...]
    stale: bool | None = None
    notes: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    corpora: tuple[str, ...] = ()
    floors: tuple[Floor, ...] = ()
    doubtful: bool = False


def check_options(request: SearchRequest, ctx: Context) -> None:
    """Find a wrong option before anything is done for it."""
    from ir.options import SearchOptions

    if not request.target:
        raise InvalidInput("Give at least one corpus to search.")
    SearchOptions.of(
        k=ctx.settings["k"] if request.k is None else request.k,
        mode=request.mode or ctx.settings["mode"],
        fusion=request.fusion or ctx.settings["fusion"],
        filter=request.filter,
        surfaces=request.surfaces or None,
        per_artifact=ctx.settings["per_file"] if request.per_file is None else request.per_file,
    )
    if request.rerank is not None:
        from ir.rerank import resolve_reranker

        resolve_reranker(request.rerank)


@operation(
    "search",
    summary="Rank a corpus or a folder against a query",
    effect="reads",
    doors=("cli", "mcp", "http"),
    precheck=check_options,
)
def search(request: SearchRequest, ctx: Context) -> SearchResponse:
    words = (request.target,) if isinstance(request.target, str) else request.target
    if not words:
        raise InvalidInput("Give at least one corpus to search.")
    seen = [view(word, ctx) for word in words]
    views = {one.target.name: one for one in seen}
    corpora = {name: opened(one, request, ctx) for name, one in views.items()}
    asked: dict[str, Hits] = {}
    for name, corpus in corpora.items():
        ctx.check()
        asked[name] = _ask(corpus, views[name], request, ctx)
        git = git_of(corpus.store.get_config(), name, views[name].root)
        if git is not None:
            asked[name].meta["git"] = git
    ranked = next(iter(asked.values())) if len(asked) == 1 else _merged(asked, request, ctx)
    notes = [note for one in seen for note in one.notes]
    notes += [note for hits in asked.values() for note in hits.meta.get("notes", ())]  # what is degraded has its reason
    floors = tuple(_floor(corpora[name], hits, request.rerank, notes, ctx) for name, hits in asked.items())
    analyzers = {name: analyzer_of(corpus, ctx) for name, corpus in corpora.items()}
    written = words_of(request.words or request.query, next(iter(analyzers.values())))
    found = found_in(ranked, written, analyzers)
    held = [floor for floor in floors if floor.floor is not None]
    return SearchResponse(
        request.query,
        ", ".join(corpora),
        found,
        None,
        tuple(dict.fromkeys(notes)),
        written,
        ranked.meta,
        tuple(corpora),
        floors,
        bool(held) and all(floor.below for floor in held),
    )


def opened(part: View, request: SearchRequest, ctx: Context) -> Corpus:
    """The corpus that is asked, or how it looks on the branch that is."""
    corpus = ctx.open(part.target, embedder=request.embedder)
    if request.branch is None:
        return corpus
    from ir.index.branches import branch_corpus

    source = part.target.source(ctx.settings)
    most = MOST_CHANGED if ctx.for_agent else None
    return branch_corpus(corpus, request.branch, source=source, progress=ctx.progress, most=most)


def _ask(corpus: Corpus, part: View, request: SearchRequest, ctx: Context) -> Hits:
    from ir.retrieve import search as search_corpus

    apart = {name: text for name in ("words", "meaning") if (text := getattr(request, name)) is not None}
    return search_corpus(
        corpus,
        request.query,
        k=ctx.settings["k"] if request.k is None else request.k,
        filter=part.filter(request.filter, request.globs, ctx, corpus.store),
        surfaces=request.surfaces or None,
        explain=request.explain,
        rerank=request.rerank,
        per_artifact=_per_file(request, part, ctx),
        graph=graph_option(ctx, request.graph),
        chapters=request.chapters,
        graph_first=request.graph_first,
        aliases=request.aliases,
        **apart,
        **search_options(corpus, ctx, mode=request.mode, fusion=request.fusion, ranking=request.ranking),
    )


def _merged(asked: Mapping[str, Hits], request: SearchRequest, ctx: Context) -> Hits:
    """Several corpora's hits by rank: raw scores of different corpora never meet."""
    from ir.base import Hits
    from ir.retrieve import fuse_hits

    k = ctx.settings["k"] if request.k is None else request.k
    kept: dict[str | None, Sequence[SearchHit]] = {
        name: [hit for hit in hits if _matches(hits)(hit)] for name, hits in asked.items()
    }
    first = next(iter(asked.values())).meta
    meta: dict[str, Any] = {"mode": first.get("mode"), "fusion": first.get("fusion"), "merged": "rrf"}
    meta["sources"] = {name: dict(hits.meta) for name, hits in asked.items()}
    return Hits(fuse_hits(kept, k=k), meta)


def analyzer_of(corpus: Corpus, ctx: Context) -> Analyzer:
    """What made the words of a corpus."""
    from ir.analysis import analyzer_for

    language = ctx.known(corpus, "language", lambda: corpus.store.get_config().get("language"))
    return analyzer_for(language or "english")


def words_of(query: str, analyzer: Analyzer) -> dict[str, str]:
    """The query's terms, each with the word that it was written as."""
    from ir.analysis import query_terms

    asked = analyzer.tokens(query, only=query_terms(analyzer, query))
    return {term: query[token.start : token.end] for token in asked for term in token.terms}


def found_in(hits: Hits, words: Mapping[str, str], analyzers: Mapping[str, Analyzer]) -> tuple[Found, ...]:
    """The hits that have anything to do with the query, with where to read them."""
    first = next(iter(analyzers.values()))
    found: list[Found] = []
    for hit in filter(_matches(hits), hits):
        place = cite(hit, words, analyzers.get(hit.source or "", first))
        matched = dict.fromkeys(place.excerpt[start:end].lower() for start, end in place.marks)
        found.append(Found(len(found) + 1, hit, place, tuple(matched)))
    return tuple(found)


def _per_file(request: SearchRequest, part: View, ctx: Context) -> int:
    """How many hits of one item there may be; a search in one file is for its places."""
    if request.per_file is not None:
        return request.per_file
    if part.root is not None and (part.root / part.inside if part.inside else part.root).is_file():
        return int(ctx.settings["k"] if request.k is None else request.k)
    return int(ctx.settings["per_file"])


def _matches(hits: Hits) -> Callable[[SearchHit], bool]:
    """Whether a hit has anything in common with the query: what scores zero is in the list only to fill it.

    A reranker's scores have a scale of their own, and the last of a fusion by range has zero by definition.
    """
    if hits.meta.get("reranked"):
        return lambda hit: True
    if hits.meta.get("fusion") in ("minmax", "dbsf", "minmax_corpus"):
        return lambda hit: any(channel["score"] > 0 for channel in hit.channels.values())
    return lambda hit: hit.score > 0


def _floor(corpus: Corpus, hits: Hits, rerank: str | None, notes: list[str], ctx: Context) -> Floor:
    """How the best hit stands to the floor; a note where it scores like queries about other things."""
    from ir.select.gate import find_gate
    from ir.select.signals import describe

    mode, fusion = str(hits.meta["mode"]), hits.meta.get("fusion")
    gate = ctx.known(
        corpus, ("floor", mode, fusion, rerank), lambda: find_gate(corpus, mode, fusion=fusion, rerank=rerank)
    )
    below = gate.refuses(hits)
    if below:
        notes.append(f"Probably nothing here answers that. {gate.why(hits, corpus.name)}.")
    floor = None if gate.floor is None else gate.floor_for(hits)
    best = None if floor is None else gate.score(hits)
    return Floor(corpus.name, floor, best, describe(gate.signal), gate.origin, below)
