"""The composed query for agents: what was asked, with everything that answers it put together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import FILTER, TARGET
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.places import view
from ir.app.searching import MOST_CHANGED
from ir.errors import InvalidInput, IrError
from ir.query.branches import MAIN

if TYPE_CHECKING:
    from ir.keywords import KeywordProvider
    from ir.query import HybridQueryOptions, OntologyQuery, QueryAnswer
    from ir.query.saturation import Saturation

__all__ = [
    "OntologyQueryRequest",
    "OntologyQueryResponse",
    "SaturationRequest",
    "SaturationResponse",
    "calibrate_saturation",
    "ontology_query",
]

#: So many characters of a chunk are shown where its whole text was not asked for.
_EXCERPT = 700
SHAPE = Arg("what kind of question this is, for telemetry", max_chars=40, metavar="LABEL")


@dataclass(frozen=True)
class OntologyQueryRequest(Value):
    """Everything but the query has a default; see :class:`ir.query.OntologyQuery` for what each parameter means."""

    semantic_query: Annotated[str, Arg("what to look for", blank=False, max_chars=100_000)]
    target: Annotated[str, TARGET] = "."
    object_type: Annotated[
        str | None, Arg("only this type: module, type, function, method, doc", blank=False, metavar="TYPE")
    ] = None
    precision: Annotated[bool, Arg("rerank by what is configured", flag="--precision/--no-precision")] = True
    follow_links: Annotated[bool, Arg("add what the results are linked to, as context")] = False
    link_depth: Annotated[int, Arg("how far links are followed; 1 only", min=1, max=1, metavar="N")] = 1
    chunk_level: Annotated[
        str | None,
        Arg(
            "only chunks of this level",
            choices="ir.query.parameters:CHUNK_LEVELS",
            metavar="LEVEL",
            help="Only chunks of this level: file, type, method or doc.",
        ),
    ] = None
    provenance: Annotated[
        str | None,
        Arg(
            "only what came about so",
            choices="ir.query.parameters:PROVENANCES",
            metavar="WORD",
            help="Only what came about so: ingested or hand-authored.",
        ),
    ] = None
    branch: Annotated[
        str, Arg("the git branch to ask; main is the one that is indexed", blank=False, metavar="NAME")
    ] = MAIN
    top_k: Annotated[int, Arg("how many results", min=1, max=100, clamp=True, short="-k", metavar="N")] = 10
    min_relevance: Annotated[
        float | None, Arg("least similarity of a result, by the metric", min=0, max=1, metavar="NUMBER")
    ] = None
    distance_metric: Annotated[
        str,
        Arg(
            "how similarity is told",
            choices="ir.query.parameters:METRICS",
            metavar="METRIC",
            help="How similarity is told: cosine, dot or l2.",
        ),
    ] = "cosine"
    interface_name: Annotated[
        str | None, Arg("only types that implement or inherit this one, and their members", blank=False, metavar="NAME")
    ] = None
    traverse_link: Annotated[
        str | None, Arg("follow this kind of link only, such as calls", blank=False, metavar="LINK")
    ] = None
    filter: Annotated[Mapping[str, Any] | None, FILTER] = None
    domain: Annotated[
        str | None, Arg("only this folder of the corpus, or this domain of records", blank=False, metavar="NAME")
    ] = None
    include: Annotated[
        tuple[str, ...],
        Arg(
            "what to add to each result",
            choices="ir.query.parameters:INCLUDES",
            metavar="PART",
            help="Add to each result: text (all of it), signature or doc. Repeatable.",
        ),
    ] = ()
    shape: Annotated[str, SHAPE] = "unknown"


@dataclass(frozen=True)
class OntologyQueryResponse(Value):
    """``answer`` has the results and ``_meta``, which tells what ran. ``stale`` as in a search."""

    corpus: str
    answer: QueryAnswer
    stale: bool | None = None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {"corpus": self.corpus, **self.answer.to_dict(), "stale": self.stale, "notes": list(self.notes)}

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        from ir.app.schema import object_of, schema_of
        from ir.query.envelope import answer_schema

        more = {"stale": schema_of(bool | None), "notes": schema_of(tuple[str, ...])}
        return object_of({"corpus": schema_of(str), **answer_schema()["properties"], **more})


def check_query(request: OntologyQueryRequest, ctx: Context) -> None:
    """Find a wrong parameter before anything is done for it."""
    asked_of(request, request.filter)


@operation(
    "ontology-query",
    summary="Ask a code base or a corpus of typed records: ranked chunks, and what they are linked to",
    effect="reads",
    doors=("cli", "mcp", "http"),
    precheck=check_query,
)
def ontology_query(request: OntologyQueryRequest, ctx: Context) -> OntologyQueryResponse:
    from ir.query import Parts
    from ir.query import ontology_query as query

    part = view(request.target, ctx)
    asked = asked_of(request, part.filter(request.filter, (), ctx))
    corpus = ctx.open(part.target)
    ctx.check()
    reranker, told = configured_reranker(ctx) if request.precision else (None, ())
    parts = Parts(
        provider=configured_keywords(ctx),
        reranker=reranker,
        cache=ctx.answers(),
        shape=request.shape,
        phrases=ctx.settings["retrieval.link_phrases"],
        root=None if part.root is None else str(part.root),
        source=lambda: part.target.source(ctx.settings),
        most_changed=MOST_CHANGED if ctx.for_agent else None,
        per_artifact=int(ctx.settings["per_file"]),
    )
    answer = query(corpus, asked, hybrid_options(), parts)
    if "text" not in request.include:
        answer = replace(answer, results=tuple(replace(one, text=_excerpt(one.text)) for one in answer.results))
    return OntologyQueryResponse(part.target.name, answer, None, (*part.notes, *told))


def asked_of(request: OntologyQueryRequest, filter: Mapping[str, Any] | None) -> OntologyQuery:
    """The query that a request stands for."""
    from ir.query import OntologyQuery

    given = {name: getattr(request, name) for name in _PASSED}
    return OntologyQuery.of(request.semantic_query, filter=filter, **given)


_PASSED = (
    *("object_type", "precision", "follow_links", "link_depth", "chunk_level", "provenance", "branch", "top_k"),
    *("min_relevance", "distance_metric", "interface_name", "traverse_link", "domain", "include"),
)


def hybrid_options() -> HybridQueryOptions:
    """How meaning and words are fused; the threshold of the exit is the corpus's own."""
    from ir.query import HybridQueryOptions

    return HybridQueryOptions()


