"""A composed query from beginning to end, in this order and no other:

check → cache → meaning and words at the same time → fusion → ranking → exit or rerank → links → hint → cache → answer

Whatever fails on the way is gone without and told in ``degraded``; only a wrong question is an error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from math import ceil, sqrt
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ir.analysis import analyzer_for
from ir.base import Row
from ir.config.workspace import current_workspace
from ir.events import Step, emit
from ir.filters import Filter, matches
from ir.keyword.embedded import EMBEDDED, EmbeddedKeywords, exact_filter
from ir.keywords import KeywordProvider, KeywordRequest, KeywordResult
from ir.options import SearchOptions
from ir.protocols import Ranking, Snapshot, Source, Where
from ir.query.branches import on_branch
from ir.query.cache import QueryKey, VersionedCache
from ir.query.envelope import QueryAnswer, QueryMeta, QueryResult
from ir.query.expansion import ExpandedContext, expand
from ir.query.fusion import FusedResult, RankedCandidate, distribution, ranked_list, reciprocal
from ir.query.hybrid import HybridQueryOptions
from ir.query.narrowing import both, check_names, narrowed
from ir.query.parameters import OntologyQuery
from ir.query.phrases import asks_for_links, phrases_of
from ir.query.saturation import REASON, is_saturated, saturation_of, token_count
from ir.query.sides import Side, is_fault
from ir.rerank.asking import name_of
from ir.retrieve.candidates import Candidates, Channel
from ir.retrieve.channels import Question, complete, embed_query
from ir.retrieve.pool import Pool
from ir.retrieve.spaces import missing_vectors, space_of
from ir.retrieve.stages import pick, run_stages

if TYPE_CHECKING:
    from ir.protocols import Vector

__all__ = ["Answers", "Parts", "ontology_query"]

log = logging.getLogger("ir.query")

#: Answers by what was asked.
Answers = VersionedCache[QueryKey, QueryAnswer]
#: So much more than is asked for goes to the reranker.
OVERSAMPLING = 1.5
DENSE, KEYWORD = "dense", "keyword"


@dataclass(frozen=True)
class Parts:
    """What answers a query, as far as it is not the corpus itself.

    ``provider`` looks up the words, ``None``: the corpus's own index. ``reranker`` reads the best again, ``None``:
    nobody does. ``boosts`` are functions of the pool, ``None``: those that suit the corpus. ``per_artifact`` is how
    many results of one item there are as long as others are left. ``phrases`` are those that ask for links, ``None``:
    those of the corpus's language. ``source`` gives what the corpus was built from, ``root`` is its folder; a branch
    that differs in more than ``most_changed`` files is refused.
    """

    provider: KeywordProvider | None = None
    reranker: Any = None
    boosts: tuple[Callable[..., Any], ...] | None = None
    cache: Answers | None = None
    workspace: str | None = None
    shape: str = "unknown"
    phrases: str | Sequence[str] | None = None
    root: str | None = None
    source: Callable[[], Source] | None = None
    most_changed: int | None = None
    per_artifact: int = 2
    keyword_timeout_s: float = 30.0


def ontology_query(
    corpus: Any, asked: OntologyQuery, options: HybridQueryOptions | None = None, parts: Parts = Parts()
) -> QueryAnswer:
    """The answer to ``asked``. Without ``options`` it goes by meaning alone."""
    began = perf_counter()
    corpus = on_branch(corpus, asked.branch, source=parts.source, most=parts.most_changed)
    workspace = parts.workspace or current_workspace()
    with corpus.store.snapshot() as snapshot:
        version = snapshot.content_version
        run = _Run(corpus, snapshot, asked, options, parts)
        key = _key(workspace, corpus.name, asked, run)
        held = parts.cache.get(key, version) if parts.cache is not None else None
        if held is None:
            answer = run.answer()
    if held is not None:
        answer = QueryAnswer(held.results, replace(held.meta, cache_hit=True, timings={}))
    elif corpus.store.content_version != version:
        # The answer is of one version, and says which; whoever wants the new one asks again.
        answer = QueryAnswer(answer.results, replace(answer.meta, degraded=(*answer.meta.degraded, "version")))
        if parts.cache is not None:
            scope = key[:3]
            parts.cache.invalidate_stale(corpus.store.content_version, among=lambda one: one[:3] == scope)
    elif parts.cache is not None and not answer.meta.degraded:
        parts.cache.set(key, version, answer)
    total = (perf_counter() - began) * 1e3
    answer = QueryAnswer(answer.results, replace(answer.meta, timings={**answer.meta.timings, "total": total}))
    _tell(answer.meta, asked, parts, workspace, run)
    return answer


class _Run:
    """One query against one version of the corpus."""

    def __init__(
        self, corpus: Any, snapshot: Snapshot, asked: OntologyQuery, options: HybridQueryOptions | None, parts: Parts
    ) -> None:
        self.corpus = corpus
        self.snapshot = snapshot
        self.asked = asked
        self.options = options
        self.parts = parts
        self.config = snapshot.config()
        self.provider = parts.provider if options is not None and options.enable_keyword else None
        self.words = options is not None and options.enable_keyword
        #: The name of the keyword engine, for the envelope.
        self.backend = (self.provider.name if self.provider else EMBEDDED) if self.words else None
        self.threshold = self._threshold()
        self.reranker = parts.reranker if asked.precision else None
        #: What must hold of every result.
        self.within: Filter | None = None
        self.degraded: list[str] = []
        self.notes: list[str] = []
        self.timings: dict[str, float] = {}
        self.steps: list[Step] = []
        self.counts = {DENSE: 0, KEYWORD: 0}
        self.cost_usd: float | None = None

    def _threshold(self) -> float | None:
        if self.options is None or self.backend is None:
            return None
        own = self.options.bm_saturation_threshold
        return own if own is not None else saturation_of(self.config, self.backend)

    # -- the way -----------------------------------------------------------------------------------------------

    def answer(self) -> QueryAnswer:
        rest = narrowed(self.asked, self.corpus.store, self.snapshot, self.parts.root)
        self.within = both(rest, exact_filter(self.asked.exact))
        found = self._candidates(rest)
        pool, fused = self._fused(found)
        reranked, skipped = self._ranked(pool, found)
        picks = pool.picks[: self.asked.top_k]
        results = self._results(pool, picks, {one.document_id: one.source_ranks for one in fused})
        if not results:
            check_names(self.asked, self.corpus.store)
        context = self._expanded(results)
        phrases = phrases_of(self.config.get("language"), self.parts.phrases)
        meta = QueryMeta(
            ontology_version=self.snapshot.content_version,
            hybrid=len(found.lists) > 1,
            reranked=reranked,
            skipped_rerank=REASON if skipped else None,
            degraded=tuple(dict.fromkeys(self.degraded)),
            could_benefit_from_link_expansion=not self.asked.expands
            and asks_for_links(self.asked.semantic_query, phrases),
            expanded_context=tuple(context),
            backend=self.backend if KEYWORD in found.lists else None,
            reranker=name_of(self.reranker) if reranked else None,
            branch=self.asked.branch,
            timings=self.timings,
            notes=tuple(dict.fromkeys(self.notes)),
        )
        return QueryAnswer(results, meta)

    # -- meaning and words -------------------------------------------------------------------------------------

    def _candidates(self, rest: Filter | None) -> _Found:
        """Both sides at the same time; what one of them cannot give is gone without."""
        own = None if self.provider else EmbeddedKeywords({self.corpus.name: self.snapshot}, within=rest)
        words = Side(KEYWORD, lambda: self._keyword(own)) if self.words else None
        meaning = Side(DENSE, self._dense)
        found = _Found()
        try:
            found.vector, ranking = meaning.result()
            rows = self.snapshot.rows(ranking.refs)
            found.take(DENSE, ranked_list([row.id for row in rows], ranking.scores.tolist()))
            found.refs |= {row.id: int(ref) for row, ref in zip(rows, ranking.refs.tolist(), strict=True)}
        except Exception as error:
            self._without(DENSE, error)
        self._took(DENSE, meaning.began, meaning.ms)
        if words is not None:
            try:
                listed = words.result(self.parts.keyword_timeout_s if own is None else None)
                found.take(KEYWORD, self._known(listed, own, found))
            except Exception as error:
                self._without(KEYWORD, error)
            self._took(KEYWORD, words.began, words.ms)
        self.counts = {name: len(found.lists.get(name, ())) for name in (DENSE, KEYWORD)}
        return found

    def _dense(self) -> tuple[Vector, Ranking]:
        depth = self.asked.top_k if self.options is None else max(self.options.dense_top_k, self.asked.top_k)
        space = space_of(self.corpus, self.snapshot, SearchOptions())
        none, told = missing_vectors(self.snapshot, space, "hybrid" if self.words else "dense")
        if told is not None:
            self.notes.append(told)
        if none and len(self.snapshot):
            raise LookupError("no record has a vector yet")
        vector = embed_query(space.embedder, self.asked.semantic_query, space.dim)
        if not vector.any():  # the embedder made nothing of the query: no record is nearer to it than another
            return vector, Ranking(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))
        return vector, self.snapshot.dense(vector, depth, Where(self.within))

    def _keyword(self, own: EmbeddedKeywords | None) -> Sequence[KeywordResult]:
        assert self.options is not None, "words are looked up by options"
        top_k = max(self.options.sparse_top_k, self.asked.top_k)
        request = KeywordRequest(self.asked.semantic_query, self.corpus.name, top_k, self.asked.exact)
        provider: KeywordProvider = self.provider or own  # type: ignore[assignment]
        return provider.search(request, timeout_s=self.parts.keyword_timeout_s)

    def _known(
        self, listed: Sequence[KeywordResult], own: EmbeddedKeywords | None, found: _Found
    ) -> list[RankedCandidate]:
        """What the words gave, as far as this version has it and it passes all filters; ranks are counted anew."""
        there = self.snapshot.refs_of([one.document_id for one in listed])
        listed = [one for one in listed if one.document_id in there]
        if own is None and self.within is not None and listed:
            rows = self.snapshot.rows(np.array([there[one.document_id] for one in listed], dtype=np.int64))
            listed = [one for one, row in zip(listed, rows, strict=True) if matches(self.within, row.metadata)]
        found.refs |= there
        return ranked_list([one.document_id for one in listed], [one.score for one in listed])

    # -- one ranking -------------------------------------------------------------------------------------------

    def _fused(self, found: _Found) -> tuple[Pool, list[FusedResult]]:
        began = perf_counter()
        names = list(found.lists)
        lists = [found.lists[name] for name in names]
        if self.options is None:
            fused = [FusedResult(one.document_id, one.raw_score, one.rank, {DENSE: one.rank}) for one in found.first]
        else:
            both_weights = dict(zip((DENSE, KEYWORD), self.options.weights or (1.0, 1.0), strict=True))
            weights = [both_weights[name] for name in names]
            if self.options.fusion == "distribution":
                fused = distribution(lists, weights=weights, names=names)
            else:
                fused = reciprocal(lists, k=self.options.rrf_k, weights=weights, names=names)
        self._took("fusion", began)
        return self._pool(found, fused), fused

    def _pool(self, found: _Found, fused: Sequence[FusedResult]) -> Pool:
        """The candidates for the stages that every search has."""
        refs = np.array([found.refs[one.document_id] for one in fused], dtype=np.int64)
        channels = {name: _channel(fused, ranked) for name, ranked in found.lists.items()}
        scores = np.array([one.fused_score for one in fused], dtype=np.float64)
        candidates = Candidates(refs, channels, scores, ties=np.arange(len(fused)))
        options = self._search_options()
        analyzer = analyzer_for(self.config.get("language") or "english")
        question = Question.of(self.asked.semantic_query, found.vector, analyzer, options)
        groups, kinds = self.snapshot.grouping(refs)
        pool = Pool(question, self.snapshot, options, self.corpus, {}, candidates, groups, kinds)
        if found.vector is not None:
            complete(self.snapshot, question, candidates, DENSE)
        elif self.asked.min_relevance is not None:
            self.notes.append("minRelevance was not applied: the results are by words alone.")
        return pool

    def _search_options(self) -> SearchOptions:
        return SearchOptions(
            k=ceil(OVERSAMPLING * self.asked.top_k),
            mode="hybrid",
            fusion="rrf",
            filter=self.within,
            rerank=self.reranker,
            per_artifact=self.parts.per_artifact,
            exit_when=self._exit,
            **self._ranking(),
        )

    def _ranking(self) -> dict[str, Any]:
        """What the results are ranked by beside meaning and words: what was given, else what suits the corpus."""
        if self.parts.boosts is not None:
            return {"boosts": self.parts.boosts}
        return {"ranking": self.config.get("ranking")} if self.options is not None else {}

    def _drop_the_unlike(self, pool: Pool) -> None:
        """Leave out what is below the least relevance; a ranking may have brought some in by its name."""
        least = self.asked.min_relevance
        if least is None or pool.question.vector is None:
            return
        cosines = pool.candidates.channels[DENSE].scores.tolist()
        like = [place for place, cosine in enumerate(cosines) if self._similarity(cosine) >= least]
        pool.narrow(np.array(like, dtype=np.int64))

    def _similarity(self, cosine: float) -> float:
        """The metric's number; the distance of vectors of length one follows from their cosine."""
        if self.asked.distance_metric == "l2":
            return 1.0 / (1.0 + sqrt(max(0.0, 2.0 - 2.0 * cosine)))
        return cosine

    # -- exit or rerank ----------------------------------------------------------------------------------------

    def _exit(self, pool: Pool) -> str | None:
        return REASON if is_saturated(self._top_score, self.threshold, self._tokens) else None

    def _ranked(self, pool: Pool, found: _Found) -> tuple[bool, bool]:
        """Order the pool, best first, into its picks; whether a reranker did it, and whether it was skipped."""
        self._top_score = found.top_score(KEYWORD)
        self._tokens = token_count(self.asked.semantic_query)
        if not len(pool):
            return False, False
        began = perf_counter()
        run_stages(pool, until="exit")
        self._drop_the_unlike(pool)
        pool.narrow(np.array(_filled(pool), dtype=np.int64))
        self._took("rank", began)
        if not len(pool):
            return False, False
        began = perf_counter()
        try:
            run_stages(pool, since="exit", until="final_boosts")
        except Exception as error:
            if not is_fault(error):
                raise
            self._without("reranker", error)
        if self.reranker is not None:
            self._took("rerank", began)
        told = next((report for report in pool.stages if report["name"] == "rerank"), None)
        if told is not None and told["degraded"]:
            self._without("reranker", told["why"])
        self.notes += [note for note in pool.notes if note not in self.notes and "reranker" not in self.degraded]
        run_stages(pool, since="final_boosts")
        pool.picks = [int(place) for place in pool.candidates.order()]
        self.cost_usd = (pool.rerank_report or {}).get("cost_usd")
        reranked = told is not None and told["ran"] and "reranker" not in self.degraded
        return reranked, pool.exited == REASON

    # -- results -----------------------------------------------------------------------------------------------

    def _results(
        self, pool: Pool, picks: Sequence[int], ranks: Mapping[str, Mapping[str, int]]
    ) -> tuple[QueryResult, ...]:
        rows = [pool.rows[place] for place in picks]
        dense = pool.candidates.channels.get(DENSE) if pool.question.vector is not None else None
        keys = [str(row.metadata["symbolKey"]) for row in rows if row.metadata.get("symbolKey")]
        wanted = {"signature", "doc"} & set(self.asked.include)
        nodes = self.snapshot.nodes(keys) if wanted and keys else {}
        results = []
        for rank, (place, row) in enumerate(zip(picks, rows, strict=True), start=1):
            like = None if dense is None else self._similarity(float(dense.scores[place]))
            result = _result(row, rank, float(pool.scores[place]), ranks.get(row.id, {}), like)
            node = nodes.get(result.symbol_key or "")
            if node is not None:
                said = {name: str(node.properties[name]) for name in wanted if node.properties.get(name)}
                result = replace(result, **said)  # type: ignore[arg-type]
            results.append(result)
        return tuple(results)

    def _expanded(self, results: Sequence[QueryResult]) -> list[ExpandedContext]:
        if not self.asked.expands:
            return []
        began = perf_counter()
        documents = [(one.chunk_id, _nodes_of(one)) for one in results]
        links = None if self.asked.traverse_link is None else {self.asked.traverse_link}
        try:
            found = expand(self.snapshot, documents, depth=self.asked.link_depth, links=links)
        except Exception as error:
            self._without("graphExpansion", error)
            found = []
        self._took("graphExpansion", began)
        if not found and links is not None:
            check_names(self.asked, self.corpus.store)
        return found

    def _took(self, step: str, began: float, ms: float | None = None) -> None:
        """Note how long a step took: until now, unless it is told."""
        self.timings[step] = (perf_counter() - began) * 1e3 if ms is None else ms
        self.steps.append(Step(step, began, self.timings[step]))

    def _without(self, sink: str, error: object) -> None:
        """Go on without a part, and say so; a wrong question and a call that is over are not such."""
        from ir.errors import Cancelled, InvalidInput

        if isinstance(error, Cancelled) or (isinstance(error, InvalidInput) and sink == "graphExpansion"):
            raise error
        if sink in self.degraded:
            return
        self.degraded.append(sink)
        said = " ".join(str(error).split())[:300] or type(error).__name__
        self.notes.append(f"{sink}: {said}")
        log.warning("the query goes on without %s: %s", sink, said)


