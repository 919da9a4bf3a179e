"""The one call for an agent: retrieve, commit to a few or to none, and reveal them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ir.base import Hits, Record, SearchHit, json_clean
from ir.errors import InvalidInput
from ir.options import DFLT_FUSION
from ir.select.checks import number
from ir.select.disclosure import Disclosure, DisclosureRule, disclose_hits
from ir.select.gate import Gate, find_gate, rerank_name
from ir.select.magnitude import measure
from ir.select.selection import Selection, SelectionRule, apply_rule
from ir.select.selectors import DFLT_GAP_RATIO, DFLT_MAX_K, DFLT_REL_THRESHOLD

__all__ = ["AUTO", "DFLT_FETCH_K", "DiscoveryResult", "Gated", "discover", "gate_source"]

#: ``min_score`` that means: the floor calibrated for this corpus.
AUTO = "auto"
DFLT_FETCH_K = 10

Floor = float | str | None


@dataclass(frozen=True)
class DiscoveryResult:
    """The outcome of :func:`discover`.

    ``answerable`` is ``None`` without a calibration. Otherwise it says whether the corpus is about the query at all
    (``kind`` is ``"off_topic"``): after a labelled ``calibration`` by a ``probability``; after one from probes by
    ``above_probes``, the share of unrelated queries that score no higher, and no probability. With it come the
    ``meaning`` of that number in words, the ``error_rate`` that was calibrated to, the ``floor``, and the ``score``.
    It does not say whether an answer is missing from a corpus that is about the topic.
    """

    query: str
    mode: str
    strategy: str
    disclose_level: str
    results: list[Disclosure]
    abstained: bool
    reason: str
    n_retrieved: int
    signals: Mapping[str, Any] = field(default_factory=dict)
    answerable: Mapping[str, Any] | None = None

    @property
    def ids(self) -> list[str]:
        """The committed artifact ids, best first."""
        return [result.artifact_id for result in self.results]

    def to_dict(self) -> dict[str, Any]:
        """The result in JSON's types only."""
        return {
            "query": self.query,
            "mode": self.mode,
            "strategy": self.strategy,
            "disclose_level": self.disclose_level,
            "results": [result.to_dict() for result in self.results],
            "abstained": self.abstained,
            "reason": self.reason,
            "n_retrieved": self.n_retrieved,
            "n_selected": len(self.results),
            "signals": json_clean(self.signals),
            "answerable": json_clean(self.answerable),
        }


@dataclass(frozen=True)
class Request:
    """What to discover and how, checked before anything is searched."""

    query: str
    search_kw: Mapping[str, Any]
    rule: SelectionRule
    disclosure: DisclosureRule

    @property
    def mode(self) -> str:
        return str(self.search_kw["mode"])

    def search(self, corpus: Any, **overrides: Any) -> Hits:
        from ir.retrieve import search

        return search(corpus, self.query, **{**self.search_kw, **overrides})

    def gate(self, corpus: Any) -> Gate:
        fusion = self.search_kw.get("fusion", DFLT_FUSION)
        return find_gate(corpus, self.mode, fusion=fusion, rerank=rerank_name(self.search_kw.get("rerank")))

    def result(
        self,
        selection: Selection,
        n_retrieved: int,
        *,
        corpus: Any,
        signals: Mapping[str, Any],
        answerable: Mapping[str, Any] | None,
    ) -> DiscoveryResult:
        return DiscoveryResult(
            query=self.query,
            mode=self.mode,
            strategy=self.rule.name,
            disclose_level=self.disclosure.level,
            results=disclose_hits(selection.selected, self.disclosure, corpus),
            abstained=selection.abstained,
            reason=selection.reason,
            n_retrieved=n_retrieved,
            signals={**selection.signals, **signals},
            answerable=answerable,
        )


@dataclass(frozen=True)
class Gated:
    """One source's hits and what its floor said about them."""

    hits: Hits
    abstained: bool
    floor: float | None
    score: float | None
    scale: str | None
    answerable: Mapping[str, Any] | None
    notes: tuple[str, ...] = ()

    def signals(self) -> dict[str, Any]:
        return {
            "n_retrieved": len(self.hits),
            "top_score": self.hits[0].score if self.hits else None,
            "floor": self.floor,
            "abstained": self.abstained,
            "gate_score": self.score,
            "gate_scale": self.scale,
            "answerable": self.answerable,
            "notes": list(self.notes),
        }


