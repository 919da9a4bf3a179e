"""Asking the engine for words that the settings name, and keeping it in step with a corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

from ir.app.arguments import QUERY, TARGET, K
from ir.app.context import Context
from ir.app.fields import Arg
from ir.app.operation import Value, operation
from ir.app.searching import Found, analyzer_of, found_in, words_of
from ir.options import choice

if TYPE_CHECKING:
    from ir.base import SearchHit
    from ir.keywords import KeywordResult
    from ir.protocols import Store

__all__ = [
    "ACTIONS",
    "KeywordRequest",
    "KeywordResponse",
    "KeywordSearchRequest",
    "KeywordSearchResponse",
    "keyword",
    "keyword_search",
]

ACTIONS = ("status", "sync")
BACKEND = Arg(
    "the engine, if other than the one that is set",
    choices="ir.options:KEYWORD_BACKENDS",
    flag="--backend",
    metavar="NAME",
    help="embedded, postgres-tsvector, postgres-bm25, milvus or azure-ai-search.",
)
#: Of an artifact the best record counts, so more of them are asked for than artifacts.
_DEEPER = 5


@dataclass(frozen=True)
class KeywordSearchRequest(Value):
    """``filter`` holds values that fields must have, all of them and exactly."""

    query: Annotated[str, QUERY]
    target: Annotated[str, TARGET] = "."
    k: Annotated[int | None, K] = None
    backend: Annotated[str | None, BACKEND] = None
    filter: Annotated[
        Mapping[str, str] | None, Arg("fields and the values that they must have", metavar="FIELD=VALUE", option=False)
    ] = None


@dataclass(frozen=True)
class KeywordSearchResponse(Value):
    """Hits, best first, with scores on the scale of the ``backend``. ``gone`` of its answers are no longer indexed."""

    query: str
    corpus: str
    backend: str
    found: tuple[Found, ...]
    gone: int = 0
    notes: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    corpora: tuple[str, ...] = ()


@operation("keyword-search", summary="Look for words alone, by the engine that the settings name", effect="reads")
def keyword_search(request: KeywordSearchRequest, ctx: Context) -> KeywordSearchResponse:
    from ir.base import Hits
    from ir.keyword import keyword_provider
    from ir.keywords import KeywordRequest as Asked

    target = ctx.target(request.target)
    corpus = ctx.open(target)
    name = target.name
    k = int(ctx.settings["k"] if request.k is None else request.k)
    provider = keyword_provider(
        ctx.settings,
        lambda collection: corpus.store.snapshot() if collection == name else None,
        backend=request.backend,
    )
    began = perf_counter()
    results = provider.search(Asked(request.query, name, k * _DEEPER, request.filter or {}))
    took = (perf_counter() - began) * 1e3
    ctx.check()
    hits, gone = _hits(results, corpus.store, name, k)
    analyzer = analyzer_of(corpus, ctx)
    words = words_of(request.query, analyzer)
    notes: tuple[str, ...] = ()
    if gone:
        notes = (f"{gone} answers are no longer in the corpus; to bring the engine up to date: ir keyword sync {name}",)
    meta = {"backend": provider.name, "degraded": [], "timings": {"total_ms": took}}
    found = found_in(Hits(hits, meta), words, {name: analyzer})
    return KeywordSearchResponse(request.query, name, provider.name, found, gone, notes, words, meta, (name,))


def _hits(results: Any, store: Store, source: str, k: int) -> tuple[list[SearchHit], int]:
    """The best record of each artifact, and how many answers the corpus does not have."""
    from ir.base import Row, SearchHit

    records = {record.id: record for record in store.get_records([one.document_id for one in results])}
    best: dict[str, SearchHit] = {}
    one: KeywordResult
    for one in results:
        record = records.get(one.document_id)
        if record is not None and record.artifact_id not in best and len(best) < k:
            row = Row(
                record.id,
                record.artifact_id,
                record.surface_kind,
                record.surface_index,
                record.text,
                dict(record.metadata),
            )
            channels = {"keyword": {"rank": one.rank, "score": one.score}}
            best[record.artifact_id] = SearchHit.of_row(row, one.score, source, channels)
    return list(best.values()), len(results) - len(records)


@dataclass(frozen=True)
class KeywordRequest(Value):
    """``status`` says how far the engine is behind a corpus; ``sync`` sends it what changed."""

    action: Annotated[str, Arg("what to do", choices=ACTIONS, metavar="ACTION", help="status or sync.")]
    target: Annotated[str, TARGET] = "."
    backend: Annotated[str | None, BACKEND] = None

    def __post_init__(self) -> None:
        choice("action", self.action, ACTIONS)


@dataclass(frozen=True)
class KeywordResponse(Value):
    """What was sent by ``sync``, or is still to be sent.

    ``content_version`` is that of the corpus, ``mirrored_version`` what the engine is at; ``None`` if it is on the way
    or was never filled. The engine ``embedded`` is the corpus itself and always up to date.
    """

    corpus: str
    backend: str
    action: str
    added: int = 0
    changed: int = 0
    removed: int = 0
    content_version: str = ""
    mirrored_version: str | None = None

    @property
    def total(self) -> int:
        return self.added + self.changed + self.removed


@operation(
    "keyword",
    summary="Bring the words of a corpus up to date on another engine, or say how far behind it is",
    effect="writes",
    runs_long=True,
)
def keyword(request: KeywordRequest, ctx: Context) -> KeywordResponse:
    from ir.index import Progress
    from ir.keyword import backend_of, keyword_mirror

    target = ctx.target(request.target)
    store = ctx.open(target).store
    backend = backend_of(ctx.settings, request.backend)
    if backend == "embedded" and request.action == "status":
        version = store.content_version
        return KeywordResponse(target.name, backend, request.action, 0, 0, 0, version, version)
    mirror = keyword_mirror(ctx.settings, store, target.name, backend=backend)

    def progress(done: int) -> None:
        ctx.check()
        ctx.progress(Progress("send", done, None))

    if request.action == "sync":
        told = mirror.sync(progress)
        now: str | None = told.content_version
    else:
        told = mirror.behind()
        now = told.mirrored_version
    return KeywordResponse(
        target.name, backend, request.action, told.added, told.changed, told.removed, told.content_version, now
    )
