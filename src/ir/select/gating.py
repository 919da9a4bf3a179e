"""One source asked and gated by its own floor: what discovery in one corpus and in several share."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ir.base import Hits, json_clean
from ir.errors import InvalidInput
from ir.options import DFLT_FUSION
from ir.retrieve.names import opened as corpus_named
from ir.select.checks import number
from ir.select.disclosure import Disclosure, DisclosureRule, disclose_hits
from ir.select.gate import Gate, find_gate, rerank_name
from ir.select.magnitude import measure
from ir.select.selection import Selection, SelectionRule
from ir.select.signals import describe

__all__ = [
    "AUTO",
    "DFLT_MODE",
    "DiscoveryResult",
    "Floor",
    "Gated",
    "Request",
    "check_floor",
    "floors_by_name",
    "gate_source",
    "opened",
]

#: ``min_score`` that means: the floor calibrated for this corpus.
AUTO = "auto"

Floor = float | str | None


class UnsaidMode(str):
    """A mode that nobody chose: the same word, and yet a corpus that was tuned may bring another."""


DFLT_MODE = UnsaidMode("hybrid")


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
    """What to discover and how, checked before anything is searched. A mode that nobody chose is to be ``settled``."""

    query: str
    search_kw: Mapping[str, Any]
    rule: SelectionRule
    disclosure: DisclosureRule

    @property
    def mode(self) -> str:
        return str(self.search_kw["mode"])

    def settled(self, corpus: Any = None) -> Request:
        """With a mode: the one given, else the one that ``corpus`` was tuned to, else hybrid.

        Several corpora are merged, so that none of them has a mode of its own.
        """
        if not isinstance(self.search_kw["mode"], UnsaidMode | None):
            return self
        tuned = {} if corpus is None else self._tuned(corpus)
        return replace(self, search_kw={**self.search_kw, "mode": tuned.get("mode", str(DFLT_MODE))})

    def search(self, corpus: Any, **overrides: Any) -> Hits:
        from ir.retrieve import search

        return search(corpus, self.query, **{**self.keywords(corpus), **overrides})

    def keywords(self, corpus: Any) -> Mapping[str, Any]:
        """How to search one corpus: as it was tuned, if it was to this mode and the caller says no more than that."""
        tuned = self._tuned(corpus)
        return {**self.search_kw, **tuned} if tuned.get("mode") == self.mode else self.search_kw

    def _tuned(self, corpus: Any) -> Mapping[str, Any]:
        from ir.retrieve import TUNABLE, tuned_options

        said = any(name in self.search_kw for name in TUNABLE if name != "mode")
        return {} if said else tuned_options(corpus)

    def gate(self, corpus: Any) -> Gate:
        fusion = self.keywords(corpus).get("fusion", DFLT_FUSION)
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
        note = f"The floor was not applied: the {describe(gate.signal)} of these hits is not known."
        return Gated(hits, False, gate.floor, None, gate.signal, None, (note,))
    below = score is not None and score < gate.floor
    notes = (_off_topic(corpus.name, gate, score),) if below and score is not None else ()
    return Gated(hits, below, gate.floor, score, gate.signal, answerable, notes)


def _off_topic(name: str, gate: Gate, score: float) -> str:
    return (
        f"Off topic: the {describe(gate.signal)} in {name!r} is {score:.3f}, below the calibrated floor of "
        f"{gate.floor:.3f}. (A query on topic whose answer is missing cannot be told by scores.)"
    )


def opened(corpus: Any) -> Any:
    """The corpus, or the one of that name."""
    corpus = corpus_named(corpus)
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