def discover(
    corpus: Any,
    query: str,
    *,
    k: int = DFLT_FETCH_K,
    mode: str = "hybrid",
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
    **search_kw: Any,
) -> DiscoveryResult:
    """Find what answers ``query`` in a corpus, or in several, and commit to a few or to none.

    ``corpus`` is a corpus, its name, or a list of either; from each of a list, ``k`` candidates are retrieved, gated
    by that source's own floor, and merged: by rank (``"rrf"``), by raw score (``"score"``, only where all share an
    embedder) or by a callable ``{name: hits} -> hits``.

    ``min_score`` is a floor on the strength of the best hit, or ``"auto"`` for the floor that was calibrated for this
    way to search; that one is read on the raw channel score, whatever the ranking was fused from, and means *off
    topic*. Without a usable calibration ``"auto"`` warns and sets no floor. For several corpora it is ``"auto"``, or
    a mapping from names to floors; one number cannot fit them all and is an error.
    """
    from ir.select.federation import Merge, discover_federated

    number_floor = min_score if isinstance(min_score, (int, float)) else None
    request = Request(
        query,
        {"k": k, "mode": mode, "filter": filter, "surfaces": surfaces, **search_kw},
        SelectionRule(strategy, max_k, rel, gap_ratio, number_floor),
        DisclosureRule(disclose_level, loader, store, expand),
    )
    if strategy == "abs_threshold" and (number_floor is None or isinstance(corpus, (list, tuple))):
        raise InvalidInput("The strategy 'abs_threshold' needs one corpus and a number as min_score.")
    if isinstance(corpus, (list, tuple)):
        return discover_federated(corpus, request, min_score, Merge(merge, merge_weights, merge_rrf_k))
    if merge_weights is not None or merge_rrf_k is not None:
        raise InvalidInput("merge_weights and merge_rrf_k are for several corpora; give a list of them.")
    return _discover_one(corpus, request, min_score)


def _discover_one(corpus: Any, request: Request, min_score: Any) -> DiscoveryResult:
    corpus = opened(corpus)
    floor = floors_by_name(min_score, [corpus.name])[corpus.name] if isinstance(min_score, Mapping) else min_score
    gated = gate_source(corpus, request, check_floor(floor, f"the corpus {corpus.name!r}"))
    rule = _without_floor(request.rule)
    selection = apply_rule(Hits((), gated.hits.meta) if gated.abstained else gated.hits, rule)
    if gated.abstained:
        signals = {**selection.signals, "n_candidates": len(gated.hits), "top_score": measure(gated.hits).top}
        selection = Selection([], list(gated.hits), True, "abstain:below_floor", signals)
    signals = {
        "floor": gated.floor,
        "min_score": gated.floor,
        "gate_score": gated.score,
        "gate_scale": gated.scale,
        "notes": [*gated.hits.meta.get("notes", ()), *gated.notes],
        "degraded": list(gated.hits.meta.get("degraded", ())),
    }
    return request.result(selection, len(gated.hits), corpus=corpus, signals=signals, answerable=gated.answerable)


def gate_source(corpus: Any, request: Request, floor: Floor, **overrides: Any) -> Gated:
    """Search one source and compare its best score with its floor, before anything is merged or selected."""
    hits = request.search(corpus, **overrides)
    gate = request.gate(corpus)
    answerable = gate.answerable(hits)
    if floor != AUTO:
        least = None if floor is None else float(floor)
        top = measure(hits).top
        below = least is not None and top is not None and top < least
        return Gated(hits, below, least, top, "score" if least is not None else None, answerable)
    if gate.floor is None:
        note = f"min_score='auto' set no floor. {gate.note}"
        warnings.warn(note, stacklevel=4)
        return Gated(hits, False, None, None, None, None, (note,))
    score = gate.score(hits)
    if score is None and hits:
        note = f"The floor was not applied: no {gate.signal} score is known for these hits."
        return Gated(hits, False, gate.floor, None, gate.signal, None, (note,))
    below = score is not None and score < gate.floor
    notes = (_off_topic(corpus.name, gate, score),) if below and score is not None else ()
    return Gated(hits, below, gate.floor, score, gate.signal, answerable, notes)


def _off_topic(name: str, gate: Gate, score: float) -> str:
    return (
        f"Off topic: the best {gate.signal} score in {name!r} is {score:.3f}, below the calibrated floor of "
        f"{gate.floor:.3f}. (A query on topic whose answer is missing cannot be told by scores.)"
    )


def opened(corpus: Any) -> Any:
    """The corpus, or the one of that name."""
    if isinstance(corpus, str):
        from ir.index import open_corpus

        return open_corpus(corpus)
    if not hasattr(corpus, "store"):
        raise InvalidInput(f"Expected a corpus, the name of one, or a list of either, not {corpus!r}.")
    return corpus


def check_floor(floor: Any, what: str) -> Floor:
    """A floor as it may be given for one source."""
    if floor is None or (isinstance(floor, str) and floor == AUTO):
        return floor
    if isinstance(floor, str):
        raise InvalidInput(f"min_score of {what} must be a number, 'auto' or None, not {floor!r}.")
    return number(f"min_score of {what}", floor)


def floors_by_name(floors: Mapping[str, Any], names: Sequence[str]) -> dict[str, Floor]:
    """The floor of each source; a name that is none of them is an error."""
    unknown = [name for name in floors if name not in names]
    if unknown:
        raise InvalidInput(
            f"min_score names {', '.join(map(repr, unknown))}, but the sources are {', '.join(map(repr, names))}."
        )
    return {name: check_floor(floors.get(name), f"the source {name!r}") for name in names}


def _without_floor(rule: SelectionRule) -> SelectionRule:
    """The rule for hits whose floor was applied already; ``abs_threshold`` still needs it for each hit."""
    if rule.strategy == "abs_threshold":
        return rule
    return SelectionRule(rule.strategy, rule.max_k, rule.rel, rule.gap_ratio)
