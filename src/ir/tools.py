"""Search as a tool: plain arguments in, JSON out, ready to be offered to an agent."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ir.base import Hits, json_clean

__all__ = ["make_search", "search"]

DFLT_TOOL_K = 8


def search(
    query: str,
    *,
    corpus: Any,
    k: int = DFLT_TOOL_K,
    mode: str = "hybrid",
    filter: Mapping[str, Any] | None = None,
    rerank: Any = None,
    rerank_text: str = "surface",
    **search_kw: Any,
) -> dict[str, Any]:
    """The best matches of ``query`` in a corpus (or the one of that name), in JSON's types only.

    Results hold ``artifact_id``, ``score``, ``text``, ``metadata``, ``source`` and ``pointer``; ``notes`` and
    ``degraded`` say what a reader should know about them. Bad input raises, as in :func:`ir.search`.
    """
    from ir.retrieve import search as retrieve

    more = {**search_kw, "rerank": rerank, "rerank_text": rerank_text}
    hits = retrieve(corpus, query, k=k, mode=mode, filter=filter, **more)
    return _answer(query, corpus, mode, hits)


def make_search(
    corpus: Any,
    *,
    name: str | None = None,
    description: str | None = None,
    k: int = DFLT_TOOL_K,
    mode: str = "hybrid",
    rerank: Any = None,
    rerank_text: str = "surface",
    **search_kw: Any,
) -> Callable[..., dict[str, Any]]:
    """A tool ``(query, k) -> dict`` for one corpus, with a name and a docstring for the host to show."""
    label = _name_of(corpus)
    bound: dict[str, Any] = {"mode": mode, "rerank": rerank, "rerank_text": rerank_text, **search_kw}

    def tool(query: str, k: int = k) -> dict[str, Any]:
        return search(query, corpus=corpus, k=k, **bound)

    tool.__name__ = tool.__qualname__ = name or "search_" + re.sub(r"\W+", "_", label).strip("_")
    tool.__doc__ = description or (
        f"Search {label!r}. Give a question or a few words; returns the k best matches, best first, with their text."
    )
    return tool


def _answer(query: str, corpus: Any, mode: str, hits: Hits) -> dict[str, Any]:
    return {
        "query": query,
        "corpus": _name_of(corpus),
        "mode": mode,
        "n_results": len(hits),
        "results": [hit.to_dict() for hit in hits],
        "notes": json_clean(hits.meta.get("notes", [])),
        "degraded": json_clean(hits.meta.get("degraded", [])),
    }


def _name_of(corpus: Any) -> str:
    return corpus if isinstance(corpus, str) else str(getattr(corpus, "name", None) or "corpus")