@dataclass
class _Found:
    """What the sides gave: their lists, best first, the refs of what is in them, and the query's vector."""

    lists: dict[str, list[RankedCandidate]] = field(default_factory=dict)
    refs: dict[str, int] = field(default_factory=dict)
    vector: Vector | None = None

    def take(self, name: str, ranked: list[RankedCandidate]) -> None:
        self.lists[name] = ranked

    @property
    def first(self) -> list[RankedCandidate]:
        return next(iter(self.lists.values()), [])

    def top_score(self, name: str) -> float | None:
        ranked = self.lists.get(name)
        return ranked[0].raw_score if ranked else None


def _channel(fused: Sequence[FusedResult], ranked: Sequence[RankedCandidate]) -> Channel:
    by_id = {one.document_id: one for one in ranked}
    found = [by_id.get(one.document_id) for one in fused]
    ranks = np.array([one.rank if one else 0 for one in found], dtype=np.int64)
    scores = np.array([one.raw_score if one else 0.0 for one in found], dtype=np.float32)
    return Channel(ranks, scores, exhausted=False)


def _filled(pool: Pool) -> list[int]:
    """As many places as go on: the best of each item first, and the rest of the best where that is too few."""
    picks = pick(pool)
    held = set(picks)
    rest = [place for place in pool.candidates.order().tolist() if place not in held]
    return [*picks, *rest][: pool.options.k]


