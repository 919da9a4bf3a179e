"""The search itself, from a caller's keywords to ranked hits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from time import perf_counter
from typing import Any

import numpy as np

from ir.analysis import Analyzer, analyzer_for
from ir.base import Hits, SearchHit
from ir.errors import EmbedderMismatch, InvalidInput
from ir.filters import parse_filter
from ir.options import DFLT_ALPHA, DFLT_FUSION, DFLT_RRF_K, CorpusDefault, SearchOptions, choice
from ir.protocols import Snapshot
from ir.retrieve.channels import Question, as_queries, embed_query
from ir.retrieve.explain import explanation
from ir.retrieve.feedback import fed_back, undo_feedback
from ir.retrieve.fusion import DFLT_SATURATION
from ir.retrieve.names import opened
from ir.retrieve.ranking import Ranked, rank
from ir.retrieve.weighing import share_read

__all__ = ["search"]


def search(
    corpus: Any,
    query: str,
    *,
    k: int = 10,
    filter: Mapping[str, Any] | None = None,
    surfaces: Iterable[str] | None = None,
    per_artifact: bool = True,
    mode: str = "dense",
    fusion: str = DFLT_FUSION,
    rrf_k: float = DFLT_RRF_K,
    alpha: float = DFLT_ALPHA,
    bm25_sat_k: float | None = None,
    fetch_k: int | None = None,
    rerank: Any = None,
    bm25: Mapping[str, float] | None = None,
    formulate: Callable[[str], Any] | None = None,
    **more: Any,
) -> Hits:
    """Rank the records of a corpus against a query, best first.

    ``corpus`` is a :class:`ir.Corpus` or a corpus name. ``more`` takes ``explain``, ``surface_weights``, ``depth``,
    ``rerank_weight``, ``rerank_text``, ``graph_boost`` and ``feedback``. The result is a list that also carries
    ``meta``. Where ``alpha`` and ``bm25_sat_k`` are not given, the corpus's own are used if it has any: a weak embedder
    brings a lower ``alpha`` with it. An ``alpha`` that is not given is less where the texts are longer than what the
    embedder reads of them.
    """
    options = _options(
        k=k,
        filter=parse_filter(filter),
        surfaces=surfaces,
        per_artifact=per_artifact,
        mode=mode,
        fusion=fusion,
        rrf_k=rrf_k,
        alpha=alpha,
        bm25_sat_k=bm25_sat_k,
        fetch_k=fetch_k,
        rerank=rerank,
        bm25=bm25,
        formulate=formulate,
        **more,
    )
    return search_with(corpus, query, options)


def _options(**keywords: Any) -> SearchOptions:
    """The options of a search; those that most searches have are checked once."""
    if not any(map(callable, keywords.values())):  # whatever it holds, a function should not be kept for being asked
        try:
            return _checked(**keywords)
        except TypeError:  # a list or a mapping, which cannot be a key, or something that no option can be
            pass
    return SearchOptions.of(**keywords)


_checked = lru_cache(64, typed=True)(SearchOptions.of)


def search_with(corpus: Any, query: str, options: SearchOptions) -> Hits:
    """:func:`search` for options that are already a value."""
    started = perf_counter()
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput("The query is empty; ask for something.")
    if not hasattr(corpus, "store"):
        corpus = _named(corpus)
    with corpus.store.snapshot() as snapshot:
        meta = _meta(snapshot, options)
        if not len(snapshot):
            meta["notes"].append(_why_empty(corpus))
            return Hits((), meta)
        _check_surfaces(snapshot, options)
        hits = _Session(corpus, snapshot, options, meta).hits(query)
    meta["timings"]["total_ms"] = (perf_counter() - started) * 1e3
    return Hits(hits, meta)


def _named(given: Any) -> Any:
    corpus = opened(given)
    if not hasattr(corpus, "store"):
        raise InvalidInput(
            f"{corpus!r} is no corpus.", remedy="Give one that ir.build or ir.open_corpus returned, or its name."
        )
    return corpus


class _Session:
    """One search against one snapshot."""

    def __init__(self, corpus: Any, snapshot: Snapshot, options: SearchOptions, meta: dict[str, Any]) -> None:
        self.corpus = corpus
        self.snapshot = snapshot
        config = snapshot.config()
        language = config.get("language") or "english"
        if options.mode == "hybrid" and type(options.alpha) is CorpusDefault:
            own_alpha = config.get("alpha")
            alpha = options.alpha if own_alpha is None else own_alpha
            alpha *= share_read(snapshot, corpus.embedder, language)
            if alpha != options.alpha:
                options = replace(options, alpha=alpha)
        self.options = options
        self.meta = meta
        self.analyzer: Analyzer = analyzer_for(language)
        self.saturation = float(options.bm25_sat_k or config.get("bm25_sat_k") or DFLT_SATURATION)
        if options.mode != "lexical":
            _check_embedder(corpus, config)
        if options.mode != "dense":
            self._check_words()

    def hits(self, query: str) -> list[SearchHit]:
        queries = [query]
        if self.options.formulate is not None:
            queries = as_queries(self.options.formulate(query), query)
            self.meta["queries"] = queries
        began = perf_counter()
        questions = [Question.of(text, self._embed, self.analyzer, self.options) for text in queries]
        if self.options.feedback:
            questions = [
                fed_back(self.corpus.store, self.snapshot, one, self.options, self.saturation) for one in questions
            ]
        ready = perf_counter()
        runs = [rank(self.snapshot, question, self.options, self.saturation) for question in questions]
        self._report(runs)
        hits = self._merge(runs) if len(runs) > 1 else self._hits_of(runs[0])
        self.meta["timings"]["query_ms"] = (ready - began) * 1e3
        self.meta["timings"]["rank_ms"] = (perf_counter() - ready) * 1e3
        return hits

    def _check_words(self) -> None:
        """Say so where the words are indexed in another way than ours, which only a user who may write can change."""
        indexed = getattr(self.snapshot, "analyzer_id", None)
        if indexed is not None and indexed != self.analyzer.id:
            self.meta["degraded"].append("lexical")
            self.meta["notes"].append(
                f"The words of the corpus {self.corpus.name!r} are indexed as {indexed!r} and looked up as "
                f"{self.analyzer.id!r}, so some are not found; a search by a user who may write to it mends that."
            )

    def _embed(self, text: str) -> Any:
        return embed_query(self.corpus.embedder, text, self.snapshot.dim)

    def _hits_of(self, ranked: Ranked) -> list[SearchHit]:
        if ranked.question.asked is not None:
            undo_feedback(self.snapshot, ranked)
        rows = self.snapshot.rows(ranked.refs)
        name, explain = self.corpus.name, self.options.explain
        return [
            SearchHit.of_row(
                row,
                pick.score,
                name,
                pick.channels,
                explanation(ranked.question, pick, row, self.analyzer, self.options) if explain else None,
            )
            for pick, row in zip(ranked.picks, rows, strict=True)
        ]

    def _merge(self, runs: list[Ranked]) -> list[SearchHit]:
        """Several queries' hits: the best surface of each artifact over all of them."""
        best: dict[tuple[str, int | None], SearchHit] = {}
        for ranked in runs:
            for hit in self._hits_of(ranked):
                key = (hit.artifact_id, None if self.options.per_artifact else hit.surface_index)
                held = best.get(key)
                if held is None or hit.score > held.score:
                    best[key] = hit
        return sorted(best.values(), key=lambda hit: -hit.score)[: self.options.k]

    def _report(self, runs: list[Ranked]) -> None:
        self.meta["channels"] = list(runs[0].channels)
        for ranked in runs:
            if ranked.rerank_report is not None:
                self.meta["rerank"] = ranked.rerank_report
            for key, told in (("degraded", ranked.degraded), ("notes", ranked.notes)):
                self.meta[key] += [part for part in told if part not in self.meta[key]]
        self.meta["reranked"] = self.options.rerank is not None and "reranker" not in self.meta["degraded"]
        if self.options.mode != "dense" and not any(ranked.question.terms for ranked in runs):
            self.meta["notes"].append("The query has no words that the lexical index keeps.")
        if self.options.mode == "dense" and not any(ranked.picks or np.any(ranked.question.vector) for ranked in runs):
            self.meta["notes"].append("The embedder makes nothing of the query.")


