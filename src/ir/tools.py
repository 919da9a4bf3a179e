"""Search as a tool: plain arguments in, JSON out, ready to be offered to an agent."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from os import PathLike, fspath
from typing import Any

from ir.base import json_clean
from ir.index.opening import as_corpus
from ir.protocols import Corpora, CorpusOrName

__all__ = ["make_search", "search"]

DFLT_TOOL_K = 8


def search(
    query: str,
    *,
    corpus: CorpusOrName | Corpora,
    k: int = DFLT_TOOL_K,
    mode: str = "hybrid",
    filter: Mapping[str, Any] | None = None,
    rerank: Any = None,
    rerank_text: str = "surface",
    min_score: float | str | Mapping[str, float | str | None] | None = None,
    **search_kw: Any,
) -> dict[str, Any]:
    """The best matches of ``query`` in a corpus (or the one of that name), in JSON's types only.

    ``corpus`` may also be a list: each is searched by itself, and the rankings are merged by rank. ``min_score`` is a
    floor as :func:`ir.discover` takes it; below it a corpus gives nothing.

    Results hold ``artifact_id``, ``score``, ``text``, ``metadata``, ``source`` and ``pointer``; ``abstained`` says
    that there are none, and ``reason`` why; ``per_source`` has each corpus's floor and its best score; ``notes`` and
    ``degraded`` say what a reader should know about them. Bad input raises, as in :func:`ir.search`.
    """
    from ir.select.disclosure import DisclosureRule
    from ir.select.federation import Merge, floors_of, gate_all, sources_by_name
    from ir.select.gated_source import Request
    from ir.select.selection import SelectionRule

    sources = sources_by_name(_listed(corpus))
    asked = {"k": k, "mode": mode, "filter": filter, "rerank": rerank, "rerank_text": rerank_text, **search_kw}
    request = Request(query, asked, SelectionRule(), DisclosureRule())
    if not isinstance(corpus, (list, tuple)) and isinstance(min_score, (int, float)):
        min_score = dict.fromkeys(sources, min_score)
    gated = gate_all(sources, request, floors_of(min_score, list(sources)))
    found = {name: one.hits for name, one in gated.items() if one.hits and not one.abstained}
    hits = next(iter(found.values()), []) if len(sources) == 1 else Merge()(found, k)
    refused = any(one.hits for one in gated.values())
    metas = [one.hits.meta for one in gated.values()]
    return {
        "query": query,
        "corpus": next(iter(sources)) if len(sources) == 1 else None,
        "corpora": list(sources),
        "mode": mode,
        "n_results": len(hits),
        "results": [hit.to_dict() for hit in hits],
        "abstained": not hits,
        "reason": None if hits else "abstain:below_floor" if refused else "abstain:no_candidates",
        "per_source": json_clean({name: one.signals(mode) for name, one in gated.items()}),
        "notes": json_clean([note for one in gated.values() for note in (*one.hits.meta.get("notes", ()), *one.notes)]),
        "degraded": json_clean(sorted({part for meta in metas for part in meta.get("degraded", ())})),
    }


def make_search(
    corpus: CorpusOrName | Corpora,
    *,
    name: str | None = None,
    description: str | None = None,
    k: int = DFLT_TOOL_K,
    mode: str = "hybrid",
    rerank: Any = None,
    rerank_text: str = "surface",
    **search_kw: Any,
) -> Callable[..., dict[str, Any]]:
    """A tool ``(query, k) -> dict`` for one corpus or a list of them, with a name and a docstring for the host."""
    labels = [_name_of(one) for one in _listed(corpus)]
    bound: dict[str, Any] = {"mode": mode, "rerank": rerank, "rerank_text": rerank_text, **search_kw}

    def tool(query: str, k: int = k) -> dict[str, Any]:
        return search(query, corpus=corpus, k=k, **bound)

    tool.__name__ = tool.__qualname__ = name or "search_" + re.sub(r"\W+", "_", "_".join(labels)).strip("_")
    tool.__doc__ = description or (
        f"Search {', '.join(map(repr, labels))}. Give a question or a few words; returns the k best matches, "
        "best first, with their text."
    )
    return tool


def _listed(corpus: CorpusOrName | Corpora) -> Corpora:
    return corpus if isinstance(corpus, (list, tuple)) else [corpus]


def _name_of(corpus: CorpusOrName) -> str:
    return fspath(corpus) if isinstance(corpus, str | PathLike) else as_corpus(corpus).name