def _result(
    row: Row, rank: int, score: float, source_ranks: Mapping[str, int], similarity: float | None
) -> QueryResult:
    about = row.metadata

    def text(name: str) -> str | None:
        return str(about[name]) if about.get(name) is not None else None

    def line(name: str) -> int | None:
        return about[name] if isinstance(about.get(name), int) else None

    return QueryResult(
        chunk_id=row.id,
        artifact_id=row.artifact_id,
        rank=rank,
        score=score,
        text=row.text,
        symbol_key=text("symbolKey"),
        object_type=text("objectType"),
        chunk_level=text("chunkLevel"),
        provenance=text("provenance"),
        path=row.artifact_id,
        line_start=line("line_start"),
        line_end=line("line_end"),
        source_ranks=source_ranks,
        similarity=similarity,
        symbol_keys=tuple(about.get("symbolKeys") or ()),
    )


def _nodes_of(result: QueryResult) -> list[str]:
    """What a result shows, itself first; what has no symbol is a node by its item."""
    shown = dict.fromkeys(one for one in (result.symbol_key, *result.symbol_keys) if one)
    return list(shown) or [result.artifact_id]


def _key(workspace: str, corpus: str, asked: OntologyQuery, run: _Run) -> QueryKey:
    about = replace(asked, semantic_query="-")
    reranker = name_of(run.reranker) if run.reranker is not None else None
    how = (repr(about), repr(run.options), run.backend, run.threshold, reranker, run.parts.per_artifact)
    boosts = None if run.parts.boosts is None else [repr(boost) for boost in run.parts.boosts]
    more = (boosts, repr(run.parts.phrases), run.parts.root)
    return QueryKey(workspace, corpus, asked.branch, _hash(asked.semantic_query), _hash(repr((how, more))))


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _tell(meta: QueryMeta, asked: OntologyQuery, parts: Parts, workspace: str, run: _Run) -> None:
    """The events of one query."""
    emit(
        "retrieval.query.duration_ms",
        meta.timings["total"],
        run.steps,
        hybrid=meta.hybrid,
        reranked=meta.reranked,
        followLinks=asked.expands,
        backend=meta.backend or "none",
        cacheHit=meta.cache_hit,
        shape=parts.shape,
    )
    if parts.cache is not None:
        emit(f"retrieval.cache.{'hit' if meta.cache_hit else 'miss'}")
    if meta.cache_hit:
        return
    emit("retrieval.candidates.dense", run.counts[DENSE])
    emit("retrieval.candidates.sparse", run.counts[KEYWORD])
    emit("retrieval.fusion.duration_ms", meta.timings.get("fusion", 0.0))
    if "rerank" in meta.timings and meta.skipped_rerank is None:
        emit("retrieval.rerank.duration_ms", meta.timings["rerank"])
    if run.cost_usd is not None:
        emit("retrieval.rerank.cost_usd", run.cost_usd, workspace=workspace)
    if asked.expands:
        emit("retrieval.graph_expansion.duration_ms", meta.timings.get("graphExpansion", 0.0))
    for sink in meta.degraded:
        emit("retrieval.degraded", sink=sink)