def _meta(snapshot: Snapshot, options: SearchOptions) -> dict[str, Any]:
    return {
        "version": snapshot.version,
        "mode": options.mode,
        "fusion": options.fusion if options.mode == "hybrid" else None,
        "channels": [],
        "degraded": [],
        "notes": [],
        "timings": {},
    }


def _why_empty(corpus: Any) -> str:
    """What to know of a corpus without records; what was wrong is known in the process that built it."""
    report = getattr(corpus, "report", None)
    problems = [*report.failed, *report.skipped] if report is not None else []
    if not problems:
        return f"The corpus {corpus.name!r} is empty; look at what its source holds, and build again."
    items = "1 item" if len(problems) == 1 else f"{len(problems):,} items"
    first = f"{problems[0].id!r}: {problems[0].reason.rstrip('.')}"
    return f"The corpus {corpus.name!r} is empty: {items} could not be taken in, among them {first}."


def _check_surfaces(snapshot: Snapshot, options: SearchOptions) -> None:
    for asked in (options.surfaces, options.surface_weights):
        for kind in asked or ():
            choice("surface", kind, sorted(snapshot.kinds()))


def _check_embedder(corpus: Any, config: Mapping[str, Any]) -> None:
    built_with = config.get("embedder_id")
    if built_with and corpus.embedder_id and built_with != corpus.embedder_id:
        raise EmbedderMismatch(
            f"The corpus {corpus.name!r} was built with the embedder {built_with!r}, "
            f"but is searched with {corpus.embedder_id!r}.",
            remedy="Open it with the embedder that built it, rebuild it, or search with mode='lexical'.",
        )
