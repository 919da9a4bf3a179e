"""One source asked and gated by its own floor: what discovery in one corpus and in several share."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ir.base import Hits
from ir.errors import InvalidInput
from ir.options import DFLT_FUSION
from ir.protocols import Corpus
from ir.select.checks import number
from ir.select.disclosure import DisclosureRule, disclose_hits
from ir.select.gate import Gate, find_gate, rerank_name
from ir.select.magnitude import measure
from ir.select.repeats import check_dedup, without_repeats
from ir.select.result import DiscoveryResult
from ir.select.selection import Selection, SelectionRule
from ir.select.signals import describe

__all__ = [
    "AUTO",
    "DFLT_MODE",
    "Floor",
    "Gated",
    "Request",
    "check_floor",
    "floors_by_name",
    "gate_source",
]

#: ``min_score`` that means: the floor calibrated for this corpus.
AUTO = "auto"
#: Where a floor is from that the caller gave as a number.
GIVEN = "given"

Floor = float | str | None


class UnsaidMode(str):
    """A mode that nobody chose: the same word, and yet a corpus that was tuned may bring another."""


DFLT_MODE = UnsaidMode("hybrid")


@dataclass(frozen=True)
class Request:
    """What to discover and how, checked before anything is searched. A mode that nobody chose is to be ``settled``."""

    query: str
    search_kw: Mapping[str, Any]
    rule: SelectionRule
    disclosure: DisclosureRule
    dedup_by: str | None = None

    def __post_init__(self) -> None:
        check_dedup(self.dedup_by)

    @property
    def mode(self) -> str:
        return str(self.search_kw["mode"])

    def settled(self, corpus: Corpus | None = None) -> Request:
        """With a mode: the one given, else the one that ``corpus`` was tuned to, else hybrid.

        Several corpora are merged, so that none of them has a mode of its own.
        """
        if not isinstance(self.search_kw["mode"], UnsaidMode | None):
            return self
        tuned = {} if corpus is None else self._tuned(corpus)
        return replace(self, search_kw={**self.search_kw, "mode": tuned.get("mode", str(DFLT_MODE))})

    def search(self, corpus: Corpus, **overrides: Any) -> Hits:
        from ir.retrieve import search

        hits = search(corpus, self.query, **{**self.keywords(corpus), **overrides})
        return without_repeats(hits, self.dedup_by, corpus.name)

    def keywords(self, corpus: Corpus) -> Mapping[str, Any]:
        """How to search one corpus: as it was tuned, if it was to this mode and the caller says no more than that."""
        tuned = self._tuned(corpus)
        return {**self.search_kw, **tuned} if tuned.get("mode") == self.mode else self.search_kw

    def _tuned(self, corpus: Corpus) -> Mapping[str, Any]:
        from ir.retrieve import TUNABLE, tuned_options

        # What was tuned holds for the default space.
        said = any(name in self.search_kw for name in (*TUNABLE, "space") if name != "mode")
        return {} if said else tuned_options(corpus)

    def gate(self, corpus: Corpus) -> Gate:
        fusion = self.keywords(corpus).get("fusion", DFLT_FUSION)
        rerank, space = rerank_name(self.search_kw.get("rerank")), self.search_kw.get("space")
        return find_gate(corpus, self.mode, fusion=fusion, rerank=rerank, space=space)

    def result(
        self,
        selection: Selection,
        n_retrieved: int,
        *,
        corpus: Corpus | Mapping[str, Corpus],
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
    #: Where the floor is from: ``"given"``, ``"cases"`` or ``"probes"``.
    origin: str | None = None

    def floor_signals(self, mode: str) -> dict[str, Any]:
        """Which floor was applied, and to what; all but the mode is ``None`` where there was none."""
        return {
            "floor": self.floor,
            "floor_from": self.origin,
            "floor_mode": mode,
            "gate_score": self.score,
            "gate_scale": self.scale,
            "words_found": self.hits.meta.get("words_found"),
        }

    def signals(self, mode: str) -> dict[str, Any]:
        return {
            "n_retrieved": len(self.hits),
            "top_score": self.hits[0].score if self.hits else None,
            **self.floor_signals(mode),
            "abstained": self.abstained or not self.hits,
            "answerable": self.answerable,
            "notes": list(self.notes),
        }


def gate_source(corpus: Corpus, request: Request, floor: Floor, **overrides: Any) -> Gated:
    """Search one source and compare its best score with its floor, before anything is merged or selected."""
    hits = request.search(corpus, **overrides)
    gate = request.gate(corpus)
    answerable = gate.answerable(hits)
    if floor != AUTO:
        least = None if floor is None else float(floor)
        top = measure(hits).top
        below = least is not None and top is not None and top < least
        scale, origin = (None, None) if least is None else ("score", GIVEN)
        return Gated(hits, below, least, top, scale, answerable, origin=origin)
    if gate.floor is None:
        note = f"No floor was applied. {gate.note}"
        warnings.warn(note, stacklevel=4)
        return Gated(hits, False, None, None, None, None, (note,))
    notes: tuple[str, ...] = () if gate.note is None else (gate.note,)
    if gate.note is not None:
        warnings.warn(gate.note, stacklevel=4)
    least, score = gate.floor_for(hits), gate.score(hits)
    if score is None and hits:
        note = f"The floor was not applied: the {describe(gate.signal)} of these hits is not known."
        return Gated(hits, False, least, None, gate.signal, None, (*notes, note), gate.origin)
    below = gate.refuses(hits)
    notes += (_off_topic(corpus.name, gate, hits),) if below else ()
    return Gated(hits, below, least, score, gate.signal, answerable, notes, gate.origin)


def _off_topic(name: str, gate: Gate, hits: Hits) -> str:
    return (
        f"Off topic. {gate.why(hits, name)}. (Scores cannot tell when a query is on topic and its answer is missing.)"
    )


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
