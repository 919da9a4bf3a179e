"""Running queries for evaluation: the one place that calls search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ir.eval.cases import DiscoveryCase
from ir.index.opening import as_corpus
from ir.index.progress import Listener, Ticker
from ir.protocols import Corpus, CorpusOrName

if TYPE_CHECKING:
    from ir.base import Hits

__all__ = [
    "DFLT_MODE",
    "Retrieved",
    "as_doc_retriever",
    "corpus_artifact_ids",
    "retrieve_cases",
    "validate_cases",
]

DFLT_MODE = "hybrid"


@dataclass(frozen=True)
class Retrieved:
    """A case with the hits that its query found, one per artifact."""

    case: DiscoveryCase
    hits: Hits

    @property
    def ranking(self) -> list[str]:
        return [hit.artifact_id for hit in self.hits]


def as_doc_retriever(
    corpus: CorpusOrName, *, mode: str = DFLT_MODE, surfaces: Iterable[str] | None = None, **search_kw: Any
) -> Callable[..., list[str]]:
    """``retriever(query, *, limit=10)``: the ids of the best artifacts, best first, each once."""
    opened = as_corpus(corpus)
    search_once = _searcher(opened, mode=mode, surfaces=surfaces, **search_kw)

    def retriever(query: str, *, limit: int = 10) -> list[str]:
        return [hit.artifact_id for hit in search_once(query, limit)]

    return retriever


def _searcher(
    corpus: Corpus, *, mode: str, surfaces: Iterable[str] | None = None, **search_kw: Any
) -> Callable[[str, int], Hits]:
    from ir.retrieve import search

    kinds = surfaces if surfaces is None or isinstance(surfaces, str) else list(surfaces)
    keywords = {"per_artifact": True, **search_kw}

    def search_once(query: str, k: int) -> Hits:
        from ir.base import Hits

        hits = search(corpus, query, k=k, mode=mode, surfaces=kinds, **keywords)
        return hits if isinstance(hits, Hits) else Hits(hits, {"mode": mode})

    return search_once


def retrieve_cases(
    corpus: CorpusOrName,
    cases: Sequence[DiscoveryCase],
    *,
    mode: str,
    k: int,
    surfaces: Iterable[str] | None = None,
    progress: Listener | None = None,
    **search_kw: Any,
) -> list[Retrieved]:
    """Search once for each case. Everything that is computed afterwards reads these hits."""
    search_once = _searcher(as_corpus(corpus), mode=mode, surfaces=surfaces, **search_kw)
    ticker = Ticker(progress, "search", len(cases), unit="queries")
    found = []
    for case in cases:
        found.append(Retrieved(case, search_once(case.query, k)))
        ticker.tick()
    ticker.end()
    return found


def corpus_artifact_ids(corpus: CorpusOrName) -> set[str]:
    """The ids of all artifacts that are indexed."""
    store = as_corpus(corpus).store
    return {str(entry["artifact_id"]) for _, entry in store.ledger_items() if _has_records(entry)}


def _has_records(entry: Mapping[str, Any]) -> bool:
    return bool(entry.get("record_ids"))


def validate_cases(corpus: CorpusOrName, cases: Sequence[DiscoveryCase]) -> dict[int, list[str]]:
    """For each case (by position) whose gold is not all in the corpus: the ids that are missing.

    Run it before believing a report: a corpus lives on, a case file does not.
    """
    present = corpus_artifact_ids(corpus)
    drifted = {}
    for position, case in enumerate(cases):
        missing = [artifact for artifact in case.gold if artifact not in present]
        if missing:
            drifted[position] = missing
    return drifted
