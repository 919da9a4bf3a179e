"""Passages of a book for a question, each with where its score comes from."""

from __future__ import annotations

from typing import Any, NamedTuple

from ir.base import SearchHit
from ir.book.boosts import VARIANTS, GraphBoost
from ir.options import DFLT_FUSION, choice
from ir.retrieve import search

__all__ = ["DFLT_K", "Retrieved", "retrieve", "score_parts"]

DFLT_K = 4
#: ``graph_boost_source`` of the reference: seeds are the passages that score best.
_SOURCES = {"top": "frontier"}


class Retrieved(NamedTuple):
    """A passage with its score: ``score`` is ``base_score`` and ``graph_boost`` together.

    ``lexical_score`` and ``semantic_score`` are what the channels gave it, before any scaling.
    """

    chunk: SearchHit
    score: float
    base_score: float
    graph_boost: float
    lexical_score: float
    semantic_score: float

    def to_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "chunk": self.chunk.to_dict()}


def retrieve(
    corpus: Any,
    query: str,
    k: int = DFLT_K,
    *,
    fusion: str = DFLT_FUSION,
    graph: Any = None,
    graph_boost_source: str | None = None,
    **options: Any,
) -> list[Retrieved]:
    """The best passages of a corpus by words, meaning and its links.

    The reference document's own way is ``fusion="minmax_corpus", graph="additive"``.
    ``graph`` is a name or a :class:`GraphBoost`; ``None`` for the one that the corpus was built with, or none.
    ``graph_boost_source="top"`` is the reference's name for ``"frontier"``. The other options are those of
    :func:`ir.search`; here every record may be a result, unless ``per_artifact`` says otherwise.
    """
    if graph_boost_source is not None:
        graph = GraphBoost(_SOURCES[choice("graph_boost_source", graph_boost_source, _SOURCES)])
    options = {"per_artifact": False, "mode": "hybrid", **options, "explain": True}
    hits = search(corpus, query, k=k, fusion=fusion, graph=graph, **options)
    return [Retrieved(hit, **score_parts(hit)) for hit in hits]


def score_parts(hit: SearchHit) -> dict[str, float]:
    """Where the score of a hit comes from that was searched with ``explain=True``."""
    explained = hit.explanation or {}
    boosts = explained.get("boosts", {})
    gained = sum(boosts.get(name, 0.0) for name in VARIANTS)
    return {
        "score": float(hit.score),
        "base_score": float(hit.score) - gained,
        "graph_boost": float(gained),
        "lexical_score": _channel(hit, "lexical"),
        "semantic_score": _channel(hit, "dense"),
    }


def _channel(hit: SearchHit, name: str) -> float:
    return float(hit.channels.get(name, {}).get("score") or 0.0)