def configured_keywords(ctx: Context) -> KeywordProvider | None:
    """The keyword engine that is set; ``None`` for the corpus's own index."""
    from ir.keyword import backend_of, keyword_provider
    from ir.keyword.embedded import EMBEDDED

    return None if backend_of(ctx.settings) == EMBEDDED else keyword_provider(ctx.settings, {})


def configured_reranker(ctx: Context) -> tuple[Any, tuple[str, ...]]:
    """The reranker that is set, if it can be had, and else why not."""
    named = ctx.settings["retrieval.reranker"]
    if named == "none":
        return None, ()
    from ir.rerank import resolve_reranker

    try:
        return resolve_reranker(named), ()
    except IrError as error:
        return None, (f"Nothing was reranked: {error.message}",)


def _excerpt(text: str) -> str:
    """The beginning of a chunk: what it is of stands there. Cut where a line ends."""
    if len(text) <= _EXCERPT:
        return text
    end = text.rfind("\n", _EXCERPT // 2, _EXCERPT)
    return f"{text[: end if end > 0 else _EXCERPT]}…"


@dataclass(frozen=True)
class SaturationRequest(Value):
    """From ``cases`` with short queries, mostly names. ``forget`` drops the threshold of before instead."""

    corpus: Annotated[str, TARGET]
    cases: Annotated[str | None, Arg("a file of cases with short queries", blank=False, metavar="CASES")] = None
    precision: Annotated[
        float, Arg("the share of first results that must be right above it", min=0.5, max=1, metavar="SHARE")
    ] = 0.95
    dry_run: Annotated[bool, Arg("print the threshold, but do not keep it", short="-n")] = False
    forget: Annotated[bool, Arg("drop the threshold: every query is reranked again")] = False

    def __post_init__(self) -> None:
        if self.forget == (self.cases is not None):
            raise InvalidInput("Give a file of CASES to measure on, or --forget, and not both.")


@dataclass(frozen=True)
class SaturationResponse(Value):
    """``saturation`` says from how many queries the threshold comes; its ``threshold`` is ``None`` if none is safe."""

    corpus: str
    backend: str
    saved: bool
    saturation: Saturation | None = None
    forgotten: bool = False

    def to_dict(self) -> dict[str, Any]:
        made = None if self.saturation is None else self.saturation.to_dict()
        return {
            "corpus": self.corpus,
            "backend": self.backend,
            "saved": self.saved,
            "saturation": made,
            "forgotten": self.forgotten,
        }

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        from ir.app.schema import object_of, schema_of

        made = {"type": ["object", "null"], "additionalProperties": True}
        words = {"corpus": schema_of(str), "backend": schema_of(str), "saved": schema_of(bool)}
        return object_of({**words, "saturation": made, "forgotten": schema_of(bool)})


@operation(
    "calibrate-saturation",
    summary="Measure from which keyword score on a short query needs no reranker, and keep it",
    effect="writes",
    runs_long=True,
)
def calibrate_saturation(request: SaturationRequest, ctx: Context) -> SaturationResponse:
    from ir.app.judged import built_corpus, read_cases
    from ir.query.calibrating import calibrated, engine_of
    from ir.query.saturation import forget_saturation, keep_saturation

    corpus = built_corpus(request.corpus, ctx)
    provider = configured_keywords(ctx)
    if request.forget:
        gone = forget_saturation(corpus.store, engine_of(provider))
        return SaturationResponse(corpus.name, engine_of(provider), False, None, gone)
    judged = read_cases(str(request.cases), ctx)
    cases = [(case.query, case.gold) for case in judged.cases if not case.gold_is_none]
    made = calibrated(corpus, cases, provider=provider, precision=request.precision, check=ctx.check)
    kept = made.threshold is not None and not request.dry_run
    if kept:
        keep_saturation(corpus.store, made)
    return SaturationResponse(corpus.name, made.backend, kept, made)
