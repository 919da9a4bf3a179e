"""BM25 by the store that keeps the corpus, whichever that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext

from ir.analysis import analyzer_for, query_terms
from ir.filters import And, Filter, Leaf
from ir.keyword.faults import told_as_fault, unknown_collection
from ir.keywords import KeywordRequest, KeywordResult, ranked
from ir.protocols import Snapshot, Where
from ir.surrogates import storable

__all__ = ["EMBEDDED", "EmbeddedKeywords", "exact_filter"]

#: The name of the engine that is the corpus itself.
EMBEDDED = "embedded"
Opening = Callable[[str], "AbstractContextManager[Snapshot] | None"]


class EmbeddedKeywords:
    """Asks a snapshot of each collection for its words. Documents are records; scores are BM25 as in every search.

    ``collections`` holds a snapshot by name, for who has one open already; or it is a function from a name to what
    opens one, or to ``None`` for a name that it does not know. Nothing is waited for, so a timeout means nothing here.
    ``within`` is what must hold of every document beside the filters of a request.
    """

    def __init__(
        self, collections: Mapping[str, Snapshot] | Opening, *, name: str = EMBEDDED, within: Filter | None = None
    ) -> None:
        self.name = name
        self._within = within
        self._open: Opening = collections if callable(collections) else _held(collections)

    def search(self, request: KeywordRequest, *, timeout_s: float | None = None) -> list[KeywordResult]:
        if not request.top_k:
            return []
        with told_as_fault(self.name):
            opening = self._open(request.collection)
            if opening is None:
                raise unknown_collection(self.name, request.collection)
            with opening as snapshot:
                return _ranked(snapshot, request, self._within)


def exact_filter(filters: Mapping[str, str]) -> Filter | None:
    """Every field has that value, or a list with it as a member."""
    leaves = tuple(Leaf(storable(path), "$eq", storable(value)) for path, value in filters.items())
    return And(leaves) if leaves else None


def _held(snapshots: Mapping[str, Snapshot]) -> Opening:
    def opening(collection: str) -> AbstractContextManager[Snapshot] | None:
        found = snapshots.get(collection)
        return None if found is None else nullcontext(found)

    return opening


def _ranked(snapshot: Snapshot, request: KeywordRequest, within: Filter | None) -> list[KeywordResult]:
    if not len(snapshot):
        return []
    terms = query_terms(analyzer_for(snapshot.config().get("language") or "english"), request.query)
    if not terms:
        return []
    exact = exact_filter(request.filters)
    where = Where(And((within, exact)) if within is not None and exact is not None else within or exact)
    limit = request.top_k + 1
    while True:
        refs, scores = snapshot.lexical(terms, limit, where)
        # Of those that are as good as the last one wanted, the ids decide: all of them have to be seen.
        if len(refs) < limit or scores[-1] < scores[request.top_k - 1]:
            break
        limit *= 2
    rows = snapshot.rows(refs)
    return ranked(((row.id, float(score)) for row, score in zip(rows, scores, strict=True)), request.top_k)
