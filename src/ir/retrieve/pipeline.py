"""The search itself, from a caller's keywords to ranked hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from time import perf_counter
from typing import Any, Unpack

import numpy as np

from ir.analysis import Analyzer, analyzer_for
from ir.base import Hits, Meta, SearchHit
from ir.config.workspace import current_workspace
from ir.errors import InvalidInput
from ir.events import emit, is_heard
from ir.filters import parse_filter
from ir.options import WHOLE_ALPHA, CorpusDefault, SearchKeywords, SearchOptions, choice, shows_keywords
from ir.protocols import Snapshot
from ir.retrieve.aliases import Aliases
from ir.retrieve.apart import Place, spread
from ir.retrieve.channels import Question, as_queries, embed_query
from ir.retrieve.explain import explanation
from ir.retrieve.feedback import fed_back, undo_feedback
from ir.retrieve.fusion import DFLT_SATURATION, ORDINAL_FUSIONS
from ir.retrieve.graphs import LINKED, came_by_link
from ir.retrieve.names import opened
from ir.retrieve.ranking import Ranked, rank
from ir.retrieve.spaces import answered_by, missing_vectors, space_of
from ir.retrieve.stages import merged_reports
from ir.retrieve.weighing import share_read

__all__ = ["search"]


@shows_keywords
def search(corpus: Any, query: str, **keywords: Unpack[SearchKeywords]) -> Hits:
    """Rank the records of a corpus against a query, best first.

    ``corpus`` is a :class:`ir.Corpus`, or the name or the folder of one. The result is a list that also carries
    ``meta`` (:class:`ir.base.Meta`). Where ``alpha`` and ``bm25_sat_k`` are not given, the corpus's own are used if it
    has any: a weak embedder brings a lower ``alpha`` with it. An ``alpha`` that is not given is less where the texts
    are longer than what the embedder reads of them. ``space`` chooses among the corpus's spaces of vectors. ``words``
    is what the lexical channel looks for and ``meaning`` what the dense one compares, each if other than the query.

    ``ranking`` is ``"code"`` for source code, ``"book"`` for books, ``"plain"`` for none, or a function of the pool;
    ``graph`` says how links lift what good hits lead to (:class:`ir.book.GraphBoost`). If they are not given, the
    strategy that the corpus was built with decides. ``chapters`` and ``graph_first`` search a part that the question
    chooses; ``aliases`` reads other names with it.

    Of each artifact there is one hit, its best surface; ``per_artifact=3`` allows three that are apart, ``False`` any.

    After the fusion ``graph_boost`` (``hit -> number``) and ``boosts`` (``pool -> numbers``, or several such functions)
    are added before the reranker reads, and ``dep_boost`` (``hit -> number``) to the final scores. ``exit_when``
    (``pool -> true, or a reason``) skips the reranker; ``expansion`` (``pool -> hits``) adds hits after the best ``k``.
    The pool is a :class:`ir.retrieve.Pool`. ``rerank_max_chars`` limits what ``rerank_text="artifact"`` reads of each.
    """
    return search_with(corpus, query, _options(dict(keywords)))


def _options(keywords: dict[str, Any]) -> SearchOptions:
    """The options of a search; those that most searches have are checked once."""
    if keywords.get("filter") is not None:
        keywords["filter"] = parse_filter(keywords["filter"])
    # Whatever it holds, a function should not be kept for being asked.
    if "boosts" not in keywords and not any(map(callable, keywords.values())):
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
        if options.space is not None:
            choice("space", options.space, sorted(snapshot.spaces()))
        meta = _meta(snapshot, options)
        if not len(snapshot):
            meta["notes"].append(_why_empty(corpus))
            return Hits((), meta)
        _check_surfaces(snapshot, options)
        hits = _Session(corpus, snapshot, options, meta).hits(query)
    meta["timings"]["total_ms"] = (perf_counter() - started) * 1e3
    if is_heard():
        _tell(meta)
    return Hits(hits, meta)


#: Where a search goes without something, by the name that a composed query has for it.
_SINKS = {"dense": "dense", "lexical": "keyword", "reranker": "reranker"}


def _tell(meta: Meta) -> None:
    """The events of one search."""
    emit("ir.search.duration_ms", meta["timings"]["total_ms"], mode=meta["mode"], reranked=meta["reranked"])
    for stage in meta["stages"]:
        if not (stage["ms"] and (stage["ran"] or stage["degraded"])):
            continue
        emit("ir.search.stage.duration_ms", stage["ms"], stage=stage["name"])
        if stage["name"] == "rerank":
            emit("retrieval.rerank.duration_ms", stage["ms"])
    cost = meta.get("rerank", {}).get("cost_usd")
    if cost is not None:
        emit("retrieval.rerank.cost_usd", cost, workspace=current_workspace())
    for part in meta["degraded"]:
        if part in _SINKS:
            emit("retrieval.degraded", sink=_SINKS[part])


def _named(given: Any) -> Any:
    corpus = opened(given)
    if not hasattr(corpus, "store"):
        raise InvalidInput(
            f"{corpus!r} is not a corpus.", remedy="Give one that ir.build or ir.open_corpus returned, or its name."
        )
    return corpus


class _Session:
    """One search against one snapshot."""

    def __init__(self, corpus: Any, snapshot: Snapshot, options: SearchOptions, meta: Meta) -> None:
        self.corpus = corpus
        self.snapshot = snapshot
        self.meta = meta
        config = snapshot.config()
        language = config.get("language") or "english"
        self.space = space_of(corpus, snapshot, options)
        if options.whole and type(options.alpha) is CorpusDefault:
            options = options.with_alpha(WHOLE_ALPHA)
        if options.mode == "hybrid" and type(options.alpha) is CorpusDefault:
            own_alpha = self.space.settings.get("alpha")
            alpha = options.alpha if own_alpha is None else own_alpha
            alpha *= share_read(snapshot, self.space.embedder, language)
            if alpha != options.alpha:
                options = options.with_alpha(alpha)
        # What scales over the whole corpus is a formula, to which nothing is added that nobody asked for.
        if options.ranking is None and config.get("ranking") is not None and not options.whole:
            options = options.with_ranking(config["ranking"])
        if options.graph is None and config.get("graph") is not None and not options.whole:
            options = options.with_graph(config["graph"])
        self.options = options
        self.analyzer: Analyzer = analyzer_for(language)
        self.aliases = self._aliases(config)
        self.saturation = float(options.bm25_sat_k or config.get("bm25_sat_k") or DFLT_SATURATION)
        #: Whether there is any vector to compare a query with.
        self.dense = options.mode != "lexical" and self._check_vectors()
        if options.mode != "dense":
            self._check_words()

    def _aliases(self, config: Mapping[str, Any]) -> Aliases | None:
        """The other names that are read with a question: those that were given, or those that the corpus knows."""
        told = self.options.aliases
        known = config.get("aliases") if told is True else told
        return Aliases(known, self.analyzer) if isinstance(known, Mapping) and known else None

    def hits(self, query: str) -> list[SearchHit]:
        queries = [query]
        if self.options.formulate is not None:
            queries = as_queries(self.options.formulate(query), query)
            self.meta["queries"] = queries
        began = perf_counter()
        questions = [self._question(text) for text in queries]
        if self.options.feedback:
            questions = [fed_back(self.snapshot, one, self.options, self.saturation, self.corpus) for one in questions]
        ready = perf_counter()
        runs = [self._rank(question) for question in questions]
        self._report(runs)
        hits = self._merge(runs) if len(runs) > 1 else self._hits_of(runs[0])
        if self.options.expansion is not None:
            hits = self._expanded(hits, runs)
        self.meta["timings"]["query_ms"] = (ready - began) * 1e3
        self.meta["timings"]["rank_ms"] = (perf_counter() - ready) * 1e3
        return hits

    def _question(self, text: str) -> Question:
        meant, words = self.options.meaning or text, self.options.words or text
        if self.aliases is not None:
            meant, added = self.aliases.read(meant)
            words, others = self.aliases.read(words)
            self.meta["aliases"] = list(dict.fromkeys([*self.meta.get("aliases", ()), *added, *others]))
        vector = embed_query(self.space.embedder, meant, self.space.dim) if self.dense else None
        return Question.of(text, vector, self.analyzer, self.options, self.space.name, words)

    def _rank(self, question: Question) -> Ranked:
        """The search itself, within a part of the corpus if the options say so."""
        if not self.options.narrows:
            return rank(self.snapshot, question, self.options, self.saturation, self.corpus)
        from ir.retrieve.narrowing import rank_narrowed

        ranked, told = rank_narrowed(self.corpus, self.snapshot, question, self.options, self.saturation)
        self.meta["routing"] = told
        return ranked

    def _check_vectors(self) -> bool:
        """Say so where records have no vector in the space; whether any has one."""
        none, told = missing_vectors(self.snapshot, self.space, self.options.mode)
        if told is not None:
            self.meta["notes"].append(told)
        if none:
            self.meta["degraded"].append("dense")
        return not none

    def _check_words(self) -> None:
        """Say so where the words are indexed in another way than ours, which only a user who may write can change."""
        indexed = getattr(self.snapshot, "analyzer_id", None)
        if indexed is not None and indexed != self.analyzer.id:
            self.meta["degraded"].append("lexical")
            self.meta["notes"].append(
                f"The words of the corpus {self.corpus.name!r} are indexed as {indexed!r} and looked up as "
                f"{self.analyzer.id!r}, so some are not found; a search by a user who may write to it mends that."
            )

    def _hits_of(self, ranked: Ranked) -> list[SearchHit]:
        if ranked.question.asked is not None:
            undo_feedback(self.snapshot, ranked)
        rows = self.snapshot.rows(ranked.refs)
        name, explain = self.corpus.name, self.options.explain
        ordinal = self.meta["fusion"] in ORDINAL_FUSIONS and not self.meta["reranked"]
        return [
            SearchHit.of_row(
                row._replace(metadata={**row.metadata, LINKED: True}) if came_by_link(pick) else row,
                pick.score,
                name,
                pick.channels,
                explanation(ranked.question, pick, row, self.analyzer, self.options) if explain else None,
                ordinal=ordinal,
            )
            for pick, row in zip(ranked.picks, rows, strict=True)
        ]

    def _merge(self, runs: list[Ranked]) -> list[SearchHit]:
        """Several queries' hits: the best surface of each artifact over all of them."""
        best: dict[tuple[str, int | None], SearchHit] = {}
        for ranked in runs:
            for hit in self._hits_of(ranked):
                alone = self.options.per_artifact and self.options.each == 1
                key = (hit.artifact_id, None if alone else hit.surface_index)
                held = best.get(key)
                if held is None or hit.score > held.score:
                    best[key] = hit
        ordered = sorted(best.values(), key=lambda hit: -hit.score)
        if self.options.each == 1:
            return ordered[: self.options.k]

        def place(number: int) -> Place:
            return Place(ordered[number].surface_kind, ordered[number].surface_index or 0)

        return spread(ordered, self.options.k, self.options.each, group=lambda hit: hit.artifact_id, place=place)

    def _expanded(self, hits: list[SearchHit], runs: Sequence[Ranked]) -> list[SearchHit]:
        """The hits, then those that the expansion added and that are not among them."""
        kept = {(hit.artifact_id, hit.surface_index): hit for hit in hits}
        for hit in (hit for ranked in runs for hit in ranked.expanded):
            kept.setdefault((hit.artifact_id, hit.surface_index), hit)
        return [hit if hit.source is not None else replace(hit, source=self.corpus.name) for hit in kept.values()]

    def _report(self, runs: list[Ranked]) -> None:
        self.meta["channels"] = list(runs[0].channels)
        self.meta["stages"] = merged_reports([ranked.stages for ranked in runs])
        if self.options.mode != "dense":
            self.meta["words_found"] = any(ranked.words_found for ranked in runs)
        for ranked in runs:
            if ranked.rerank_report is not None:
                self.meta["rerank"] = ranked.rerank_report
            for held, told in ((self.meta["degraded"], ranked.degraded), (self.meta["notes"], ranked.notes)):
                held += [part for part in told if part not in held]
        self.meta["reranked"] = self.options.rerank is not None and any(
            stage["name"] == "rerank" and stage["ran"] for stage in self.meta["stages"]
        )
        if not self.dense and self.options.mode != "lexical":
            self.meta["stages"][0]["degraded"] = True
        if self.options.mode != "dense" and not any(ranked.question.terms for ranked in runs):
            self.meta["notes"].append("The query has no words that the lexical index keeps.")
        if (
            self.dense
            and self.options.mode == "dense"
            and not any(ranked.picks or np.any(ranked.question.vector) for ranked in runs)
        ):
            self.meta["notes"].append("The embedder finds nothing in the query to compare.")


def _meta(snapshot: Snapshot, options: SearchOptions) -> Meta:
    return {
        "version": snapshot.version,
        "content_version": snapshot.content_version,
        "mode": options.mode,
        "fusion": options.fusion if options.mode == "hybrid" else None,
        "space": None if options.mode == "lexical" else options.space or snapshot.default_space,
        "answered_by": answered_by(snapshot, options),
        "channels": [],
        "degraded": [],
        "notes": [],
        "stages": [],
        "timings": {},
    }


def _why_empty(corpus: Any) -> str:
    """What to know of a corpus without records; what was wrong is known in the process that built it."""
    report = getattr(corpus, "report", None)
    if report is not None and report.notes:
        return str(report.notes[0])
    return f"The corpus {corpus.name!r} is empty; look at what its source holds, and build again."


def _check_surfaces(snapshot: Snapshot, options: SearchOptions) -> None:
    for asked in (options.surfaces, options.surface_weights):
        for kind in asked or ():
            choice("surface", kind, sorted(snapshot.kinds()))
