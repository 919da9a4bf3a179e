"""Measuring, on judged queries, from which keyword score on the reranker is not needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ir.keyword.embedded import EMBEDDED, EmbeddedKeywords
from ir.keywords import KeywordProvider, KeywordRequest
from ir.query.hybrid import HybridQueryOptions
from ir.query.parameters import OntologyQuery
from ir.query.pipeline import Parts, ontology_query
from ir.query.saturation import DFLT_PRECISION, Saturation, Tried, calibrate, token_count

__all__ = ["calibrated", "engine_of"]


def engine_of(provider: KeywordProvider | None) -> str:
    """The name that a threshold is kept under: scores of two engines are not on one scale."""
    return EMBEDDED if provider is None else provider.name


def calibrated(
    corpus: Any,
    cases: Sequence[tuple[str, Iterable[str]]],
    *,
    provider: KeywordProvider | None = None,
    precision: float = DFLT_PRECISION,
    check: Callable[[], None] = lambda: None,
) -> Saturation:
    """The threshold from ``cases``, each a query with the ids of the artifacts that answer it.

    What counts is whether the first result is right before any reranking: that is the answer which an exit leaves.
    """
    tried = []
    for query, right in cases:
        check()
        asked = OntologyQuery(query, precision=False, top_k=1)
        answer = ontology_query(corpus, asked, HybridQueryOptions(), Parts(provider=provider))
        first = answer.results[0].artifact_id if answer.results else None
        tried.append(Tried(_top_score(corpus, query, provider), token_count(query), first in set(right)))
    return calibrate(tried, engine_of(provider), precision=precision)


def _top_score(corpus: Any, query: str, provider: KeywordProvider | None) -> float | None:
    request = KeywordRequest(query, corpus.name, 1)
    with corpus.store.snapshot() as snapshot:
        found = (provider or EmbeddedKeywords({corpus.name: snapshot})).search(request)
    return found[0].score if found else None
