"""Discovery: search, select, disclose, in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ir.base import Hits, Record, SearchHit
from ir.errors import InvalidInput
from ir.index.opening import as_corpus
from ir.protocols import Corpora, CorpusOrName
from ir.select.disclosure import DisclosureRule
from ir.select.federation import Merge, discover_federated
from ir.select.gated_source import DFLT_MODE, Request, check_floor, floors_by_name, gate_source
from ir.select.magnitude import measure
from ir.select.repeats import AUTO_REPEATS
from ir.select.result import DiscoveryResult
from ir.select.selection import Selection, SelectionRule, apply_rule
from ir.select.selectors import DFLT_GAP_RATIO, DFLT_MAX_K, DFLT_REL_THRESHOLD

__all__ = ["DFLT_FETCH_K", "DiscoveryResult", "discover"]

DFLT_FETCH_K = 10


def discover(
    corpus: CorpusOrName | Corpora,
    query: str,
    *,
    k: int = DFLT_FETCH_K,
    mode: str | None = DFLT_MODE,
    strategy: str | Callable[[Sequence[SearchHit]], list[SearchHit]] = "conservative",
    disclose_level: str = "metadata",
    filter: Mapping[str, Any] | None = None,
    surfaces: Iterable[str] | None = None,
    max_k: int = DFLT_MAX_K,
    rel: float = DFLT_REL_THRESHOLD,
    gap_ratio: float = DFLT_GAP_RATIO,
    min_score: float | str | Mapping[str, float | str | None] | None = None,
    merge: str | Callable[..., Any] = "rrf",
    merge_weights: Mapping[str, float] | None = None,
    merge_rrf_k: int | None = None,
    loader: Callable[[Mapping[str, Any]], str | None] | None = None,
    store: Mapping[str, Any] | None = None,
    expand: Callable[[SearchHit, Sequence[Record]], Sequence[Record]] | None = None,
    dedup_by: str | None = AUTO_REPEATS,
    **search_kw: Any,
) -> DiscoveryResult:
    """Find what answers ``query`` in a corpus, or in several, and commit to a few or to none.

    ``corpus`` is a corpus, its name, or a list of either; from each of a list, ``k`` candidates are retrieved, gated
    by that source's own floor, and merged: by rank (``"rrf"``), by raw score (``"score"``, only where all share an
    embedder) or by a callable ``{name: hits} -> hits``.

    A ``mode`` that is not given is ``"hybrid"``, but one corpus that was tuned is searched as it was tuned.

    ``min_score`` is a floor on the strength of the best hit, or ``"auto"`` for the floor that was calibrated for this
    way to search, else the one that the build made; that one is read on the raw channel score, whatever the ranking
    was fused from, and means *off topic*. Without either ``"auto"`` warns and sets no floor. For several corpora it
    is ``"auto"``, or a mapping from names to floors; one number cannot fit them all and is an error. ``signals`` says
    which ``floor`` was applied and where it is from (``floor_from``: ``"given"``, ``"cases"``, ``"probes"``, or
    ``None`` for no floor).

    ``dedup_by`` is a metadata key: of the hits of one source that have the same value there, only the best is a
    candidate. ``"auto"`` does that by ``name`` in a corpus called ``skills``, which are often copied, and nowhere else.
    """
    number_floor = min_score if isinstance(min_score, (int, float)) else None
    request = Request(
        query,
        {"k": k, "mode": mode, "filter": filter, "surfaces": surfaces, **search_kw},
        SelectionRule(strategy, max_k, rel, gap_ratio, number_floor),
        DisclosureRule(disclose_level, loader, store, expand),
        dedup_by,
    )
    if strategy == "abs_threshold" and (number_floor is None or isinstance(corpus, (list, tuple))):
        raise InvalidInput("The strategy 'abs_threshold' needs one corpus and a number as min_score.")
    merging = Merge(merge, merge_weights, merge_rrf_k)
    if isinstance(corpus, (list, tuple)):
        return discover_federated(corpus, request.settled(), min_score, merging)
    if merge_weights is not None or merge_rrf_k is not None:
        raise InvalidInput("merge_weights and merge_rrf_k are for several corpora; give a list of them.")
    return _discover_one(corpus, request, min_score)


def _discover_one(given: CorpusOrName, request: Request, min_score: Any) -> DiscoveryResult:
    corpus = as_corpus(given)
    request = request.settled(corpus)
    floor = floors_by_name(min_score, [corpus.name])[corpus.name] if isinstance(min_score, Mapping) else min_score
    gated = gate_source(corpus, request, check_floor(floor, f"the corpus {corpus.name!r}"))
    rule = _without_floor(request.rule)
    selection = apply_rule(Hits((), gated.hits.meta) if gated.abstained else gated.hits, rule)
    if gated.abstained:
        signals = {**selection.signals, "n_candidates": len(gated.hits), "top_score": measure(gated.hits).top}
        selection = Selection([], list(gated.hits), True, "abstain:below_floor", signals)
    signals = {
        **gated.floor_signals(request.mode),
        "min_score": gated.floor,
        "notes": [*gated.hits.meta.get("notes", ()), *gated.notes],
        "degraded": list(gated.hits.meta.get("degraded", ())),
    }
    return request.result(selection, len(gated.hits), corpus=corpus, signals=signals, answerable=gated.answerable)


def _without_floor(rule: SelectionRule) -> SelectionRule:
    """The rule for hits whose floor was applied already; ``abs_threshold`` still needs it for each hit."""
    if rule.strategy == "abs_threshold":
        return rule
    return SelectionRule(rule.strategy, rule.max_k, rule.rel, rule.gap_ratio)
