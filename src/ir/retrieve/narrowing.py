"""Searching a part of a corpus that the question chooses, and the whole of it where that part has little to say."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ir.options import SearchOptions
from ir.protocols import Snapshot
from ir.retrieve.channels import Question
from ir.retrieve.chapters import route
from ir.retrieve.ranking import Ranked, rank

if TYPE_CHECKING:
    import numpy as np

    from ir.protocols import Refs

__all__ = ["rank_narrowed"]

#: Where the names in a question are looked up; it is imported by the first search that needs it.
_NAMES = "ir.book.naming"


def rank_narrowed(
    corpus: Any, snapshot: Snapshot, question: Question, options: SearchOptions, saturation: float
) -> tuple[Ranked, dict[str, Any]]:
    """The best of the part that the question chooses, or of everything; and what was chosen, and why not."""
    told: dict[str, Any] = {}
    among: Refs | None = None
    if options.graph_first:
        named = import_module(_NAMES).touched_by(corpus, snapshot, question.words)
        told |= {"names": list(named.names), "records": len(named.refs)}
        among = named.refs if len(named.refs) else None
        if among is None:
            told["fallback"] = "the question names nothing that is linked here"
    if options.chapters is not None:
        routed = route(corpus, snapshot, question, options.chapters)
        if routed is None:
            told["fallback"] = "there are no more chapters than that to choose from"
        else:
            told |= {"chapters": list(routed.titles), "of": routed.of}
            among = routed.refs if among is None else _common(among, routed.refs)
    if among is None:
        return rank(snapshot, question, options, saturation, corpus), told
    best = rank(snapshot, question, _one(options), saturation, corpus)
    if best.picks and best.picks[0].ref not in set(among.tolist()):
        told["fallback"] = "the best of the whole stands elsewhere"
        return rank(snapshot, question, options, saturation, corpus), told
    return rank(snapshot, question, options, saturation, corpus, among), told


def _one(options: SearchOptions) -> SearchOptions:
    """The same search for its best hit alone, without what comes after the fusion."""
    return replace(options, k=1, rerank=None, graph_boost=None, dep_boost=None, boosts=(), graph="none", expansion=None)


def _common(first: Refs, second: Refs) -> Refs:
    import numpy as np

    both: np.ndarray[Any, Any] = np.intersect1d(first, second)
    return both if len(both) else second
